package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// router finds for each message where it goes.
type router struct {
	ctx      context.Context
	dst      Destination
	mapping  *Mapping
	provider string
	file     string // the recording, as it is named in losses
	times    []TimeRule
	timed    []bool // which of these fit some topic
	probes   bool   // only times and entities are asked for, no payloads

	channels map[*recording.Channel]*channel
	topics   map[topicKey]*TopicReport
	asides   []*TopicReport       // of what is no message
	types    map[string]*idf.Type // of the destination; nil where it has none
	kept     map[keptKey]keptSegment
	damaged  []recording.Loss // definitions that cannot be read
}

type topicKey struct{ topic, typ, encoding string }

// keptKey is a message type that arrives as itself.
type keptKey struct{ rule, typ, format, schema string }

type keptSegment struct {
	core engram.ID
	typ  *idf.Type
}

// channel is what the router knows of a recording's channel.
type channel struct {
	c      *recording.Channel
	report *TopicReport
	source source // nil: the messages are not understood
	times  TimeRule
	routes []route

	probe  converter // reads the fields that rules ask about; nil if none does
	fields []string  // of probe
	unread *route    // where messages go as bytes that cannot be read; nil until there is one
}

// keepsBytes reports whether messages of the channel that cannot be read are kept as bytes: a rule
// takes all that come this far, and keeps what it takes as it is.
func (ch *channel) keepsBytes() bool {
	n := len(ch.routes)
	return n > 0 && ch.source != nil && ch.routes[n-1].rule.keepsType() && len(ch.routes[n-1].rule.When) == 0
}

// route is one rule as it applies to one channel; it is built at its first message.
type route struct {
	rule     *Rule
	built    bool
	failed   error // why the rule cannot be applied here; the next one that fits is taken
	core     engram.ID
	provider engram.ID
	edge     bool   // its entities are edges of the transform tree
	payload  string // type
	convert  converter
	name     template
	fields   []int                // which of an output's fields stand in the name, -1 for the topic
	fixed    engram.ID            // the entity, where the name has no fields
	entities map[string]engram.ID // else, by name
	key      []byte
}

// transforms is where transforms go; its entities are named by both frames.
var transforms = engram.MustID(poseMemory + "/Localization")

// maxEntities bounds the entity names remembered per route.
const maxEntities = 1 << 16

func newRouter(ctx context.Context, dst Destination, o *Options, file string) *router {
	return &router{
		ctx: ctx, dst: dst, mapping: o.Mapping, provider: o.Source, file: file, times: o.Times, timed: make([]bool, len(o.Times)),
		channels: map[*recording.Channel]*channel{}, topics: map[topicKey]*TopicReport{},
		types: map[string]*idf.Type{}, kept: map[keptKey]keptSegment{},
	}
}

// channel returns what is known of c, finding it out at the first message.
func (r *router) channel(c *recording.Channel) *channel {
	ch, ok := r.channels[c]
	if ok {
		return ch
	}
	key := topicKey{c.Topic, c.Type, c.Encoding}
	report, ok := r.topics[key]
	if !ok {
		report = &TopicReport{Topic: c.Topic, Type: c.Type, Encoding: c.Encoding}
		r.topics[key] = report
	}
	ch = &channel{c: c, report: report, times: timesOf(r.times, r.timed, c.Topic)}
	r.channels[c] = ch
	var err error
	if ch.source, err = sourceOf(c); err != nil {
		ch.source = nil
		report.note(err.Error())
		if code := engram.CodeOf(err); (code == engram.Invalid || code == engram.Corrupt) && len(r.damaged) < maxReasons {
			r.damaged = append(r.damaged, recording.Loss{File: r.file, Topics: []string{c.Topic},
				Reason: "a message definition cannot be read, so its messages are kept as bytes: " + err.Error()})
		}
	}
	asked := map[string]bool{}
	for i := range r.mapping.Rules {
		rule := &r.mapping.Rules[i]
		if !rule.fits(c.Type, c.Topic) || ch.source == nil && (len(rule.When) > 0 || !rule.keepsType() && !rule.Skip) {
			continue
		}
		ch.routes = append(ch.routes, route{rule: rule})
		for field := range rule.When {
			asked[field] = true
		}
		if len(rule.When) == 0 && (rule.Skip || rule.keepsType()) {
			break // it takes everything
		}
	}
	if len(asked) > 0 {
		ch.fields = slices.Sorted(maps.Keys(asked))
		if ch.probe, err = ch.source.probe(ch.fields, ""); err != nil {
			report.note(err.Error())
		}
	}
	return ch
}

// route returns the first route that fits a message, or nil if none does. The
// error says why the message is refused.
func (r *router) route(ch *channel, data []byte) (*route, error) {
	var values [][]byte
	if ch.probe != nil {
		outs, err := ch.probe.convert(data)
		if err != nil {
			return nil, err
		}
		if len(outs) > 0 {
			values = outs[0].fields
		}
	}
	var last *route
	for i := range ch.routes {
		rt := &ch.routes[i]
		if !ch.holds(rt.rule, values) {
			continue
		}
		if rt.failed == nil && !rt.built && !rt.rule.Skip {
			if err := r.build(ch, rt); err != nil {
				if r.ctx.Err() != nil || engram.CodeOf(err) == engram.Unavailable {
					return nil, err
				}
				rt.failed = engram.Errorf(engram.CodeOf(err), "", "not into %s: %w", rt.rule.To, err)
			}
		}
		if last != nil {
			ch.report.note(last.failed.Error()) // this rule is in its place
		}
		if rt.failed == nil {
			return rt, nil
		}
		last = rt
	}
	if last != nil {
		return nil, last.failed
	}
	return nil, nil
}

// unread returns the route of a message that cannot be read, and the message as bytes.
func (r *router) unread(ch *channel, data []byte) (*route, []output, error) {
	if ch.unread == nil {
		rt := &route{rule: &Rule{To: ch.routes[len(ch.routes)-1].rule.To}, payload: engram.ValueType, convert: &opaqueConverter{channel: ch.c}}
		id, err := r.segmentOf(ch, rt.rule)
		if err != nil {
			return nil, nil, err
		}
		// The segment of what can be read is of its type, and has no place for bytes.
		if t, err := ch.source.mirror(""); err != nil || t.Name() != engram.ValueType {
			if id, err = engram.NewID(id.Memory(), id.CoreSegment()+"_bytes"); err != nil {
				return nil, nil, err
			}
		}
		if rt.core, err = r.addSegment(id, engram.ValueType, "_as_recorded"); err != nil {
			return nil, nil, err
		}
		fields, err := rt.readName()
		if err != nil {
			return nil, nil, err
		}
		if err := r.finishRoute(ch, rt, fields); err != nil {
			return nil, nil, err
		}
		ch.unread = rt
	}
	outs, err := ch.unread.convert.convert(data)
	return ch.unread, outs, err
}

// holds reports whether the fields have the values that the rule asks for.
func (ch *channel) holds(rule *Rule, values [][]byte) bool {
	for field, globs := range rule.When {
		i := slices.Index(ch.fields, field)
		if i >= len(values) || !anyGlob(globs, string(values[i])) {
			return false
		}
	}
	return true
}

// readName reads how the rule names entities, and returns the fields of the message that it names.
func (rt *route) readName() (fields []string, err error) {
	if rt.name, err = parseTemplate(rt.rule.entity()); err != nil {
		return nil, err
	}
	for _, f := range rt.name.fields {
		if f == "topic" {
			rt.fields = append(rt.fields, -1)
			continue
		}
		rt.fields = append(rt.fields, len(fields))
		fields = append(fields, f)
	}
	return fields, nil
}

// build makes the route's target known and compiles its conversion.
func (r *router) build(ch *channel, rt *route) error {
	fields, err := rt.readName()
	if err != nil {
		return err
	}
	if rt.rule.keepsType() {
		err = r.keep(ch, rt, fields)
	} else {
		err = r.into(ch, rt, fields)
	}
	if _, opaque := rt.convert.(*opaqueConverter); err == nil && r.probes && !opaque {
		rt.convert, err = ch.source.probe(fields, rt.rule.Split)
	}
	if err != nil {
		return err
	}
	return r.finishRoute(ch, rt, fields)
}

// finishRoute completes a route whose core segment is known, and whose name has these fields of
// the message.
func (r *router) finishRoute(ch *channel, rt *route, fields []string) error {
	var err error
	if rt.provider, err = rt.core.Child(r.provider); err != nil {
		return err
	}
	if len(fields) == 0 {
		if rt.fixed, err = r.entity(ch, rt, nil); err != nil {
			return err
		}
	}
	if rt.rule.Note != "" {
		ch.report.Chosen, ch.report.Otherwise = rt.rule.Note, r.mapping.otherwise(rt.rule, ch.c.Type)
	}
	rt.entities = map[string]engram.ID{}
	rt.edge = rt.core == transforms && len(fields) > 0
	rt.built = true
	ch.report.target(rt.core)
	return nil
}

// into prepares a route into a core segment that exists.
func (r *router) into(ch *channel, rt *route, fields []string) error {
	id, err := engram.Parse(rt.rule.To)
	if err != nil {
		return err
	}
	d, err := r.describe(id)
	if err != nil {
		return err
	}
	if d == nil {
		return engram.Errorf(engram.NotFound, id.String(), "there is no such core segment")
	}
	names := rt.rule.As
	if len(names) == 0 {
		names = Texts{d.Type}
	}
	var target *idf.Type
	for _, name := range names {
		if target, err = r.typ(name); err != nil {
			return err
		}
		if target != nil {
			break
		}
	}
	if target == nil {
		return engram.Errorf(engram.NotFound, id.String(), "the memory does not know the type %s", strings.Join(names, " or "))
	}
	rt.core, rt.payload = id, target.Name()
	rt.convert, err = ch.source.convert(target, rt.rule, fields)
	return err
}

// keep prepares a route on which messages keep their type.
func (r *router) keep(ch *channel, rt *route, fields []string) error {
	id, err := r.segmentOf(ch, rt.rule)
	if err != nil {
		return err
	}
	key := keptKey{rt.rule.To, ch.c.Type, ch.c.Encoding + " " + ch.c.SchemaEncoding, string(ch.c.Schema)}
	kept, ok := r.kept[key]
	if !ok {
		if kept, err = r.addKept(ch, id); err != nil {
			return err
		}
		r.kept[key] = kept
	}
	rt.core = kept.core
	if kept.typ == nil {
		rt.payload, rt.convert = engram.ValueType, &opaqueConverter{channel: ch.c}
		return nil
	}
	rt.payload = kept.typ.Name()
	rt.convert, err = ch.source.convert(kept.typ, nil, fields)
	return err
}

// segmentOf returns the core segment of a channel's messages by a rule that keeps their type.
func (r *router) segmentOf(ch *channel, rule *Rule) (engram.ID, error) {
	name := cmp.Or(ch.c.Type, ch.c.Encoding, "unknown")
	memory, segment, _ := strings.Cut(rule.To, "/")
	return engram.NewID(memory, strings.ReplaceAll(segment, "{type}", name))
}

// addKept makes a message type known and adds its core segment. Where the type's
// or the segment's name is taken by another definition, a hash of the definition
// tells them apart.
func (r *router) addKept(ch *channel, id engram.ID) (keptSegment, error) {
	sum := sha256.Sum256(append([]byte(ch.c.SchemaEncoding+"\x00"+ch.c.Type+"\x00"), ch.c.Schema...))
	suffix := "_" + hex.EncodeToString(sum[:4])
	t, err := r.addMirror(ch, suffix)
	if err != nil {
		if r.ctx.Err() != nil || engram.CodeOf(err) == engram.Unavailable {
			return keptSegment{}, err
		}
		ch.report.note("kept as bytes: " + err.Error())
		t = nil
	}
	typeName := engram.ValueType
	if t != nil {
		typeName = t.Name()
	}
	core, err := r.addSegment(id, typeName, suffix)
	return keptSegment{core, t}, err
}

// addSegment adds the core segment of that name and type where there is none that takes the type, and
// returns it. Where the name is taken by another type, the suffix tells them apart.
func (r *router) addSegment(id engram.ID, typeName, suffix string) (engram.ID, error) {
	for _, end := range []string{"", suffix} {
		core, err := engram.NewID(id.Memory(), id.CoreSegment()+end)
		if err != nil {
			return core, err
		}
		d, err := r.describe(core)
		if err != nil {
			return core, err
		}
		if d == nil {
			err := r.dst.AddCoreSegment(r.ctx, engram.CoreSegment{ID: core, Type: typeName})
			if err == nil {
				return core, nil
			}
			if !errors.Is(err, engram.AlreadyExists) {
				return core, err
			}
			if d, err = r.describe(core); err != nil || d == nil {
				return core, err
			}
		}
		if d.Type == typeName || d.Type == engram.ValueType {
			return core, nil
		}
	}
	return id, engram.Errorf(engram.AlreadyExists, id.String(), "the core segment and the one with the suffix %s exist with other types", suffix)
}

// addMirror makes the type known that the channel's messages keep; nil if they are
// not understood.
func (r *router) addMirror(ch *channel, suffix string) (*idf.Type, error) {
	if ch.source == nil {
		return nil, nil
	}
	for _, end := range []string{"", suffix} {
		t, err := ch.source.mirror(end)
		if err != nil {
			return nil, err
		}
		err = r.dst.AddType(r.ctx, t.Def())
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, engram.AlreadyExists) {
			return nil, err
		}
	}
	return nil, engram.Errorf(engram.AlreadyExists, ch.c.Type, "types of this name are known with other members, even with the suffix %s", suffix)
}

// describe returns a core segment's description, or nil if there is none.
func (r *router) describe(id engram.ID) (*engram.Description, error) {
	ds, err := r.dst.Describe(r.ctx, engram.PatternOf(id))
	if err != nil {
		return nil, err
	}
	for i := range ds {
		if ds[i].ID == id {
			return &ds[i], nil
		}
	}
	return nil, nil
}

// typ returns a type that the destination knows, or nil.
func (r *router) typ(name string) (*idf.Type, error) {
	if t, ok := r.types[name]; ok {
		return t, nil
	}
	def, err := r.dst.Type(r.ctx, name)
	if errors.Is(err, engram.NotFound) {
		r.types[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	r.types[name] = t
	return t, nil
}

// entity returns the ID of the entity that an output belongs to.
func (r *router) entity(ch *channel, rt *route, fields [][]byte) (engram.ID, error) {
	if !rt.fixed.IsRoot() {
		return rt.fixed, nil
	}
	rt.key = rt.key[:0]
	for i, f := range rt.fields {
		rt.key = append(rt.key, rt.name.literals[i]...)
		switch {
		case f < 0:
			rt.key = append(rt.key, ch.c.Topic...)
		case f < len(fields):
			rt.key = append(rt.key, fields[f]...)
		}
	}
	rt.key = append(rt.key, rt.name.literals[len(rt.fields)]...)
	if id, ok := rt.entities[string(rt.key)]; ok {
		return id, nil
	}
	id, err := rt.provider.Child(string(bytes.ToValidUTF8(rt.key, []byte("\uFFFD"))))
	if err == nil && rt.entities != nil && len(rt.entities) < maxEntities {
		rt.entities[string(rt.key)] = id
	}
	return id, err
}
