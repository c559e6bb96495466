package web

import (
	"bufio"
	"encoding/csv"
	"math"
	"net/http"
	"strconv"

	"github.com/seed-301d4374/engram"
)

// csv answers all values of a span while they are read: a row for each snapshot, with its time in RFC 3339 and a cell for
// each path, which is empty where the snapshot has no number.
func (p *plots) csv(w http.ResponseWriter, r *http.Request, s *span, h held, n *numbers) error {
	out := bufio.NewWriterSize(w, 1<<16)
	header := func() error {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="engram.csv"`)
		w.Header().Set("Cache-Control", "no-store")
		titles := csv.NewWriter(out)
		err := titles.Write(append([]string{"time"}, n.paths...))
		titles.Flush()
		return err
	}
	began := false
	var row []byte
	err := p.each(r.Context(), s, h, func(snap *engram.Snapshot) error {
		if err := n.read(r.Context(), snap); err != nil {
			return err
		}
		if !began {
			began = true
			if err := header(); err != nil {
				return err
			}
		}
		row = snap.Time.AppendRFC3339(row[:0])
		for _, v := range n.values {
			row = append(row, ',')
			if !math.IsNaN(v) {
				row = strconv.AppendFloat(row, v, 'g', -1, 64)
			}
		}
		_, err := out.Write(append(row, '\n'))
		return err
	})
	for i := range n.paths {
		if err == nil && !began {
			err = n.err(i)
		}
	}
	if err == nil && !began {
		err = header()
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil && began && r.Context().Err() == nil {
		p.log.Warn("a series broke off", "entity", s.entity, "error", err)
		panic(http.ErrAbortHandler) // it must not look complete
	}
	return err
}
