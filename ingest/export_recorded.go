package ingest

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// recordedBatch is a snapshot of what was recorded.
type recordedBatch struct {
	id     engram.ID
	at     engram.Time
	log    engram.Time // of its first message
	number uint64
	read   *recorded // nil: it is to be read again
}

// maxKept bounds what is remembered of what was recorded, in bytes.
const maxKept = 64 << 20

// survey finds what recordings tell of what is asked for.
func (x *rosExporter) survey() error {
	x.covered = map[engram.ID][]engram.Interval{}
	all := x.o
	defer func() { x.o = all }()
	x.o.Patterns = recordedPatterns(all.Patterns)
	bytes := 0
	seen := map[engram.ID]bool{} // by several patterns
	err := x.query(engram.All(), true, func(item engram.Item) error {
		r, err := decodeRecorded(item.Instances[0].Payload.Bytes)
		if err != nil {
			return err
		}
		if len(r.messages) == 0 || !isROS(&r.channel) || seen[item.ID] {
			return nil
		}
		seen[item.ID] = true
		wanted := x.whole
		for i, id := range r.entities {
			if !x.matches(id) {
				continue
			}
			wanted = true
			span := engram.Interval{Start: engram.MaxTime, End: engram.MinTime}
			for _, m := range r.messages {
				for _, p := range m.parts {
					if p.entity == i {
						span.Start, span.End = min(span.Start, p.time), max(span.End, p.time+1)
					}
				}
			}
			if !span.Empty() {
				x.covered[id] = append(x.covered[id], span)
			}
		}
		if wanted || x.matches(item.ID.Truncate(engram.LevelEntity)) {
			m := r.messages[0]
			b := recordedBatch{id: item.ID.Truncate(engram.LevelEntity), at: item.Time, log: m.log, number: m.number}
			if bytes += 4 * item.Size(); bytes < maxKept {
				b.read = r
			}
			x.batches = append(x.batches, b)
		}
		return nil
	})
	if code := engram.CodeOf(err); err != nil && code != engram.NotFound && code != engram.Forbidden { // who may not see it has it made of payloads
		return err
	}
	slices.SortFunc(x.batches, func(a, b recordedBatch) int {
		return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.number, b.number))
	})
	for id, spans := range x.covered {
		slices.SortFunc(spans, func(a, b engram.Interval) int { return cmp.Compare(a.Start, b.Start) })
		merged := spans[:1]
		for _, s := range spans[1:] {
			if last := &merged[len(merged)-1]; s.Start <= last.End {
				last.End = max(last.End, s.End)
			} else {
				merged = append(merged, s)
			}
		}
		x.covered[id] = merged
	}
	return nil
}

// recordedPatterns returns patterns of what is noted of the sources that patterns are about.
func recordedPatterns(of []engram.Pattern) []engram.Pattern {
	all := engram.PatternOf(recordedSegment)
	var out []engram.Pattern
	for _, p := range of {
		if len(p.Levels) < int(engram.LevelProviderSegment) {
			return []engram.Pattern{all}
		}
		provider := p.Levels[engram.LevelProviderSegment-1]
		out = append(out, engram.Pattern{Levels: append(slices.Clone(all.Levels), provider)})
	}
	return out
}

func isROS(c *recording.Channel) bool { return c.Encoding == "ros1" || c.Encoding == "cdr" }

// isCovered reports whether recordings tell of a snapshot.
func (x *rosExporter) isCovered(entity engram.ID, at engram.Time) bool {
	return slices.ContainsFunc(x.covered[entity], func(iv engram.Interval) bool { return iv.Start <= at && at < iv.End })
}

// cursor gives the messages of a batch.
type cursor struct {
	*recorded
	next     int
	out      *rosOut
	plan     *rosmsg.Plan
	wire     rosmsg.Wire
	payloads map[recordedPart]engram.Item
	made     [][]byte
}

func (c *cursor) head() *recordedMessage { return &c.messages[c.next] }

// cursorHeap has the cursor with the earliest message first.
type cursorHeap []*cursor

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h cursorHeap) Len() int { return len(h) }
func (h cursorHeap) Less(i, j int) bool {
	a, b := h[i].head(), h[j].head()
	return a.log < b.log || a.log == b.log && a.number < b.number
}
func (h cursorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(c any)   { *h = append(*h, c.(*cursor)) }
func (h *cursorHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}

// advance goes on to the next message of the first cursor.
func (h *cursorHeap) advance() {
	c := (*h)[0]
	if c.next++; c.next == len(c.messages) {
		heap.Pop(h)
	} else {
		heap.Fix(h, 0)
	}
}

// open reads a batch with the payloads that its messages were made into.
func (x *rosExporter) open(b recordedBatch) error {
	r := b.read
	if r == nil {
		var item *engram.Item
		err := x.fetch(b.id, engram.Interval{Start: b.at, End: b.at + 1}, func(it engram.Item) { item = &it })
		if err != nil || item == nil {
			return err
		}
		if r, err = decodeRecorded(item.Instances[0].Payload.Bytes); err != nil {
			return err
		}
	}
	c := &cursor{recorded: r, payloads: map[recordedPart]engram.Item{}}
	for i, id := range r.entities {
		iv := engram.Interval{Start: engram.MaxTime, End: engram.MinTime}
		for _, m := range r.messages {
			for _, p := range m.parts {
				if p.entity == i {
					iv.Start, iv.End = min(iv.Start, p.time), max(iv.End, p.time+1)
				}
			}
		}
		if iv.Empty() {
			continue
		}
		if err := x.fetch(id, iv, func(it engram.Item) { c.payloads[recordedPart{i, it.Time}] = it }); err != nil {
			return err
		}
	}
	r.messages = slices.DeleteFunc(r.messages, func(m recordedMessage) bool { return !x.asked(b.id, r, &m) })
	if len(r.messages) == 0 {
		return nil
	}
	c.out = x.out(&r.channel)
	c.wire = c.out.wire
	if err := c.compile(&x.exporter); err != nil {
		c.out.topic.note("the messages are made of what the memory holds, since their rule cannot be read: " + err.Error())
	}
	heap.Push(&x.cursors, c)
	return nil
}

// asked reports whether a message is of what is exported. One of which nothing was made is if
// what is noted of it is.
func (x *rosExporter) asked(noted engram.ID, r *recorded, m *recordedMessage) bool {
	if len(m.parts) == 0 {
		return x.matches(noted) && x.o.Span.Contains(m.log)
	}
	return slices.ContainsFunc(m.parts, func(p recordedPart) bool { return x.o.Span.Contains(p.time) && x.matches(r.entities[p.entity]) })
}

// fetch calls each with the snapshots of an entity in a span of time.
func (x *rosExporter) fetch(id engram.ID, iv engram.Interval, each func(engram.Item)) error {
	q := engram.SelectID(id, engram.In(iv))
	q.Target = x.o.Target
	err := x.src.QueryParts(x.ctx, q, func(r *engram.Result) error {
		for _, m := range r.Missing {
			x.miss(m)
		}
		for item := range r.All() {
			each(item)
		}
		return nil
	})
	if engram.CodeOf(err) == engram.NotFound {
		return nil
	}
	return err
}

// compile makes the plan by which the payloads were made.
func (c *cursor) compile(x *exporter) error {
	if c.payload == "" || c.payload == engram.ValueType || c.out.from == nil {
		return nil
	}
	if _, err := x.typeOf(c.payload); err != nil {
		return err
	}
	t, _ := x.types.Get(c.payload)
	var rule recordedRule
	if c.rule != "" {
		if err := json.Unmarshal([]byte(c.rule), &rule); err != nil {
			return err
		}
	}
	var err error
	c.plan, err = planOf(c.out.from, t, rule.rule())
	return err
}

// recorded writes a message as it was recorded.
func (x *rosExporter) recorded(c *cursor, m *recordedMessage) error {
	t := c.out.topic
	c.made = c.made[:0]
	var first engram.Item
	for _, p := range m.parts {
		item, ok := c.payloads[p]
		if !ok {
			t.Gone++
			return nil
		}
		if len(c.made) == 0 {
			first = item
		}
		c.made = append(c.made, item.Instances[0].Payload.Bytes)
	}
	var made []byte
	var err error
	if len(c.made) > 0 {
		switch typ := first.Instances[0].Payload.Type; {
		case typ != c.payload: // it was stored as another type
		case c.plan != nil:
			made, err = x.enc.Encode(c.plan, rosmsg.Form{Wire: c.wire, Big: isBig(m.patch)}, m.parts[0].time, c.made...)
		default:
			made = madeOther(typ, c.made[0])
		}
	}
	raw, ok := x.raw, false
	if err == nil {
		raw, ok = applyPatch(x.raw[:0], made, m.patch)
	}
	ok = ok && checksum(raw) == m.crc
	switch {
	case ok:
		x.raw = raw
	case len(c.made) > 0 && typeOfPayload(first) != c.payload:
		return x.changed(c, m, first)
	case made != nil:
		raw = made
		t.Changed++
	default:
		t.LeftOut++
		t.note("what the memory holds of some messages cannot be written as such")
		return nil
	}
	return x.emit(c.out, recording.Message{LogTime: m.log, PublishTime: m.publish, Sequence: m.sequence, Data: raw}, ok)
}

func typeOfPayload(it engram.Item) string { return it.Instances[0].Payload.Type }

// changed writes what became of a message that is stored as another type.
func (x *rosExporter) changed(c *cursor, m *recordedMessage, item engram.Item) error {
	in := item.Instances[0].Payload
	o, err := x.ownTopic(item.ID.Truncate(engram.LevelEntity), 0, in.Type, corresponding(in.Type, in.Bytes)[0])
	if err != nil {
		return err
	}
	c.out.topic.Changed++
	if o.plan == nil || c.out.out == nil || o.channel.Type != c.out.out.Type {
		c.out.topic.LeftOut++
		return nil
	}
	data, err := x.enc.Encode(o.plan, rosmsg.Form{Wire: o.wire}, item.Time, in.Bytes)
	if err != nil {
		return err
	}
	return x.put(c.out.topic, &recording.Message{Channel: c.out.out, LogTime: m.log, PublishTime: m.publish, Sequence: m.sequence, Data: data})
}

// rosOut is a recorded channel as it is written.
type rosOut struct {
	from    *rosmsg.Definition // nil if there is none that can be read
	wire    rosmsg.Wire
	out     *recording.Channel // nil if it cannot be written
	convert *rosmsg.Converter  // nil: as they are
	topic   *ROSTopic
}

// out returns how a recorded channel is written.
func (x *rosExporter) out(c *recording.Channel) *rosOut {
	key := strings.Join([]string{c.Topic, c.Type, c.Encoding, c.SchemaEncoding, string(c.Schema), metadataText(c.Metadata)}, "\x00")
	if o := x.outs[key]; o != nil {
		return o
	}
	o := &rosOut{}
	x.outs[key] = o
	version := rosmsg.ROS2
	if c.Encoding == "ros1" {
		version = rosmsg.ROS1
	}
	if s, err := sourceOf(c); err == nil {
		if ros, ok := s.(*rosSource); ok {
			o.from = ros.definition
		}
	}
	if version == rosmsg.ROS2 {
		o.wire = rosmsg.WireCDR
	}
	if version == x.version {
		same := *c
		if o.from != nil && len(c.Schema) == 0 {
			same.SchemaEncoding, same.Schema = version.Format(), []byte(o.from.Text)
		}
		if version == rosmsg.ROS1 && o.from != nil && same.Metadata["md5sum"] == "" {
			same.Metadata = withEntry(same.Metadata, "md5sum", rosmsg.MD5(o.from))
		} else if version == rosmsg.ROS1 && same.Metadata["md5sum"] == "" {
			same.Metadata = withEntry(same.Metadata, "md5sum", "*") // any
		}
		o.out, o.topic = &same, x.topic(same.Topic, same.Type)
		return o
	}
	var err error
	if o.from == nil {
		err = engram.Errorf(engram.Unsupported, c.Type, "without its definition a message of %s cannot be rewritten for the other generation", version.Format()[:4])
	} else {
		var to *rosmsg.Definition
		if to, err = o.from.In(x.version); err == nil {
			o.out = channelOf(c.Topic, to, c.Metadata)
			o.convert, err = rosmsg.NewConverter(o.from, to)
		}
	}
	if err != nil {
		o.out, o.topic = nil, x.topic(c.Topic, c.Type)
		o.topic.note(err.Error())
		return o
	}
	o.topic = x.topic(c.Topic, o.out.Type)
	return o
}

func metadataText(m map[string]string) string {
	b, _ := json.Marshal(m) // sorted, and texts have a JSON form
	return string(b)
}

func withEntry(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// emit writes a message of a recorded channel; recorded says that it is as it was recorded.
func (x *rosExporter) emit(o *rosOut, m recording.Message, recorded bool) error {
	if o.out == nil {
		o.topic.LeftOut++
		return nil
	}
	if o.convert != nil {
		data, err := o.convert.Convert(m.Data)
		if err != nil {
			o.topic.LeftOut++
			o.topic.note(err.Error())
			return nil
		}
		m.Data = data
		o.topic.Converted++
	} else if recorded {
		o.topic.Recorded++
	}
	m.Channel = o.out
	return x.put(o.topic, &m)
}

// channelOf returns the channel of a definition's messages; of the metadata of one of the other
// generation what has a meaning in both is kept.
func channelOf(topic string, d *rosmsg.Definition, from map[string]string) *recording.Channel {
	c := &recording.Channel{Topic: topic, Type: d.Root.Name, Encoding: "ros1", SchemaEncoding: d.Version.Format(), Schema: []byte(d.Text)}
	latched := from["latching"] == "1" || strings.Contains(from["offered_qos_profiles"], "durability: 1\n") || strings.Contains(from["offered_qos_profiles"], "durability: transient_local")
	if d.Version == rosmsg.ROS1 {
		c.Metadata = map[string]string{"md5sum": rosmsg.MD5(d)}
		if latched {
			c.Metadata["latching"] = "1"
		}
		return c
	}
	c.Encoding = "cdr"
	if pkg, name, ok := strings.Cut(c.Type, "/"); ok && !strings.Contains(name, "/") {
		c.Type = pkg + "/msg/" + name
	}
	c.Metadata = map[string]string{"offered_qos_profiles": ""}
	if latched {
		c.Metadata["offered_qos_profiles"] = latchedQoS
	}
	return c
}

// latchedQoS is what rosbag2 notes of a publisher that is reliable and transient local.
const latchedQoS = `- history: 3
  depth: 0
  reliability: 1
  durability: 1
  deadline:
    sec: 9223372036
    nsec: 854775807
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false
`

// planOf makes the plan from a definition to a type by a rule; members that either has not are
// left out.
func planOf(d *rosmsg.Definition, t *idf.Type, rule *Rule) (*rosmsg.Plan, error) {
	o := rosmsg.Options{Split: rule.Split}
	for from, to := range rule.Members {
		o.Members = append(o.Members, rosmsg.Member{From: from, To: to.To, Values: to.Values, Optional: true})
	}
	slices.SortFunc(o.Members, func(a, b rosmsg.Member) int { return strings.Compare(a.From, b.From) })
	return rosmsg.Compile(d, t.Descriptor(), o)
}
