package web

import (
	"net/http"
	"slices"

	"github.com/seed-301d4374/engram"
)

const (
	// maxColumns bounds the bins of a piece, and maxEntities the entities of one.
	maxColumns  = 1 << 14
	maxEntities = 64
)

// density is how many snapshots of an entity there are over time.
type density struct {
	ID    engram.ID    `json:"id"`
	First *nanoseconds `json:"first,omitempty"` // that there is at all, and the newest
	Last  *nanoseconds `json:"last,omitempty"`
	From  nanoseconds  `json:"from"`
	To    nanoseconds  `json:"to"`
	Count []int        `json:"count"` // by bin
	Gaps  []gap        `json:"gaps"`
}

// density answers how many snapshots entities have over time:
//
//	id        an entity; several may be asked for at once; one that is not there is left out
//	from, to  of which time; otherwise from the first to the newest snapshot
//	n         in how many equal parts
//	asof      what was known then
func (p *plots) density(w http.ResponseWriter, r *http.Request, q query) error {
	n, err := q.number("n", 1, maxColumns, 1000)
	if err != nil {
		return err
	}
	texts := q.Values["id"]
	if len(texts) == 0 || len(texts) > maxEntities {
		return engram.Errorf(engram.Invalid, "id", "%d entities; 1 to %d can be asked for at once", len(texts), maxEntities)
	}
	var ids []engram.ID
	for _, text := range texts {
		id, err := q.parse(text)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	all := []density{}
	for _, id := range ids {
		s, held, err := p.span(r.Context(), q, id)
		if engram.CodeOf(err) == engram.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		d := density{ID: id, From: nanoseconds(s.from), To: nanoseconds(s.to), Count: make([]int, n)}
		if held.count > 0 {
			d.First, d.Last = exact(held.first), exact(held.last)
		}
		err = p.each(r.Context(), s, held, func(snap *engram.Snapshot) error {
			d.Count[s.binOf(snap.Time, n)]++
			return nil
		})
		if err != nil {
			return err
		}
		d.Gaps = s.gaps()
		all = append(all, d)
	}
	return answer(w, all)
}
