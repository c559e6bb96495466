package episode

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// recovered is what a look at all of a damaged episode's file finds: what its summary and
// index would tell, of what is whole.
type recovered struct {
	*salvage
	attach   []*mcap.AttachmentIndex
	meta     []*mcap.MetadataIndex
	lengths  map[int64]int64        // of the chunks of messages, by where they begin
	bare     []int64                // of these, those of the group that is being read …
	claimed  map[int64]map[int]bool // … and the messages in them that envelopes told of, by where they begin
	ended    bool                   // the data section ends as it should
	entities map[string]*recoveredEntity
}

type recoveredEntity struct {
	Entity
	blocks []*blockRef
	chunks map[int64]bool
}

// recoverIndex reads a damaged episode from its beginning to its end.
func recoverIndex(ctx context.Context, f vfs.File, path string) (*recovered, error) {
	scan, err := newScanner(f, path)
	if err != nil {
		return nil, err
	}
	s := newSalvage(ctx, scan, nil)
	r := &recovered{salvage: s, lengths: map[int64]int64{}, claimed: map[int64]map[int]bool{}, entities: map[string]*recoveredEntity{}}
	if err := scan.walk(ctx, r.visit); err != nil {
		return nil, err
	}
	r.addBare()
	if !s.told && len(r.entities) == 0 {
		return nil, engram.Errorf(engram.Corrupt, path, "nothing of an episode is found in the file")
	}
	return r, nil
}

func (r *recovered) visit(found foundRecord) error {
	if err := r.define(found); err != nil {
		return err
	}
	switch found.op {
	case mcap.OpAttachment:
		if a, ok := parseAttachment(found.content); ok {
			r.attach = append(r.attach, &mcap.AttachmentIndex{Offset: uint64(found.offset), Length: uint64(found.length), Name: a.name})
		}
	case mcap.OpMetadata:
		if m, err := mcap.ParseMetadata(found.content); err == nil {
			r.meta = append(r.meta, &mcap.MetadataIndex{Offset: uint64(found.offset), Length: uint64(found.length), Name: m.Name})
		}
	case mcap.OpDataEnd:
		r.ended = true
	case mcap.OpChunk:
		records, _, err := openChunk(found.content)
		switch {
		case err != nil:
			r.scan.problem(found.offset, "the chunk: %v", err)
			r.lengths[found.offset] = found.length // an envelope may tell what it held
		case r.isEnvelopes(records):
			r.addEnvelopes(found, records)
			r.enveloped = true
		default:
			if r.enveloped {
				r.addBare()
			}
			r.lengths[found.offset] = found.length
			r.bare = append(r.bare, found.offset)
		}
	}
	return nil
}

// addEnvelopes adds the runs of a chunk of envelopes.
func (r *recovered) addEnvelopes(found foundRecord, records []byte) {
	whole := recordsOf(records, func(op mcap.OpCode, at int, content []byte) {
		m, ok := parseMessage(content)
		if !ok || op != mcap.OpMessage {
			return
		}
		run, err := parseRun(m.data)
		if err != nil {
			r.scan.problem(found.offset, "%v", err)
			return
		}
		if r.lengths[found.offset-int64(run.chunkBack)] != int64(run.chunkLen) {
			r.scan.problem(found.offset, "%d versions of %s: the chunk that held them is not there", len(run.versions), run.entity)
			return
		}
		chunk := found.offset - int64(run.chunkBack)
		r.claim(run, chunk)
		r.add(run, segment{chunk: found.offset, length: uint32(found.length), at: uint32(at)})
	})
	if !whole {
		r.scan.problem(found.offset, "a chunk of envelopes has records that are not whole")
	}
}

// claim notes the messages of a run, which lie in the chunk at that place.
func (r *recovered) claim(found *run, chunk int64) {
	records, err := r.load(&foundChunk{offset: chunk, length: r.lengths[chunk]})
	if err != nil || found.offset+found.length > uint64(len(records)) {
		return
	}
	if r.claimed[chunk] == nil {
		r.claimed[chunk] = map[int]bool{}
	}
	found.each(records[found.offset:found.offset+found.length], func(_, at int, _ []byte) { r.claimed[chunk][int(found.offset)+at] = true })
}

// addBare ends a group: of its messages in plain form whose envelopes are lost it adds
// what MCAP itself says of them.
func (r *recovered) addBare() {
	defer func() { r.bare, r.enveloped = nil, false }()
	for _, at := range r.bare {
		c := &foundChunk{offset: at, length: r.lengths[at]}
		records, err := r.load(c)
		if err != nil {
			continue
		}
		var one *run // of messages that lie together
		end := func() {
			if one == nil {
				return
			}
			if b, err := one.encode(); err == nil {
				if read, err := parseEnvelope(b); err == nil {
					r.scan.problem(at, "when %d versions of %s were sent, their confidence and number: their envelope is lost", len(one.versions), one.entity)
					r.add(one, segment{chunk: at, at: uint32(one.offset), found: read})
				}
			}
			one = nil
		}
		recordsOf(records, func(op mcap.OpCode, offset int, content []byte) {
			m, ok := parseMessage(content)
			if !ok || op != mcap.OpMessage || r.claimed[at][offset] {
				end()
				return
			}
			ch := r.channels[m.channel]
			typ, known := r.typeOf(m.channel)
			// In format 1 the first of an entity may be in force, and have another time than
			// its message; since then its channel says so.
			if !known || ch.Metadata["codec"] != codec.Plain || r.info.Version < 2 && r.entities[ch.Topic] == nil {
				end()
				r.scan.problem(at, "a message of the channel %d: its envelope is lost, without which it cannot be read", m.channel)
				return
			}
			further := m.sequence&furtherInstance != 0
			own := ch.Metadata[keyTime] != ""
			if one != nil && (one.entity != ch.Topic || !further && (own || one.inForce > 0 || len(one.versions) >= maxRunVersions)) {
				end()
			}
			if one == nil {
				if further { // the first instance is in a chunk that is lost
					return
				}
				one = &run{entity: ch.Topic, chunkLen: uint64(c.length), offset: uint64(offset), channel: m.channel}
			}
			in := engram.NewInstance(engram.Payload{Type: typ.Name})
			in.Sent = engram.Time(m.publish)
			if further {
				v := one.versions[len(one.versions)-1]
				v.Instances = append(v.Instances, in)
			} else {
				at := ownTime(ch.Metadata[keyTime], m.log)
				if own && !Timeless(at) {
					one.inForce = 1
				}
				one.versions = append(one.versions, &engram.Snapshot{Time: at, Arrived: engram.Time(m.publish), Instances: []engram.Instance{in}})
			}
			one.messages++
			one.length = uint64(offset) + recordHead + uint64(len(content)) - one.offset
		})
		end()
	}
}

// add adds a run.
func (r *recovered) add(found *run, at segment) {
	id, err := engram.Parse(found.entity)
	if err != nil || id.Level() != engram.LevelEntity || len(found.versions) == 0 {
		return
	}
	e := r.entities[found.entity]
	if e == nil {
		e = &recoveredEntity{Entity: Entity{ID: id}, chunks: map[int64]bool{}}
		r.entities[found.entity] = e
	}
	if ch := r.channels[found.channel]; ch != nil {
		e.Type, e.Codec = ch.Metadata["type"], ch.Metadata["codec"]
	}
	b := &blockRef{Block: blockOf(found.versions), segments: []segment{at}}
	e.blocks = appendBlock(e.blocks, b)
	e.Span, e.Arrived = union(e.Span, b.Span), union(e.Arrived, b.Arrived)
	if e.Snapshots == 0 {
		e.Span, e.Arrived = b.Span, b.Arrived
	}
	e.Snapshots += uint64(b.Count)
	for _, v := range found.versions[found.inForce:] {
		if !Timeless(v.Time) {
			e.Recorded = extend(e.Recorded, v.Time)
		}
	}
	e.InForce += uint64(found.inForce)
	e.Bytes += int64(found.length)
	if chunk := at.chunk - int64(found.chunkBack); !e.chunks[chunk] {
		e.chunks[chunk] = true
		e.Chunks++
	}
}

// summary returns what the end of the file would tell, and the blocks of each entity, in
// the same order.
func (r *recovered) summary() (*summary, []*blockTable) {
	s := &summary{info: r.info, schemas: r.schemas, channels: r.channels, attach: r.attach, meta: r.meta}
	list := slices.SortedFunc(maps.Values(r.entities), func(a, b *recoveredEntity) int { return a.ID.Compare(b.ID) })
	s.info.Snapshots, s.info.InForce, s.info.Messages, s.info.Recorded = 0, 0, 0, engram.Interval{}
	var tables []*blockTable
	for i, e := range list {
		e.Times = timesOf(e.blocks)
		s.entities = append(s.entities, dirEntity{Entity: e.Entity, number: int64(i)})
		tables = append(tables, newBlockTable(e.blocks))
		if i == 0 {
			s.info.Span, s.info.Arrived = e.Span, e.Arrived
		}
		s.info.Span, s.info.Arrived = union(s.info.Span, e.Span), union(s.info.Arrived, e.Arrived)
		s.info.Recorded = union(s.info.Recorded, e.Recorded)
		s.info.Snapshots += e.Snapshots
		s.info.InForce += e.InForce
		s.info.Messages += e.Snapshots // at least
	}
	return s, tables
}

// damage says in words what is wrong, because of the error that had the file looked through.
func (r *recovered) damage(cause error) *Damage {
	have := uint64(0)
	for _, e := range r.entities {
		have += e.Snapshots
	}
	d := &Damage{Why: cause.Error(), Lost: r.sealed - min(have, r.sealed), Known: r.sealed > 0 || r.ended && len(r.scan.problems) == 0}
	slices.SortStableFunc(r.scan.problems, func(a, b Problem) int { return cmp.Compare(a.Offset, b.Offset) })
	if n := len(r.scan.problems); n > 0 {
		d.Why += fmt.Sprintf("; %s", r.scan.problems[0].What)
		if n > 1 {
			d.Why += fmt.Sprintf(", and %d more", n-1)
		}
	}
	return d
}
