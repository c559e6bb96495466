package policy

import (
	"hash/maphash"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// measure compares snapshots with the one remembered.
type measure struct {
	similar Similarity
	types   *idf.Registry
	hash    uint64
}

var seed = maphash.MakeSeed()

// hashOf identifies a snapshot's payloads.
func hashOf(s *engram.Snapshot) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		h.WriteString(p.Type)
		h.WriteByte(0)
		maphash.WriteComparable(&h, len(p.Bytes))
		h.Write(p.Bytes)
	}
	return h.Sum64()
}

func (m *measure) remember(s *engram.Snapshot) { m.hash = hashOf(s) }

func (m *measure) differs(s *engram.Snapshot) bool { return m.hash != hashOf(s) }
