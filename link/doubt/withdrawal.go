// Package doubt says which snapshots are not believed any more, and which rest on those.
//
// A [Withdrawal] is an entity of SystemState/Withdrawal: who finds out that a camera was
// mis-calibrated for an hour says so, with a pattern, a span of times and the reason. Nothing is
// deleted. What links to a withdrawn snapshot, over any number of links, is doubtful. A link means
// the version that its source could know: what arrived before the source did. So a result
// stays doubtful after its input was corrected, and a result of the corrected input is not.
//
// Nothing is marked in advance: [Judge] follows links when it is asked, over any memories that its
// source reaches, so that writing costs nothing and a withdrawal can be taken back.
package doubt

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

// Segment is the core segment of withdrawals, and Type the type of its payloads.
const (
	Segment = "SystemState/Withdrawal"
	Type    = "engram.system_state.Withdrawal"
)

// Withdrawal says that some snapshots are not believed any more.
type Withdrawal struct {
	ID      engram.ID       // of the snapshot that says so
	Of      engram.Pattern  // of entities
	During  engram.Interval // of the snapshots' times
	Before  engram.Time     // only versions that had arrived before; MaxTime is all
	Reason  string
	Revoked bool // they are believed again

	match *engram.PatternMatcher
}

// Parse reads a withdrawal from a payload of [Type] as JSON. The error is Invalid, and names the member.
func Parse(payload []byte) (*Withdrawal, error) {
	var v struct {
		Entities    string       `json:"entities"`
		Start       *engram.Time `json:"start"`
		End         *engram.Time `json:"end"`
		KnownBefore *engram.Time `json:"known_before"`
		Reason      string       `json:"reason"`
		Revoked     bool         `json:"revoked"`
	}
	if err := json.Unmarshal(payload, &v); err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "no withdrawal: %w", err)
	}
	w := &Withdrawal{During: engram.Always(), Before: engram.MaxTime, Reason: v.Reason, Revoked: v.Revoked}
	var err error
	if w.Of, err = engram.ParsePattern(v.Entities); err == nil {
		w.match, err = w.Of.Matcher()
	}
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), "entities", "%w", err)
	}
	if len(w.Of.Levels) == 0 {
		return nil, engram.Errorf(engram.Invalid, "entities", "nothing is named; a pattern such as Vision/ImageRGB/camera is needed")
	}
	if v.Start != nil {
		w.During.Start = *v.Start
	}
	if v.End != nil {
		w.During.End = *v.End
	}
	if w.During.Empty() {
		return nil, engram.Errorf(engram.Invalid, "end", "it is not after start: %v", w.During)
	}
	if v.KnownBefore != nil {
		w.Before = *v.KnownBefore
	}
	return w, nil
}

// Value returns the withdrawal as a value for a payload of [Type].
func (w *Withdrawal) Value(now engram.Time) map[string]any {
	v := map[string]any{"timestamp": now, "entities": w.Of.String(), "reason": w.Reason, "revoked": w.Revoked}
	if w.During.Start != engram.MinTime {
		v["start"] = w.During.Start
	}
	if w.During.End != engram.MaxTime {
		v["end"] = w.During.End
	}
	if w.Before != engram.MaxTime {
		v["known_before"] = w.Before
	}
	return v
}

// covers reports whether a version of an entity's snapshot is withdrawn.
func (w *Withdrawal) covers(entity engram.ID, at, arrived engram.Time) bool {
	return !w.Revoked && w.During.Contains(at) && arrived < w.Before && w.match != nil && w.match.Match(entity)
}

// Source is the memories that are read.
type Source interface {
	service.Follower
	engram.Reader
}

// Memories returns the source of what f follows links in and r reads.
func Memories(f service.Follower, r engram.Reader) Source {
	return struct {
		service.Follower
		engram.Reader
	}{f, r}
}

// Read returns the withdrawals of a robot, those that were taken back too; "" is the own one. What of them could not be read is
// missing. asOf asks for those that were known then.
func Read(ctx context.Context, s Source, robot string, asOf *engram.Time) (all []*Withdrawal, missing []engram.Missing, err error) {
	segment := engram.MustID(Segment)
	if robot != "" {
		if segment, err = segment.InMemory(robot + ":" + segment.Memory()); err != nil {
			return nil, nil, err
		}
	}
	q := engram.SelectID(segment, engram.Latest(1))
	q.WithoutPayload, q.AsOf = true, asOf
	r, err := s.Query(ctx, q)
	if err != nil {
		if engram.CodeOf(err) == engram.NotFound {
			err = nil // nobody withdrew anything
		}
		return nil, nil, err
	}
	var refs []service.Ref
	for it := range r.All() {
		refs = append(refs, service.Ref{ID: it.ID})
	}
	if len(refs) == 0 {
		return nil, r.Missing, nil
	}
	found, err := s.Resolve(ctx, refs, service.Options{AsOf: asOf, Members: true})
	if err != nil {
		return nil, nil, err
	}
	for i := range found {
		n := &found[i].Node
		if n.Missing != "" { // it went meanwhile
			continue
		}
		w, err := Parse(n.Members)
		if err != nil {
			r.Missing = append(r.Missing, engram.Missing{ID: n.ID, Reason: engram.MissingDamaged, Detail: err.Error()})
			continue
		}
		w.ID = n.ID
		all = append(all, w)
	}
	return all, r.Missing, nil
}

// robotOf returns the robot whose memory an ID names, "" for the own one, and the ID as that robot names it.
func robotOf(id engram.ID) (string, engram.ID) {
	robot, memory, named := strings.Cut(id.Memory(), ":")
	if !named {
		return "", id
	}
	its, err := id.InMemory(memory)
	if err != nil {
		return "", id
	}
	return robot, its
}
