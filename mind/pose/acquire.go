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
	limit    int // beyond it the oldest is released
	last     AcquisitionID
	bySensor map[int32][]acquired // sorted by time, then ID
	order    map[AcquisitionID]acquiredAt
	oldest   AcquisitionID // none before it is remembered
}

type acquiredAt struct {
	sensor int32
	t      engram.Time
}

func (a *acquisitions) init(limit int) {
	a.limit = limit
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
// edges, the sensor itself if there are none.
//
// The errors are NotFound for an unknown sensor and those of a look-up; TooNew means
// that the mounts' joints were not heard of since t ([Path.Wait] waits for that).
// Beyond Config.Acquisitions the oldest is released.
func (s *Store) Acquire(sensor string, t engram.Time) (Acquisition, error) {
	s.mu.Lock() // the histories pinned are those that answer, in the revision noted
	defer s.mu.Unlock()
	a, id, rec, err := s.mountLocked(sensor, t)
	if err != nil {
		return a, err
	}
	s.acquired.last++
	rec.id, a.ID = s.acquired.last, s.acquired.last
	s.acquired.remember(id, rec)
	return a, nil
}

// Mount answers as Acquire does and remembers nothing; the ID is 0.
func (s *Store) Mount(sensor string, t engram.Time) (Acquisition, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, _, rec, err := s.mountLocked(sensor, t)
	if err == nil {
		rec.unpin()
	}
	return a, err
}

// mountLocked answers, and pins what it found.
func (s *Store) mountLocked(sensor string, t engram.Time) (a Acquisition, id int32, rec acquired, err error) {
	st := s.states.now()
	id, ok := s.frameID(st.content, sensor)
	if !ok {
		return a, id, rec, unknownFrame(sensor, t).Err()
	}
	rec = acquired{t: t, rev: st.rev}
	base := rec.mount(st.content, id)
	a = Acquisition{Sensor: sensor, Time: t, Base: st.content.frames.at(base).name}
	rec.pin() // before the look-up: what it finds must not go in between
	var fail Failure
	if a.Pose, a.Cov, a.Info, fail = s.cachedPath(a.Base, sensor, base, id).askCov(st, t); fail.Code != OK {
		rec.unpin()
		return Acquisition{}, id, rec, fail.Err()
	}
	return a, id, rec, nil
}

// remember adds an acquisition.
func (a *acquisitions) remember(sensor int32, rec acquired) {
	list := a.bySensor[sensor]
	at, _ := slices.BinarySearchFunc(list, rec, byTimeAndID)
	a.bySensor[sensor] = slices.Insert(list, at, rec)
	a.order[rec.id] = acquiredAt{sensor, rec.t}
	for len(a.order) > a.limit {
		a.oldest++
		a.release(a.oldest)
	}
}

// Restore remembers an acquisition that a store of an earlier life remembered, under
// the number that it had there, in the present revision. Its pose is not looked up: what
// it followed from may be gone. The error is NotFound for an unknown sensor and
// AlreadyExists for a number that is taken.
func (s *Store) Restore(id AcquisitionID, sensor string, t engram.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, q := s.states.now(), &s.acquired
	frame, ok := s.frameID(st.content, sensor)
	if !ok {
		return unknownFrame(sensor, t).Err()
	}
	if _, taken := q.order[id]; taken || id == 0 {
		return engram.Errorf(engram.AlreadyExists, sensor, "there is an acquisition %d already", id)
	}
	if len(q.order) == 0 || id <= q.oldest {
		q.oldest = id - 1
	}
	q.last = max(q.last, id)
	rec := acquired{id: id, t: t, rev: st.rev}
	rec.mount(st.content, frame)
	rec.pin()
	s.acquired.remember(frame, rec)
	return nil
}

// Acquired returns the sensor and the time of an acquisition that is remembered.
func (s *Store) Acquired(id AcquisitionID) (sensor string, t engram.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.acquired.order[id]
	if ok {
		sensor = s.states.now().content.frames.at(at.sensor).name
	}
	return sensor, at.t, ok
}

// AcquiredAt returns the first acquisition of a sensor at a time, 0 if none is
// remembered.
func (s *Store) AcquiredAt(sensor string, t engram.Time) AcquisitionID {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.frameID(s.states.now().content, sensor)
	if !ok {
		return 0
	}
	list := s.acquired.bySensor[id]
	if at, _ := slices.BinarySearchFunc(list, acquired{t: t}, byTimeAndID); at < len(list) && list[at].t == t {
		return list[at].id
	}
	return 0
}

// mount notes the histories on the sensor's way to its root and returns its base.
func (a *acquired) mount(c *content, sensor int32) (base int32) {
	base = sensor
	for at, mounted := sensor, true; ; {
		per, _ := c.frames.at(at).periodAt(a.t)
		e := per.edge
		if e == nil {
			return base
		}
		if e.poses != nil {
			a.poses = append(a.poses, e.poses)
		}
		if e.joint != nil {
			a.values = append(a.values, e.value.history)
		}
		at = e.parent
		if mounted = mounted && (e.kind == KindFixed || e.kind == KindJoint); mounted {
			base = at
		}
	}
}

func (a *acquired) pin() {
	for _, h := range a.poses {
		h.pin(a.t)
	}
	for _, h := range a.values {
		h.pin(a.t)
	}
}

func (a *acquired) unpin() {
	for _, h := range a.poses {
		h.unpin(a.t)
	}
	for _, h := range a.values {
		h.unpin(a.t)
	}
}

// Release forgets an acquisition. The error is NotFound if it is not remembered.
func (s *Store) Release(id AcquisitionID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.acquired.release(id) {
		return NotAcquired(id)
	}
	return nil
}

// NotAcquired is the error of an acquisition that is not remembered.
func NotAcquired(id AcquisitionID) error {
	return engram.Errorf(engram.NotFound, "", "acquisition %d is not remembered; it was released, or dropped for newer ones", id)
}

// release forgets an acquisition, if it is remembered.
func (a *acquisitions) release(id AcquisitionID) bool {
	at, ok := a.order[id]
	if !ok {
		return false
	}
	delete(a.order, id)
	list := a.bySensor[at.sensor]
	i, _ := slices.BinarySearchFunc(list, acquired{id: id, t: at.t}, byTimeAndID)
	list[i].unpin()
	a.bySensor[at.sensor] = slices.Delete(list, i, i+1)
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
