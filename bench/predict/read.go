package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/predict"
	"github.com/seed-301d4374/engram/server"
)

// recording is what is measured of one: its entities by name.
type recording struct {
	states   map[string]*states
	order    []string
	cameras  map[string]*camera
	measured string // how the paths of the members begin that are measured
}

// states are the numbers of one entity, or of what one of several programs writes to it.
type states struct {
	entity  string
	members *predict.Members
	times   []engram.Time
	values  [][]float64
}

// like reports whether the numbers are of the same things.
func (e *states) like(o *states) bool {
	return slices.Equal(e.members.Paths, o.members.Paths) && slices.Equal(e.members.Labels, o.members.Labels)
}

func (e *states) begin(t *idf.Type, b []byte) (err error) {
	e.members, err = predict.MembersOf(t, b)
	return err
}

// noted is a server that notes what is committed to it.
type noted struct {
	ingest.Destination
	updates []engram.EntityUpdate
}

func (n *noted) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	n.updates = append(n.updates, c.Owned().Updates...)
	return n.Destination.Commit(ctx, c)
}

// read imports a recording and returns its joint states.
func read(ctx context.Context, path string) (*recording, error) {
	types := idf.NewRegistry()
	s, err := server.New(server.Config{Memories: memories.All(), Types: types})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	n := &noted{Destination: s}
	if _, err := ingest.Import(ctx, n, path, ingest.Options{Source: "bench"}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(n.updates, func(a, b engram.EntityUpdate) int { return cmp.Compare(a.Time, b.Time) })
	r := &recording{states: map[string]*states{}, cameras: map[string]*camera{}, measured: "position["}
	for _, u := range n.updates {
		if u.Entity.Memory() == "Vision" && u.Entity.CoreSegment() == "ImageRGB" && len(u.Instances) > 0 {
			if err := r.look(u); err != nil {
				return nil, err
			}
			continue
		}
		if u.Entity.Memory() != "RobotState" || u.Entity.CoreSegment() != "Proprioception" || len(u.Instances) == 0 {
			continue
		}
		p := u.Instances[0].Payload
		t, ok := types.Get(p.Type)
		if !ok {
			return nil, engram.Errorf(engram.Internal, p.Type, "the type is not known")
		}
		if err := r.take(u, t); err != nil {
			return nil, err
		}
	}
	r.order = slices.Sorted(maps.Keys(r.states))
	return r, nil
}

// partner is the entity that an entity's members are predicted from too: one with the same members.
func (r *recording) partner(name string) string {
	for _, other := range r.order {
		if other != name && strings.Contains(other, "command") && r.states[other].like(r.states[name]) {
			return other
		}
	}
	return ""
}
