package pose

import (
	"cmp"
	"slices"

	"github.com/seed-301d4374/engram"
)

// AcquisitionID names an acquisition in its store.
type AcquisitionID uint64

// Acquisition is where a sensor was when it acquired data. The sensor's driver
// stores it with the data.
type Acquisition struct {
	ID     AcquisitionID
	Sensor string
	Time   engram.Time
	Base   string // the robot's base; see Acquire
	Pose   Pose   // base ← sensor
	Cov    Cov    // of it, in the sensor's axes
	Info   Info
}

// acquired is what the store remembers of an acquisition.
type acquired struct {
	id  AcquisitionID
	t   engram.Time
	rev Revision
	// The histories on the way to the root, which keep the samples around t.
	poses  []*poseHistory
	values []*valueHistory
}

// acquisitions are those remembered, by sensor and time, under Store.mu.
type acquisitions struct {
	last     AcquisitionID
	bySensor map[int32][]acquired // sorted by time, then ID
	order    map[AcquisitionID]acquiredAt
	oldest   AcquisitionID // none before it is remembered
	dropped  uint64
}

type acquiredAt struct {
	sensor int32
	t      engram.Time
}

func (a *acquisitions) init() {
	a.bySensor = map[int32][]acquired{}
	a.order = map[AcquisitionID]acquiredAt{}
}

func byTimeAndID(a, b acquired) int {
	return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.id, b.id))
}

// Acquire answers where the sensor was at t, seen from the robot's base, and
// remembers it: retention keeps the samples around t on the sensor's whole way to
// its root, and a subscription with OnlyAcquired reports when a revision moved it.
// The base is the frame reached from the sensor by going up all Fixed and Joint
// edges.
//
// The errors are NotFound for an unknown sensor and those of a look-up; TooNew means
// that the mounts' joints were not heard of since t ([Path.Wait] waits for that).
// Beyond Config.Acquisitions the oldest is released.
func (s *Store) Acquire(sensor string, t engram.Time) (Acquisition, error) {
	st := s.state.Load()
	id, ok := s.frameID(st.content, sensor)
	if !ok {
		return Acquisition{}, unknownFrame(sensor, t).Err()
	}
	a := Acquisition{Sensor: sensor, Time: t}
	rec := acquired{t: t}
	base := id
	for at, mounted := id, true; ; {
		per, _ := st.content.frames[at].periodAt(t)
		e := per.edge
		if e == nil {
			break
		}
		if e.poses != nil {
			rec.poses = append(rec.poses, e.poses)
		}
		if e.values != nil {
			rec.values = append(rec.values, e.values)
		}
		at = e.parent
		if mounted = mounted && (e.kind == KindFixed || e.kind == KindJoint); mounted {
			base = at
		}
	}
	a.Base = st.content.frames[base].name
	p := s.cachedPath(a.Base, sensor, base, id)
	var fail Failure
	if a.Pose, a.Cov, a.Info, fail = p.askCov(st, t); fail.Code != OK {
		return Acquisition{}, fail.Err()
	}
	for _, h := range rec.poses {
		h.pin(t)
	}
	for _, h := range rec.values {
		h.pin(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.acquired
	q.last++
	rec.id, rec.rev = q.last, st.rev
	a.ID = rec.id
	list := q.bySensor[id]
	at, _ := slices.BinarySearchFunc(list, rec, byTimeAndID)
	q.bySensor[id] = slices.Insert(list, at, rec)
	q.order[rec.id] = acquiredAt{id, t}
	for len(q.order) > s.cfg.Acquisitions {
		q.oldest++
		if s.releaseLocked(q.oldest) {
			q.dropped++
		}
	}
	return a, nil
}

// Release forgets an acquisition. The error is NotFound if it is not remembered.
func (s *Store) Release(id AcquisitionID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.releaseLocked(id) {
		return engram.Errorf(engram.NotFound, "", "acquisition %d is not remembered; it was released, or dropped for newer ones", id)
	}
	return nil
}

func (s *Store) releaseLocked(id AcquisitionID) bool {
	q := &s.acquired
	at, ok := q.order[id]
	if !ok {
		return false
	}
	delete(q.order, id)
	list := q.bySensor[at.sensor]
	i, _ := slices.BinarySearchFunc(list, acquired{id: id, t: at.t}, byTimeAndID)
	for _, h := range list[i].poses {
		h.unpin(at.t)
	}
	for _, h := range list[i].values {
		h.unpin(at.t)
	}
	q.bySensor[at.sensor] = slices.Delete(list, i, i+1)
	return true
}

// acquisitionsOf copies what is remembered of a sensor in a span.
func (s *Store) acquisitionsOf(sensor int32, iv engram.Interval) []acquired {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.acquired.bySensor[sensor]
	lo, _ := slices.BinarySearchFunc(list, acquired{t: iv.Start}, byTimeAndID)
	hi, _ := slices.BinarySearchFunc(list, acquired{t: iv.End}, byTimeAndID)
	return slices.Clone(list[lo:hi])
}
