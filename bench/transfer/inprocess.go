package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/seed-301d4374/engram"
)

// cellsInProcess measures what needs no transport: the conversions, and the memory
// alone.
func cellsInProcess(e extent, round int, k *kind, into *results) error {
	w, err := newMemory()
	if err != nil {
		return err
	}
	defer w.Close()
	if err := fill(w, k); err != nil {
		return err
	}
	ctx, next := context.Background(), engram.Now()
	for _, n := range e.batches {
		b, q := newBatch(k, n), engram.SelectID(k.entity, engram.Latest(n))
		for _, m := range []struct {
			metric string
			sample func() (int64, error)
		}{
			{metricConvert, func() (int64, error) {
				from := monotonic()
				c := b.commit(next)
				took := monotonic() - from
				runtime.KeepAlive(c)
				return took, nil
			}},
			{metricStore, func() (int64, error) {
				b.forget()
				c := b.commit(next)
				c.Transient = false // without a copy, as a server stores what it received
				next += engram.Time(n)
				from := monotonic()
				err := commit(w, c)
				return monotonic() - from, err
			}},
			{metricLookup, func() (int64, error) {
				from := monotonic()
				res, err := w.Query(ctx, q)
				to := monotonic()
				if err != nil {
					return 0, err
				}
				return to - from, takeAll(b, res)
			}},
			{metricConvertBack, func() (int64, error) {
				res, err := w.Query(ctx, q)
				if err != nil {
					return 0, err
				}
				from := monotonic()
				err = takeAll(b, res)
				return monotonic() - from, err
			}},
		} {
			f, err := e.measure(k.info*n, nil, m.sample)
			if err != nil {
				return fmt.Errorf("%s × %d, %s: %w", k.name, n, m.metric, err)
			}
			into.add(round, cell{inProcess, "alone", k.name, n, m.metric}, f)
		}
	}
	return nil
}
