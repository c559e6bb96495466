package memories

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/wm"
)

const (
	markSegment = "Mark"
	markType    = "engram.system_state.Mark"
	maxMarks    = wm.MaxMarks
)

// marks are the marks by hand: it tells the working memory of those that stand.
type marks struct {
	mu       sync.Mutex
	srv      *server.Server
	standing map[engram.ID]mark // with those that were ended while the server runs
}

// mark is the newest snapshot of an entity of SystemState/Mark.
type mark struct {
	of    engram.Pattern
	note  string
	ended bool
	at    engram.Time
}

// parseMark reads a payload of markType. The error names the member.
func parseMark(t *idf.Type, payload []byte) (m mark, err error) {
	v, err := t.Decode(payload)
	if err != nil {
		return m, err
	}
	members, _ := v.(map[string]any)
	entities, _ := members["entities"].(string)
	m.note, _ = members["note"].(string)
	m.ended, _ = members["ended"].(bool)
	if m.of, err = engram.ParsePattern(entities); err == nil {
		_, err = m.of.Matcher()
	}
	switch {
	case err != nil:
		return m, engram.Errorf(engram.CodeOf(err), "entities", "%w", err)
	case len(m.of.Levels) == 0:
		return m, engram.Errorf(engram.Invalid, "entities", "nothing is named; a pattern such as Object/Instance/localiser/cup is needed")
	}
	return m, nil
}

// start is a Start hook: it has the marks of earlier epochs stand.
func (m *marks) start(ctx context.Context, svc engram.Service) error {
	srv, ok := svc.(*server.Server)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.srv = srv
	r, err := svc.Query(ctx, engram.MustPattern("SystemState/"+markSegment).Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for it := range r.All() {
		if len(it.Snapshot.Instances) > 0 {
			p := &it.Snapshot.Instances[0].Payload
			if t, ok := Type(p.Type); ok {
				if read, err := parseMark(t, p.Bytes); err == nil { // of what cannot be read, nothing is noted
					m.noteLocked(it.ID.Truncate(engram.LevelEntity), it.Snapshot.Time, read)
				}
			}
		}
	}
	maps.DeleteFunc(m.standing, func(_ engram.ID, of mark) bool { return of.ended })
	return m.tellLocked()
}

// noteLocked notes a snapshot, unless there is a newer one.
func (m *marks) noteLocked(id engram.ID, at engram.Time, read mark) {
	if old, there := m.standing[id]; !there || old.at <= at {
		read.at = at
		m.standing[id] = read
	}
}

// tellLocked tells the working memory which marks stand, the newest first.
func (m *marks) tellLocked() error {
	if m.srv == nil {
		return nil
	}
	var all []wm.StandingMark
	ids := slices.SortedFunc(maps.Keys(m.standing), func(a, b engram.ID) int {
		return cmp.Or(cmp.Compare(m.standing[b].at, m.standing[a].at), a.Compare(b))
	})
	for _, id := range ids {
		if of := m.standing[id]; !of.ended && len(all) < maxMarks {
			all = append(all, wm.StandingMark{Mark: engram.Mark{ID: id, Note: of.note}, Of: of.of})
		}
	}
	return m.srv.Values().SetMarks(all)
}

// write is a Write hook: a mark counts from when its commit returns.
func (m *marks) write(_ context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(u.Instances) != 1 {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "a mark is one instance, not %d", len(u.Instances))
	}
	stand := 0
	for id, of := range m.standing {
		if !of.ended && id != u.Entity {
			stand++
		}
	}
	t, ok := Type(u.Instances[0].Payload.Type)
	if !ok {
		return put(u)
	}
	read, err := parseMark(t, u.Instances[0].Payload.Bytes)
	switch {
	case err != nil:
		return err
	case stand >= maxMarks && !read.ended:
		return engram.Errorf(engram.Exhausted, u.Entity.String(), "%d marks stand, which is as many as can; end some ('engram mark rm'), or mark several entities by a pattern", maxMarks)
	}
	if err := put(u); err != nil {
		return err
	}
	m.noteLocked(u.Entity, u.Time, read)
	if now := m.standing[u.Entity]; now.ended && len(m.standing) > 2*maxMarks {
		delete(m.standing, u.Entity) // an older snapshot of it may count again, which is rare
	}
	return m.tellLocked()
}
