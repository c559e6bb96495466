package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
)

// session is a memory server that holds objects, consumers, and this process as
// the producer.
type session struct {
	dir       string
	memory    *process
	consumers []*process
	services  map[string]service // by transport
}

// newSession starts the processes. The memory holds objects of the kinds.
func newSession(consumers int, kinds ...string) (s *session, err error) {
	s = &session{services: map[string]service{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "transfer"); err != nil {
		return s, err
	}
	if s.memory, err = startProcess(append([]string{roleMemory, s.dir}, kinds...)...); err != nil {
		return s, err
	}
	for i := range consumers {
		c, err := startProcess(roleConsumer, filepath.Join(s.dir, consumerName(i)))
		if err != nil {
			return s, err
		}
		s.consumers = append(s.consumers, c)
	}
	for _, t := range transports {
		if s.services[t], err = connect(context.Background(), t, s.memory.ready[t]); err != nil {
			delete(s.services, t)
			return s, err
		}
	}
	return s, nil
}

func consumerName(i int) string { return fmt.Sprintf("consumer%d", i) }

func (s *session) close() error {
	var errs []error
	for _, svc := range s.services {
		errs = append(errs, svc.Close())
	}
	for _, p := range append(s.consumers, s.memory) {
		if p != nil {
			errs = append(errs, p.stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

func (s *session) pids() []int {
	pids := []int{s.memory.pid()}
	for _, c := range s.consumers {
		pids = append(pids, c.pid())
	}
	return pids
}

// consume has consumer i begin a task.
func (s *session) consume(i int, transport, way, kind string, batch int) (consumerConn, error) {
	return startTask(s.dir, consumerName(i), task{
		Transport: transport, Address: s.memory.ready[transport], Kind: kind, Way: way, Batch: batch,
	})
}

// stream is a commit stream with what is committed over it: objects of one kind,
// with ascending times.
type stream struct {
	engram.CommitStream
	batch *batch
	next  engram.Time
}

func (s *session) stream(transport string, k *kind, n int) (*stream, error) {
	cs, err := s.services[transport].CommitStream(context.Background())
	if err != nil {
		return nil, err
	}
	return &stream{cs, newBatch(k, n), engram.Now()}, nil
}

// send converts the batch and hands it over.
func (st *stream) send() error {
	c := st.batch.commit(st.next)
	st.next += engram.Time(len(c.Updates))
	if err := st.Send(c); err != nil {
		return err
	}
	return st.Flush()
}

// answer takes an answer, which must be that all is stored.
func (st *stream) answer() error {
	results, err := st.Recv()
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// age measures how old the data is when the consumer has it: from before the
// conversion of the business objects until the consumer has converted them all
// back. One commit is under way at a time.
func (s *session) age(e extent, transport, way string, k *kind, n int) (f figures, err error) {
	conn, err := s.consume(0, transport, way, k.name, n)
	if err != nil {
		return f, err
	}
	defer conn.Close()
	st, err := s.stream(transport, k, n)
	if err != nil {
		return f, err
	}
	defer st.Close()
	last := st.batch.objects[n-1]
	return e.measure(k.info*n, s.pids(), func() (int64, error) {
		number := last.number() + 1
		last.setNumber(number)
		from := monotonic()
		if err := st.send(); err != nil {
			return 0, err
		}
		got, err := conn.next()
		if err != nil {
			return 0, err
		}
		if got.Number != number {
			return 0, fmt.Errorf("the consumer got object %d instead of %d", got.Number, number)
		}
		return got.At - from, st.answer()
	})
}

// roundTrip measures a commit with its answer, from the business objects on.
func (s *session) roundTrip(e extent, transport string, k *kind, n int) (figures, error) {
	b, next := newBatch(k, n), engram.Now()
	return e.measure(k.info*n, s.pids(), func() (int64, error) {
		from := monotonic()
		err := commit(s.services[transport], b.commit(next))
		next += engram.Time(n)
		return monotonic() - from, err
	})
}

// query measures a query for the newest n snapshots until they are business
// objects.
func (s *session) query(e extent, transport string, k *kind, n int) (figures, error) {
	b, q := newBatch(k, n), engram.SelectID(k.entity, engram.Latest(n))
	return e.measure(k.info*n, s.pids(), func() (int64, error) {
		from := monotonic()
		res, err := s.services[transport].Query(context.Background(), q)
		if err != nil {
			return 0, err
		}
		err = takeAll(b, res)
		return monotonic() - from, err
	})
}

// takeAll converts a result back, which must hold a whole batch.
func takeAll(b *batch, res *engram.Result) error {
	i := 0
	for item := range res.All() {
		if err := b.take(i, item.Snapshot); err != nil {
			return err
		}
		i++
	}
	if i != len(b.objects) {
		return fmt.Errorf("a query brought %d snapshots instead of %d", i, len(b.objects))
	}
	return nil
}

// cells measures all that the paper's figures show of one kind of object.
func cells(e extent, round int, k *kind, into *results) error {
	if e.wants(measureAlone) {
		if err := cellsInProcess(e, round, k, into); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc([]string{bySubscription, byNotification, measureCommit, measureQuery}, e.wants) {
		return nil
	}
	s, err := newSession(1, k.name)
	if err != nil {
		return err
	}
	err = s.cells(e, round, k, into)
	return errors.Join(err, s.close())
}

func (s *session) cells(e extent, round int, k *kind, into *results) error {
	for _, n := range e.batches {
		for _, t := range e.transports {
			for _, m := range []struct {
				name, mode, metric string
				measure            func() (figures, error)
			}{
				{bySubscription, bySubscription, metricAge, func() (figures, error) { return s.age(e, t, bySubscription, k, n) }},
				{byNotification, byNotification, metricAge, func() (figures, error) { return s.age(e, t, byNotification, k, n) }},
				{measureCommit, "call", metricCommit, func() (figures, error) { return s.roundTrip(e, t, k, n) }},
				{measureQuery, "call", metricQuery, func() (figures, error) { return s.query(e, t, k, n) }},
			} {
				if !e.wants(m.name) {
					continue
				}
				f, err := m.measure()
				if err != nil {
					return fmt.Errorf("%s × %d over %s, %s %s: %w", k.name, n, t, m.mode, m.metric, err)
				}
				into.add(round, cell{ours + t, m.mode, k.name, n, m.metric}, f)
			}
		}
	}
	return nil
}
