package main

import (
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/memories"
)

// simulated is how many ticks of 10 ms of the simulated robot are learned from, and as many judged.
const simulated = 9_000

// poses measures the poses of the simulated robot's platform, as its localisation tells them, with their noise:
// it is driven to the table and back again and again. Level 2 has learned from a minute and a half before.
func poses() ([]jointRow, error) {
	r, err := sim.New(sim.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	learned, err := platform(r, 0, simulated)
	if err != nil {
		return nil, err
	}
	judged, err := platform(r, simulated, 2*simulated)
	if err != nil {
		return nil, err
	}
	return joints([]*recording{learned}, judged)
}

// platform takes down the poses of the robot's base.
func platform(r *sim.Robot, begin, end int) (*recording, error) {
	out := &recording{states: map[string]*states{}, measured: "translation"}
	for tick := begin; tick < end; tick++ {
		for _, u := range r.State(tick).Updates {
			if u.Entity.CoreSegment() != "Localization" || !strings.HasPrefix(u.Entity.Entity(), "odom") {
				continue
			}
			p := u.Instances[0].Payload
			t, ok := memories.Type(p.Type)
			if !ok {
				return nil, engram.Errorf(engram.Internal, p.Type, "the type is not known")
			}
			if err := out.take(u, t); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// take adds a snapshot to the others of its entity with the same numbers; one of a payload without numbers is left out.
func (r *recording) take(u engram.EntityUpdate, t *idf.Type) error {
	name, b := u.Entity.Entity(), u.Instances[0].Payload.Bytes
	var e *states
	for _, o := range r.of(name) {
		if o.members.Fit(t, b) {
			e = o
		}
	}
	if e == nil {
		e = &states{entity: name}
		if err := e.begin(t, b); engram.CodeOf(err) == engram.Unsupported {
			return nil
		} else if err != nil {
			return err
		}
		if before := len(r.of(name)); before > 0 { // another program writes to the entity
			name += fmt.Sprint(" ", before+1)
		}
		r.states[name] = e
		r.order = append(r.order, name)
	}
	if len(e.times) > 0 && u.Time <= e.times[len(e.times)-1] {
		return nil
	}
	v := make([]float64, len(e.members.Paths))
	if err := e.members.Read(b, v); err != nil {
		return err
	}
	e.times, e.values = append(e.times, u.Time), append(e.values, v)
	return nil
}

// of returns what there is of an entity, by the numbers that its snapshots have.
func (r *recording) of(entity string) (all []*states) {
	for _, name := range r.order {
		if e := r.states[name]; e.entity == entity {
			all = append(all, e)
		}
	}
	return all
}
