package sense

import (
	"iter"

	"github.com/seed-301d4374/engram"
)

// MinRing is the least bound of the ring, in bytes.
const MinRing = 64 << 10

// ring holds the last snapshots of sensors in the order in which they came, in memory that is made once:
// nothing is allocated for a snapshot. Of snapshots whose payloads are gone it knows for a while that they
// were there. One goroutine uses it.
type ring struct {
	bytes     []byte            // of payloads
	instances []engram.Instance // of snapshots
	slots     []slot            // by number, modulo their count

	inBytes, inInstances region
	known, held, next    uint64 // slots known … have payloads held … up to next
	size                 int64  // of the payloads that are held
}

// slot is a snapshot of a sensor.
type slot struct {
	sensor    *sensor
	snapshot  engram.Snapshot // its instances lie in the ring
	recorded  bool            // as the commit says
	fate      fate
	size      int64
	at        int // in bytes …
	instances int // … and in instances
}

// fate is what became of a snapshot.
type fate uint8

const (
	left    fate = iota // it was not passed on, and could still be
	wanted              // a rule wants it from the ring; it is still to be passed on
	sending             // it is on its way
	passed              // it is in the memory
	failed              // the memory did not take it
)

const (
	bytesOfSlot      = 256 // of a slot with two instances, at most
	payloadOfSlot    = 2048
	maxSlots         = 1 << 16
	instancesPerSlot = 2
)

// newRing returns a ring that takes at most so many bytes, its own memory included. Less than [MinRing]
// counts as that.
func newRing(bytes int64) *ring {
	bytes = max(bytes, MinRing)
	slots := min(bytes/(payloadOfSlot+bytesOfSlot), maxSlots)
	return &ring{
		bytes:     make([]byte, bytes-slots*bytesOfSlot),
		instances: make([]engram.Instance, slots*instancesPerSlot),
		slots:     make([]slot, slots),
	}
}

// put adds a snapshot; its payloads are copied. The oldest ones go to make room; gone, if not nil, is told
// of each. false is that the snapshot alone is too large.
func (r *ring) put(s *sensor, u *engram.EntityUpdate, recorded bool, gone func(*slot)) (*slot, bool) {
	size := 0
	for i := range u.Instances {
		size += len(u.Instances[i].Payload.Bytes)
	}
	if size > len(r.bytes) || len(u.Instances) > len(r.instances) || len(u.Instances) == 0 {
		return nil, false
	}
	for r.next-r.held >= uint64(len(r.slots)) {
		r.drop(gone)
	}
	at, ok := r.inBytes.place(max(size, 1), len(r.bytes))
	for !ok {
		r.drop(gone)
		at, ok = r.inBytes.place(max(size, 1), len(r.bytes))
	}
	first, ok := r.inInstances.place(len(u.Instances), len(r.instances))
	for !ok {
		r.drop(gone)
		first, ok = r.inInstances.place(len(u.Instances), len(r.instances))
	}
	r.inBytes.take(at, max(size, 1))
	r.inInstances.take(first, len(u.Instances))
	into := r.instances[first : first+len(u.Instances) : first+len(u.Instances)]
	copy(into, u.Instances)
	b := r.bytes[at:at:min(at+size, len(r.bytes))]
	for i := range into {
		from := len(b)
		b = append(b, into[i].Payload.Bytes...)
		into[i].Payload.Bytes = b[from:len(b):len(b)]
	}
	if r.next-r.known >= uint64(len(r.slots)) {
		r.known++
	}
	n := &r.slots[r.next%uint64(len(r.slots))]
	*n = slot{sensor: s, recorded: recorded, size: int64(size), at: at, instances: first}
	n.snapshot.Time, n.snapshot.Instances = u.Time, into
	r.next++
	r.size += n.size
	return n, true
}

// drop gives up the payloads of the oldest snapshot that has them.
func (r *ring) drop(gone func(*slot)) {
	s := r.slot(r.held)
	if gone != nil {
		gone(s)
	}
	clear(s.snapshot.Instances)
	s.snapshot.Instances = nil
	r.size -= s.size
	r.held++
	if r.held == r.next {
		r.inBytes, r.inInstances = region{}, region{}
		return
	}
	oldest := r.slot(r.held)
	r.inBytes.oldest, r.inInstances.oldest = oldest.at, oldest.instances
}

func (r *ring) slot(number uint64) *slot { return &r.slots[number%uint64(len(r.slots))] }

// since yields the slots from a number on, the oldest first.
func (r *ring) since(number uint64) iter.Seq2[uint64, *slot] {
	return func(yield func(uint64, *slot) bool) {
		for n := max(number, r.known); n < r.next; n++ {
			if !yield(n, r.slot(n)) {
				return
			}
		}
	}
}

// oldest returns the time of the oldest snapshot that is held; false if none is.
func (r *ring) oldest() (engram.Time, bool) {
	if r.held == r.next {
		return 0, false
	}
	return r.slot(r.held).snapshot.Time, true
}

// region is where in a circle of places the pieces of the slots lie: each in one piece, so that some places
// at the end may stay free.
type region struct {
	oldest, next int // where the oldest piece begins, and where the next one may
	used         bool
}

// place returns where n places in one piece are free, of size in all.
func (r *region) place(n, size int) (at int, ok bool) {
	switch {
	case !r.used:
		return 0, n <= size
	case r.next > r.oldest && size-r.next >= n:
		return r.next, true
	case r.next > r.oldest:
		return 0, r.oldest >= n
	default:
		return r.next, r.oldest-r.next >= n
	}
}

// take takes places that place has found.
func (r *region) take(at, n int) {
	if !r.used {
		r.oldest = at
	}
	r.next, r.used = at+n, true
}
