package query

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// LinkIndex is the index of links: it knows of [LinksTo].
type LinkIndex struct {
	naming  Naming
	types   *idf.Registry
	sources []engram.ID          // entities that have links
	number  map[engram.ID]uint32 // of a source
	to      map[engram.ID]*linked
	entries int
	digest  []byte // of Add, to be used again
}

var _ Digester = (*LinkIndex)(nil)

// NewLinkIndex returns an empty index of links in payloads of types that a registry has.
func NewLinkIndex(naming Naming, types *idf.Registry) Index {
	return &LinkIndex{naming: naming, types: types, number: map[engram.ID]uint32{}, to: map[engram.ID]*linked{}}
}

// linked are the links to an entity, its snapshots and their instances, or to what is above entities.
type linked struct {
	sorted []linkOf // by the time that they are to
	tail   []linkOf // which came late, as they came
}

// linkOf is a link that a version has.
type linkOf struct {
	to     engram.Time // of the snapshot that it is to; MinTime if it is to none
	from   engram.Time
	source uint32
}

const (
	linkBytes = 32  // about what a linkOf takes
	nameBytes = 250 // about what an entity takes that has links, or that links are to
	mostLate  = 4096
)

// Add implements [Index].
func (x *LinkIndex) Add(entity engram.ID, s *engram.Snapshot) {
	x.digest = x.Digest(x.digest[:0], s)
	_ = x.AddDigest(entity, s.Time, x.digest) // it is one
}

// Format implements [Digester].
func (x *LinkIndex) Format() string { return "links 1" }

// Takes implements [Digester].
func (x *LinkIndex) Takes(typ string) bool {
	t, ok := x.types.Get(typ)
	return ok && t.Has(idf.KindLink)
}

// Digest implements [Digester]: each link as the payload has it, behind its length as an unsigned varint.
func (x *LinkIndex) Digest(dst []byte, s *engram.Snapshot) []byte {
	for i := range s.Instances {
		p := &s.Instances[i].Payload
		t, ok := x.types.Get(p.Type)
		if !ok {
			continue
		}
		_ = t.Walk(p.Bytes, idf.KindLink, func(f *idf.Found) bool { // a damaged payload was refused at its commit
			if len(f.Bytes) > 0 { // else it is a link to nothing
				dst = append(binary.AppendUvarint(dst, uint64(len(f.Bytes))), f.Bytes...)
			}
			return true
		})
	}
	return dst
}

// AddDigest implements [Digester].
func (x *LinkIndex) AddDigest(entity engram.ID, t engram.Time, digest []byte) error {
	source, known := x.number[entity]
	for len(digest) > 0 {
		n, head := binary.Uvarint(digest)
		if head <= 0 || n > uint64(len(digest)-head) {
			return engram.Errorf(engram.Corrupt, entity.String(), "what is kept of its links is not whole")
		}
		text := digest[head:][:n]
		digest = digest[head:][n:]
		link, err := engram.Parse(string(text))
		if err != nil || link.IsRoot() {
			continue
		}
		if !known {
			known, source = true, uint32(len(x.sources))
			x.sources = append(x.sources, entity)
			x.number[entity] = source
		}
		x.add(x.naming.Link(entity, link), linkOf{engram.MinTime, t, source})
	}
	return nil
}

func (x *LinkIndex) add(link engram.ID, of linkOf) {
	if t, ok := link.Time(); ok {
		of.to = t
	}
	target := link.Truncate(min(link.Level(), engram.LevelEntity))
	l := x.to[target]
	if l == nil {
		l = &linked{}
		x.to[target] = l
	}
	x.entries++
	n := len(l.sorted)
	if n == 0 || l.sorted[n-1].to <= of.to {
		l.sorted = append(l.sorted, of)
		return
	}
	if l.tail = append(l.tail, of); len(l.tail) > min(mostLate, 64+n/8) {
		l.sorted = append(l.sorted, l.tail...)
		l.tail = nil
		slices.SortFunc(l.sorted, func(a, b linkOf) int { return cmp.Compare(a.to, b.to) })
	}
}

// Candidates implements [Index].
func (x *LinkIndex) Candidates(r Request, yield func(engram.ID, []engram.Time) bool) (known bool) {
	c, ok := r.Condition.(*LinksTo)
	if !ok {
		return false
	}
	from := map[uint32][]engram.Time{}
	take := func(all []linkOf) {
		for i := range all {
			if l := &all[i]; l.from >= r.Span.Start && l.from < r.Span.End {
				from[l.source] = append(from[l.source], l.from)
			}
		}
	}
	for target := range c.targets {
		l := x.to[target.Truncate(min(target.Level(), engram.LevelEntity))]
		switch at, of := target.Time(); {
		case target.Level() < engram.LevelEntity && !c.exactly: // below
		case l == nil:
		case of || c.exactly: // what is to no snapshot is to MinTime
			if !of {
				at = engram.MinTime
			}
			first, _ := slices.BinarySearchFunc(l.sorted, at, func(l linkOf, t engram.Time) int { return cmp.Compare(l.to, t) })
			last := first
			for last < len(l.sorted) && l.sorted[last].to == at {
				last++
			}
			take(l.sorted[first:last])
			for _, late := range l.tail {
				if late.to == at {
					take([]linkOf{late})
				}
			}
		default:
			take(l.sorted)
			take(l.tail)
		}
	}
	if !c.exactly && (c.levels[engram.LevelMemory] || c.levels[engram.LevelCoreSegment] || c.levels[engram.LevelProviderSegment]) {
		for target, l := range x.to {
			if c.includes(target) {
				take(l.sorted)
				take(l.tail)
			}
		}
	}
	for source, times := range from {
		slices.Sort(times)
		if !yield(x.sources[source], slices.Compact(times)) {
			break
		}
	}
	return true
}

// Size implements [Index].
func (x *LinkIndex) Size() IndexSize {
	return IndexSize{x.entries, int64(x.entries)*linkBytes + int64(len(x.sources)+len(x.to))*nameBytes}
}
