package web

import (
	"net/http"

	"github.com/seed-301d4374/engram/link/why"
)

// why answers with why there is what an ID names, in sentences: parts of text, each with the IDs of the snapshots that say
// so. Parameters: id, t and asof as everywhere.
func (p *Page) why(w http.ResponseWriter, r *http.Request, q query) error {
	id, err := q.id("id")
	if err != nil {
		return err
	}
	o := why.Options{Now: p.o.Now()}
	if q.Has("t") {
		at, err := q.time("t", 0)
		if err != nil {
			return err
		}
		o.At = &at
	}
	if o.AsOf, err = q.asOf(); err != nil {
		return err
	}
	a, err := why.Explain(r.Context(), p.links, id, o)
	if err != nil {
		return err
	}
	return answer(w, a.Parts)
}
