package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// hasIdentity reports whether a recording has channels of episodes, as files have that
// another program made of exports.
func hasIdentity(path string) bool {
	rec, err := recording.Open(path)
	if err != nil {
		return false
	}
	defer rec.Close()
	return slices.ContainsFunc(recording.Channels(rec), func(c *recording.Channel) bool {
		_, ok := episode.IdentityOf(c.Topic, c.Metadata)
		return ok
	})
}

// restorer makes the snapshots that episodes held of the messages of their channels, in a
// file that another program has written: under their IDs, with their times.
type restorer struct {
	ctx      context.Context
	dst      Destination
	out      *sender
	sources  map[string]engram.TypeDef          // how types were written, by name
	told     map[engram.ID][]toldVersion        // what envelopes tell, sorted
	channels map[*recording.Channel]*ownChannel // nil for those of others
	entities map[engram.ID]*ownEntity
	asides   map[string]bool // names of attachments and metadata among what is restored
	waiting  []*ownEntity    // whose snapshot may have further instances
	log      engram.Time     // of these
}

// toldVersion is what an envelope tells of a version beyond its message.
type toldVersion struct {
	time, arrived engram.Time
	instances     []engram.Instance // without payloads
}

func (v toldVersion) compare(w toldVersion) int {
	return cmp.Or(cmp.Compare(v.time, w.time), cmp.Compare(v.arrived, w.arrived))
}

// ownChannel is a channel of an episode.
type ownChannel struct {
	episode.Identity
	report *TopicReport
	typ    string // of its messages
	entity *ownEntity
}

// ownEntity is an entity of the channels, and its snapshot that is being put together.
type ownEntity struct {
	id            engram.ID
	report        *TopicReport
	time, arrived engram.Time
	instances     []engram.Instance
	expected      int                     // instances; 0: not known
	done          map[[2]engram.Time]bool // versions of the log time that were given on
}

// newRestorer reads what the envelopes of the recording at path tell.
func newRestorer(ctx context.Context, dst Destination, path string) (*restorer, error) {
	rec, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	r := &restorer{
		ctx: ctx, dst: dst, sources: map[string]engram.TypeDef{}, told: map[engram.ID][]toldVersion{},
		channels: map[*recording.Channel]*ownChannel{}, entities: map[engram.ID]*ownEntity{}, asides: map[string]bool{},
	}
	for _, a := range recording.Asides(rec) {
		if name, source, format, ok := episode.SourceOf(a.Name, a.Metadata); ok {
			r.sources[name] = engram.TypeDef{Source: source, Format: format}
		}
	}
	for n := 0; ; n++ {
		if n%progressEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m, err := rec.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if !episode.IsEnvelopes(m.Channel.Topic, m.Channel.Type) {
			continue
		}
		entity, versions, err := episode.ReadEnvelope(m.Data)
		if err != nil {
			continue // its versions come without what it told
		}
		for _, v := range versions {
			r.told[entity] = append(r.told[entity], toldVersion{v.Time, v.Arrived, v.Instances})
		}
	}
	for _, list := range r.told {
		slices.SortStableFunc(list, toldVersion.compare)
	}
	return r, nil
}

// take takes a message if it is of an episode's channel, or an envelope. The error ends
// the import.
func (r *restorer) take(m *recording.Message) (taken bool, err error) {
	if m.LogTime != r.log {
		if err := r.flush(); err != nil {
			return true, err
		}
		r.log = m.LogTime
	}
	if episode.IsEnvelopes(m.Channel.Topic, m.Channel.Type) {
		return true, nil
	}
	c, known := r.channels[m.Channel]
	if !known {
		if c, err = r.channel(m.Channel); err != nil {
			return true, err
		}
		r.channels[m.Channel] = c
	}
	if c == nil {
		return false, nil
	}
	c.report.Messages++
	if !c.Plain {
		r.out.refuse(c.report, engram.Errorf(engram.Unsupported, "", "it is coded, and only the episode as it was written can be decoded: import that, or export it before another program writes it anew"))
		return true, nil
	}
	payload := engram.Payload{Type: c.typ, Bytes: slices.Clone(m.Data)}
	if isAside(c.typ) {
		r.noteAside(payload)
	}
	e := c.entity
	if episode.IsFurtherInstance(m.Sequence) && len(e.instances) > 0 {
		if e.expected == 0 || len(e.instances) < e.expected { // else of a second file with the same
			e.instances = append(e.instances, engram.NewInstance(payload))
		}
		return true, nil
	}
	at := c.Time(m.LogTime)
	if len(e.instances) > 0 && e.time == at && e.arrived == m.PublishTime {
		return true, nil // the same in a second file
	}
	if err := r.end(e); err != nil {
		return true, err
	}
	e.time, e.arrived, e.expected = at, m.PublishTime, 0
	if v := r.find(e.id, at, m.PublishTime); v != nil {
		e.time, e.expected = v.time, len(v.instances)
	}
	if e.done[[2]engram.Time{e.time, e.arrived}] {
		return true, nil
	}
	e.report = c.report
	e.instances = append(make([]engram.Instance, 0, max(e.expected, 1)), engram.NewInstance(payload))
	r.waiting = append(r.waiting, e)
	return true, nil
}

// find returns what an envelope tells of a version, or nil. Times before 1970 stand as
// 1970 in the file.
func (r *restorer) find(entity engram.ID, at, arrived engram.Time) *toldVersion {
	list := r.told[entity]
	i, ok := slices.BinarySearchFunc(list, toldVersion{time: at, arrived: arrived}, toldVersion.compare)
	if ok {
		return &list[i]
	}
	if at == 0 {
		for i := range list {
			if list[i].time >= 0 {
				break
			}
			if list[i].arrived == arrived {
				return &list[i]
			}
		}
	}
	return nil
}

// end gives an entity's snapshot on.
func (r *restorer) end(e *ownEntity) error {
	if len(e.instances) == 0 {
		return nil
	}
	if v := r.find(e.id, e.time, e.arrived); v != nil && len(v.instances) == len(e.instances) {
		for i := range e.instances {
			in := &e.instances[i]
			in.Sent, in.HasSent, in.Confidence = v.instances[i].Sent, v.instances[i].HasSent, v.instances[i].Confidence
		}
	} else {
		e.report.note("when they were sent and their confidence are lost: the file lacks envelopes of the export that it was made of")
	}
	if e.done == nil {
		e.done = map[[2]engram.Time]bool{}
	}
	e.done[[2]engram.Time{e.time, e.arrived}] = true
	instances := e.instances
	e.instances = nil
	return r.out.addAll(e.report, e.id, e.time, instances)
}

// flush gives on what no further message can belong to.
func (r *restorer) flush() error {
	for _, e := range r.waiting {
		if err := r.end(e); err != nil {
			return err
		}
		e.done = nil
	}
	r.waiting = r.waiting[:0]
	return nil
}

// noteAside notes what the export that the file was made of has beside the messages, too.
func (r *restorer) noteAside(p engram.Payload) {
	def, err := r.dst.Type(r.ctx, p.Type)
	if err != nil {
		return
	}
	if t, err := idf.ParseType(def); err == nil {
		if a, _, err := decodeAside(t, p.Bytes); err == nil {
			r.asides[a.Name] = true
		}
	}
}

// channel finds out whether a channel is an episode's, and makes its type and its
// segments known. The error ends the import.
func (r *restorer) channel(c *recording.Channel) (*ownChannel, error) {
	id, ok := episode.IdentityOf(c.Topic, c.Metadata)
	if !ok {
		return nil, nil
	}
	own := &ownChannel{Identity: id, typ: c.Type}
	if own.entity = r.entities[id.Entity]; own.entity == nil {
		own.entity = &ownEntity{id: id.Entity, report: &TopicReport{Topic: c.Topic, Type: id.Type, Encoding: c.Encoding}}
		own.entity.report.target(id.Entity.Truncate(engram.LevelCoreSegment))
		r.entities[id.Entity] = own.entity
	}
	own.report = own.entity.report
	if !id.Plain {
		return own, nil
	}
	def := r.sources[c.Type]
	def.Name, def.Descriptors = c.Type, c.Schema
	if err := r.dst.AddType(r.ctx, def); fatal(err) {
		return nil, err
	}
	var who channelIdentity
	if id.Segment == "" || json.Unmarshal([]byte(id.Segment), &who) != nil {
		core := id.Entity.Truncate(engram.LevelCoreSegment)
		return own, addSegment(r.ctx, r.dst, exportedSegment{ID: core, Type: id.Type})
	}
	if len(who.CoreType) > 0 {
		if err := r.dst.AddType(r.ctx, engram.TypeDef{Name: who.Core.Type, Descriptors: who.CoreType}); fatal(err) {
			return nil, err
		}
	}
	for _, s := range []exportedSegment{who.Core, who.Provider} {
		if s.ID.IsRoot() {
			continue
		}
		if err := addSegment(r.ctx, r.dst, s); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// importRewritten imports a file that another program made of exports: what their channels
// hold under the same IDs, what it holds of others as any recording.
func importRewritten(ctx context.Context, dst Destination, path string, o Options, began time.Time) (*Report, error) {
	own, err := newRestorer(ctx, dst, path)
	if err != nil {
		return nil, err
	}
	return importWith(ctx, dst, path, o, own, began)
}
