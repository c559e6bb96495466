package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"net/http"
	"strconv"

	"github.com/seed-301d4374/engram"
)

// csv answers all values of a span while they are read: a row for each snapshot, with its time in RFC 3339 and a cell for
// each path, which is empty where the snapshot has no number.
func (p *plots) csv(w http.ResponseWriter, r *http.Request, s *span, h held, n *numbers) error {
	n.texts = make([]string, len(n.paths))
	t := &table{w: w, ctx: r.Context(), turns: p.busy, numbers: n}
	err := t.resume()
	defer func() { t.pause() }()
	if err != nil {
		return err
	}
	s.read = t.write
	err = p.each(r.Context(), s, h, t.add)
	for i := range n.paths {
		if err == nil && !t.any {
			err = n.err(i)
		}
	}
	t.pause()
	if err == nil {
		err = t.flush()
	}
	if err != nil && t.began && r.Context().Err() == nil {
		p.log.Warn("a series broke off", "entity", s.entity, "error", err)
		panic(http.ErrAbortHandler) // it must not look complete
	}
	return err
}

// table writes CSV window by window, and has a turn only while it reads.
type table struct {
	w       http.ResponseWriter
	ctx     context.Context
	turns   *admission
	done    func() // ends the turn; nil without one
	numbers *numbers
	rows    bytes.Buffer // that are not written yet
	any     bool         // there are rows
	began   bool         // something was written
}

func (t *table) resume() (err error) {
	t.done, err = t.turns.turn(t.ctx)
	return err
}

func (t *table) pause() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// add adds the row of a snapshot.
func (t *table) add(snap *engram.Snapshot) error {
	if err := t.numbers.read(t.ctx, snap); err != nil {
		return err
	}
	t.any = true
	row := snap.Time.AppendRFC3339(t.rows.AvailableBuffer())
	for i, v := range t.numbers.values {
		row = append(row, ',')
		if text := t.numbers.texts[i]; text != "" {
			row = append(row, text...)
		} else if !math.IsNaN(v) {
			row = strconv.AppendFloat(row, v, 'g', -1, 64)
		}
	}
	t.rows.Write(append(row, '\n'))
	return nil
}

// write writes the rows of a window, while others have their turns.
func (t *table) write() error {
	if t.rows.Len() == 0 {
		return nil
	}
	t.pause()
	if err := t.flush(); err != nil {
		return err
	}
	return t.resume()
}

// flush writes the rows, and the titles before the first.
func (t *table) flush() error {
	if !t.began {
		t.began = true
		h := t.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="engram.csv"`)
		h.Set("Cache-Control", "no-store")
		titles := csv.NewWriter(t.w)
		if err := titles.Write(append([]string{"time"}, t.numbers.paths...)); err != nil {
			return err
		}
		if titles.Flush(); titles.Error() != nil {
			return titles.Error()
		}
	}
	_, err := t.rows.WriteTo(t.w)
	return err
}
