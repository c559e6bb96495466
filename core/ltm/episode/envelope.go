package episode

import (
	"math"
	"slices"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	ltmv1 "github.com/seed-301d4374/engram/gen/engram/ltm/v1"
)

// maxRunInstances bounds the instances that an envelope may claim.
const maxRunInstances = 2 << 20

// run is a run of messages as its envelope describes it.
type run struct {
	entity    string
	chunkBack uint64 // from the envelope's chunk to the messages'
	chunkLen  uint64
	offset    uint64 // in the chunk's records
	length    uint64
	messages  int
	channel   uint16
	versions  []*engram.Snapshot // as completed; nil if columns serve instead
	columns   *columns           // of an envelope that was read: versions without payloads
	inForce   int
	form      []messageForm // of each message; nil for plain form
	gaps      []uint32      // bytes of other records before each message; nil: none
}

// cut returns the content of message k, given the chunk's records from the end of
// message k-1 on, and what follows it.
func (r *run) cut(b []byte, k int) (content, rest []byte, ok bool) {
	if r.gaps != nil {
		if uint64(r.gaps[k]) > uint64(len(b)) {
			return nil, nil, false
		}
		b = b[r.gaps[k]:]
	}
	op, content, rest, ok := cutRecord(b)
	return content, rest, ok && op == mcap.OpMessage && len(content) >= messageHead
}

// messageForm says what a coded message is good for.
type messageForm struct {
	completes uint32
	instance  uint32
	key       bool
}

// each calls visit with each message: its place, where its record begins in b, the
// chunk's records from the first one to the last, and its content; false if b does not
// hold them exactly.
func (r *run) each(b []byte, visit func(k, at int, content []byte)) bool {
	rest := b
	for k := range r.messages {
		content, after, ok := r.cut(rest, k)
		if !ok {
			return false
		}
		visit(k, len(b)-len(after)-len(content)-recordHead, content)
		rest = after
	}
	return len(rest) == 0
}

// encode returns the envelope as a message.
func (r *run) encode() ([]byte, error) {
	n := len(r.versions)
	e := &ltmv1.Envelope{
		Entity: r.entity, ChunkBack: r.chunkBack, ChunkLength: r.chunkLen, Offset: r.offset, Length: r.length,
		Messages: uint32(r.messages), Channel: uint32(r.channel), InForce: uint32(r.inForce),
		Time: make([]int64, n), Arrived: make([]int64, n), Number: make([]int64, n),
	}
	var last engram.Snapshot
	several, sent, unsent, unsure, mixed := false, false, false, false, false
	for i, s := range r.versions {
		e.Time[i] = int64(s.Time - last.Time)
		e.Arrived[i] = int64(s.Arrived - last.Arrived)
		e.Number[i] = int64(s.Number - last.Number)
		last = *s
		several = several || len(s.Instances) != 1
		for j := range s.Instances {
			in := &s.Instances[j]
			sent = sent || in.Sent != s.Arrived
			unsent = unsent || !in.HasSent
			unsure = unsure || in.Confidence != 1
			if k := slices.Index(e.Types, in.Payload.Type); k != 0 {
				mixed = mixed || k > 0 || len(e.Types) > 0
				if k < 0 {
					e.Types = append(e.Types, in.Payload.Type)
				}
			}
		}
	}
	for _, s := range r.versions {
		if several {
			e.Instances = append(e.Instances, uint32(len(s.Instances)))
		}
		for j := range s.Instances {
			in := &s.Instances[j]
			if sent {
				e.Sent = append(e.Sent, int64(s.Arrived-in.Sent))
			}
			if unsent {
				e.Unsent = append(e.Unsent, !in.HasSent)
			}
			if unsure {
				e.Confidence = append(e.Confidence, in.Confidence)
			}
			if mixed {
				e.Type = append(e.Type, uint32(slices.Index(e.Types, in.Payload.Type)))
			}
		}
	}
	if slices.ContainsFunc(r.gaps, func(n uint32) bool { return n > 0 }) {
		e.Gap = r.gaps
	}
	for _, f := range r.form {
		e.Completes = append(e.Completes, f.completes)
		e.Key = append(e.Key, f.key)
		e.Instance = append(e.Instance, f.instance)
	}
	return proto.Marshal(e)
}

// parseRun reads an envelope with its versions as snapshots.
func parseRun(b []byte) (*run, error) {
	r, err := parseEnvelope(b)
	if err != nil {
		return nil, err
	}
	r.versions = r.columns.snapshots(0, r.columns.n)
	return r, nil
}

// parseEnvelope reads an envelope and checks that its columns fit each other.
func parseEnvelope(b []byte) (*run, error) {
	var e ltmv1.Envelope
	if err := proto.Unmarshal(b, &e); err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "an envelope cannot be read: %w", err)
	}
	corrupt := func(what string, n, want int) error {
		return engram.Errorf(engram.Corrupt, e.Entity, "its envelope has %d %s; %d are needed", n, what, want)
	}
	n := len(e.Time)
	switch {
	case len(e.Arrived) != n:
		return nil, corrupt("times of arrival", len(e.Arrived), n)
	case len(e.Number) != n:
		return nil, corrupt("numbers", len(e.Number), n)
	case len(e.Instances) != 0 && len(e.Instances) != n:
		return nil, corrupt("counts of instances", len(e.Instances), n)
	case int(e.InForce) > n:
		return nil, corrupt("versions in force", int(e.InForce), n)
	case e.Channel > 0xffff || e.Length > maxChunk || e.Offset > maxChunk || e.ChunkLength > maxChunk+1<<20:
		return nil, engram.Errorf(engram.Corrupt, e.Entity, "its envelope tells of a place or a channel that cannot be")
	}
	c := &columns{n: n, types: e.Types, sorted: true}
	instances := n
	if len(e.Instances) > 0 {
		starts := make([]int64, n+1)
		instances = 0
		for i, k := range e.Instances {
			if instances += int(k); k == 0 || instances > maxRunInstances {
				return nil, corrupt("instances", instances, n)
			}
			starts[i+1] = int64(instances)
		}
		c.several, c.starts = true, pack(starts)
	}
	for what, k := range map[string]int{"times sent": len(e.Sent), "flags of times sent": len(e.Unsent), "confidences": len(e.Confidence), "types": len(e.Type)} {
		if k != 0 && k != instances {
			return nil, corrupt(what, k, instances)
		}
	}
	r := &run{
		entity: e.Entity, chunkBack: e.ChunkBack, chunkLen: e.ChunkLength, offset: e.Offset, length: e.Length,
		messages: int(e.Messages), channel: uint16(e.Channel), inForce: int(e.InForce), columns: c,
	}
	if err := r.setForm(&e, n, instances); err != nil {
		return nil, err
	}
	if len(e.Gap) > 0 {
		if len(e.Gap) != r.messages {
			return nil, corrupt("gaps between messages", len(e.Gap), r.messages)
		}
		r.gaps = e.Gap
	}
	if n > 0 && len(e.Types) == 0 {
		return nil, corrupt("types of payloads", 0, 1)
	}
	for i := range n {
		if i > 0 {
			e.Time[i] += e.Time[i-1]
			e.Arrived[i] += e.Arrived[i-1]
			e.Number[i] += e.Number[i-1]
			c.sorted = c.sorted && (e.Time[i-1] < e.Time[i] || e.Time[i-1] == e.Time[i] && e.Arrived[i-1] <= e.Arrived[i])
		}
		if engram.Time(e.Time[i]) == engram.MaxTime {
			return nil, engram.Errorf(engram.Corrupt, e.Entity, "its envelope has a version at the end of time")
		}
	}
	c.time, c.arrived, c.number, c.early = pack(e.Time), pack(e.Arrived), pack(e.Number), pack(e.Sent)
	c.confidence = column{base: int64(math.Float32bits(1))}
	scratch := make([]int64, 0, max(len(e.Unsent), len(e.Confidence), len(e.Type)))
	if len(e.Unsent) > 0 {
		for _, unsent := range e.Unsent {
			v := int64(0)
			if unsent {
				v = 1
			}
			scratch = append(scratch, v)
		}
		c.unsent, scratch = pack(scratch), scratch[:0]
	}
	if len(e.Confidence) > 0 {
		for _, v := range e.Confidence {
			scratch = append(scratch, int64(math.Float32bits(v)))
		}
		c.confidence, scratch = pack(scratch), scratch[:0]
	}
	for _, t := range e.Type {
		if int(t) >= len(e.Types) {
			return nil, corrupt("types of payloads", len(e.Types), int(t)+1)
		}
		scratch = append(scratch, int64(t))
	}
	c.of = pack(scratch)
	return r, nil
}

func (r *run) setForm(e *ltmv1.Envelope, versions, instances int) error {
	if len(e.Completes) == 0 {
		if r.messages != instances || len(e.Key) > 0 || len(e.Instance) > 0 {
			return engram.Errorf(engram.Corrupt, e.Entity, "its envelope tells of %d messages for %d instances", r.messages, instances)
		}
		return nil
	}
	if len(e.Completes) != r.messages || len(e.Key) != r.messages || len(e.Instance) != r.messages {
		return engram.Errorf(engram.Corrupt, e.Entity, "its envelope tells of %d messages and describes %d", r.messages, len(e.Completes))
	}
	r.form = make([]messageForm, r.messages)
	sum := 0
	for i := range r.form {
		r.form[i] = messageForm{e.Completes[i], e.Instance[i], e.Key[i]}
		sum += int(e.Completes[i])
	}
	if sum != versions {
		return engram.Errorf(engram.Corrupt, e.Entity, "its envelope has %d versions; its messages complete %d", versions, sum)
	}
	return nil
}

// compareVersions orders versions by time, those of one time by arrival.
func compareVersions(a, b *engram.Snapshot) int {
	switch {
	case a.Time != b.Time:
		if a.Time < b.Time {
			return -1
		}
		return 1
	case a.Arrived != b.Arrived:
		if a.Arrived < b.Arrived {
			return -1
		}
		return 1
	}
	return 0
}

// extend returns the interval that also contains t; the zero interval contains none.
func extend(iv engram.Interval, t engram.Time) engram.Interval {
	if iv.Empty() {
		return engram.Interval{Start: t, End: t.Add(1)}
	}
	return engram.Interval{Start: min(iv.Start, t), End: max(iv.End, t.Add(1))}
}

// union returns the interval that contains both.
func union(a, b engram.Interval) engram.Interval {
	if a.Empty() {
		return b
	}
	if b.Empty() {
		return a
	}
	return engram.Interval{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}
