package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"net/http"

	"github.com/seed-301d4374/engram"
)

// asked names what a piece shows: an entity, or an instance of a snapshot of it, at a time and
// as of one.
type asked struct {
	entity   engram.ID
	selector engram.SnapshotSelector
	asOf     *engram.Time
	instance int  // -1: any
	fixed    bool // the ID names the snapshot, by its time
}

// asked reads id, which names an entity, a snapshot or an instance, t and asof.
func (q query) asked() (m asked, err error) {
	id, err := q.id("id")
	if err != nil {
		return m, err
	}
	if id.Level() < engram.LevelEntity {
		return m, engram.Errorf(engram.Invalid, id.String(), "names no entity and nothing in one")
	}
	m.entity, m.instance = id.Truncate(engram.LevelEntity), -1
	if i, ok := id.Index(); ok {
		m.instance = i
	}
	if t, ok := id.Time(); ok {
		m.selector, m.fixed = engram.At(t), true
	} else if m.selector, err = q.selector(); err != nil {
		return m, err
	}
	m.asOf, err = q.asOf()
	return m, err
}

// selector reads t: what is in force then, or the newest.
func (q query) selector() (engram.SnapshotSelector, error) {
	if q.Get("t") == "" {
		return engram.Latest(1), nil
	}
	t, err := q.time("t", 0)
	return engram.AtOrBefore(t), err
}

// snapshot returns what is there at the time asked for, with its payloads or without.
func (p *reader) snapshot(ctx context.Context, m asked, payload bool) (*engram.Snapshot, error) {
	q := engram.SelectID(m.entity, m.selector)
	q.AsOf, q.WithoutPayload = m.asOf, !payload
	r, err := p.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	for it := range r.All() {
		return it.Snapshot, nil
	}
	for _, lost := range r.Missing {
		return nil, engram.Errorf(engram.NotFound, m.entity.String(), "there is nothing at this time: %s", lost.Reason)
	}
	return nil, engram.Errorf(engram.NotFound, m.entity.String(), "there is nothing at this time")
}

// unchanged says which versions of snapshots are answered, and answers itself if the browser has these.
func (p *reader) unchanged(w http.ResponseWriter, r *http.Request, m asked, versions ...*engram.Snapshot) bool {
	hash := fnv.New128a()
	_, _ = hash.Write([]byte(m.entity.String() + "?" + r.URL.RawQuery)) // a hash takes all
	sum := hash.Sum(nil)
	for _, s := range versions {
		sum = binary.BigEndian.AppendUint64(sum, uint64(s.Time))
		sum = binary.BigEndian.AppendUint64(sum, uint64(s.Arrived))
	}
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	if m.fixed && m.asOf != nil && *m.asOf < p.now() { // else it may be corrected
		h.Set("Cache-Control", "private, max-age=3600, immutable")
	} else {
		h.Set("Cache-Control", "private, no-cache")
	}
	if r.Header.Get("If-None-Match") != tag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}
