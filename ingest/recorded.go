package ingest

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// Where an import notes what payloads do not tell of the messages that they were made of.
const recordedType = "engram.general_purpose.Recorded"

var recordedSegment = engram.MustID("GeneralPurpose/Recorded")

// recorded is a payload of that type.
type recorded struct {
	channel  recording.Channel
	payload  string // type
	rule     string
	entities []engram.ID
	messages []recordedMessage // in the order of log times and numbers
}

// recordedMessage is what is noted of one message.
type recordedMessage struct {
	number   uint64
	log      engram.Time
	publish  engram.Time
	sequence uint32
	crc      uint32
	patch    []byte
	parts    []recordedPart
}

// recordedPart is where a message, or an element of one that is split, went.
type recordedPart struct {
	entity int // index
	time   engram.Time
}

// Members of the type, as memories/types/engram/general_purpose/Recorded.proto numbers them.
const (
	recTopic protowire.Number = 1 + iota
	recType
	recEncoding
	recSchemaEncoding
	recSchema
	recMetadata
	recPayload
	recRule
	_
	recEntities
	recNumber
	recLogTime
	recPublishTime
	recSequence
	recParts
	recCRC
	recPatch
	_
	_
	recPartEntity
	recPartTime
)

// encode returns the payload.
func (r *recorded) encode() []byte {
	var b []byte
	text := func(num protowire.Number, s string) {
		if s != "" {
			b = protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
		}
	}
	c := &r.channel
	text(recTopic, c.Topic)
	text(recType, c.Type)
	text(recEncoding, c.Encoding)
	text(recSchemaEncoding, c.SchemaEncoding)
	text(recSchema, string(c.Schema))
	for _, k := range slices.Sorted(maps.Keys(c.Metadata)) {
		var entry []byte
		entry = protowire.AppendString(protowire.AppendTag(entry, 1, protowire.BytesType), k)
		entry = protowire.AppendString(protowire.AppendTag(entry, 2, protowire.BytesType), c.Metadata[k])
		text(recMetadata, string(entry))
	}
	text(recPayload, r.payload)
	text(recRule, r.rule)
	for _, id := range r.entities {
		text(recEntities, id.String())
	}
	columns := map[protowire.Number][]byte{}
	put := func(num protowire.Number, v uint64) { columns[num] = protowire.AppendVarint(columns[num], v) }
	var last recordedMessage
	for i := range r.messages {
		m := &r.messages[i]
		put(recNumber, m.number-last.number)
		put(recLogTime, protowire.EncodeZigZag(int64(m.log-last.log)))
		put(recPublishTime, protowire.EncodeZigZag(int64(m.publish-m.log)))
		put(recSequence, uint64(m.sequence))
		put(recParts, uint64(len(m.parts)))
		columns[recCRC] = binary.LittleEndian.AppendUint32(columns[recCRC], m.crc)
		for _, p := range m.parts {
			put(recPartEntity, uint64(p.entity))
			put(recPartTime, protowire.EncodeZigZag(int64(p.time-m.log)))
		}
		last = *m
	}
	for _, num := range slices.Sorted(maps.Keys(columns)) {
		text(num, string(columns[num]))
	}
	for i := range r.messages {
		b = protowire.AppendBytes(protowire.AppendTag(b, recPatch, protowire.BytesType), r.messages[i].patch)
	}
	return b
}

// decodeRecorded reads a payload. The error is Corrupt.
func decodeRecorded(b []byte) (*recorded, error) {
	r := &recorded{}
	columns := map[protowire.Number][]byte{}
	var patches [][]byte
	var bad error
	err := eachField(b, func(num protowire.Number, wire protowire.Type, _, value []byte) error {
		if wire != protowire.BytesType {
			return nil
		}
		switch num {
		case recTopic:
			r.channel.Topic = string(value)
		case recType:
			r.channel.Type = string(value)
		case recEncoding:
			r.channel.Encoding = string(value)
		case recSchemaEncoding:
			r.channel.SchemaEncoding = string(value)
		case recSchema:
			r.channel.Schema = value
		case recMetadata:
			var kv [3]string
			bad = eachField(value, func(num protowire.Number, wire protowire.Type, _, value []byte) error {
				if num < 3 && wire == protowire.BytesType {
					kv[num] = string(value)
				}
				return nil
			})
			if r.channel.Metadata == nil {
				r.channel.Metadata = map[string]string{}
			}
			r.channel.Metadata[kv[1]] = kv[2]
		case recPayload:
			r.payload = string(value)
		case recRule:
			r.rule = string(value)
		case recEntities:
			id, err := engram.Parse(string(value))
			if err != nil {
				return err
			}
			r.entities = append(r.entities, id)
		case recPatch:
			patches = append(patches, value)
		default:
			columns[num] = append(columns[num], value...)
		}
		return bad
	})
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, recordedType, "the payload cannot be read: %w", err)
	}
	short := false
	take := func(num protowire.Number) uint64 {
		v, n := protowire.ConsumeVarint(columns[num])
		if n < 0 {
			short = true
			return 0
		}
		columns[num] = columns[num][n:]
		return v
	}
	var last recordedMessage
	for _, patch := range patches {
		m := recordedMessage{patch: patch}
		m.number = last.number + take(recNumber)
		m.log = last.log + engram.Time(protowire.DecodeZigZag(take(recLogTime)))
		m.publish = m.log + engram.Time(protowire.DecodeZigZag(take(recPublishTime)))
		m.sequence = uint32(take(recSequence))
		parts := take(recParts)
		if crc := columns[recCRC]; len(crc) >= 4 {
			m.crc, columns[recCRC] = binary.LittleEndian.Uint32(crc), crc[4:]
		} else {
			short = true
		}
		if parts > uint64(len(columns[recPartEntity])) {
			short = true
			break
		}
		for range parts {
			p := recordedPart{entity: int(take(recPartEntity)), time: m.log + engram.Time(protowire.DecodeZigZag(take(recPartTime)))}
			short = short || p.entity >= len(r.entities)
			m.parts = append(m.parts, p)
		}
		if short {
			break
		}
		r.messages = append(r.messages, m)
		last = m
	}
	if short {
		return nil, engram.Errorf(engram.Corrupt, recordedType, "its columns have different lengths")
	}
	return r, nil
}

// A patch makes the recorded message of the one that the payloads make. An empty one changes
// nothing. Its first byte says how; of big-endian messages it has patchBig, too.
const (
	patchNone   = 0
	patchRuns   = 1 // stretches of equal length: bytes to keep, bytes to replace, these
	patchSplice = 2 // bytes to keep at the beginning and the end, and what stands between
	patchWhole  = 3 // the message
	patchBig    = 0x10
)

// makePatch returns what makes want of made, as short as these ways allow.
func makePatch(made, want []byte, big bool) []byte {
	kind := byte(0)
	if big {
		kind = patchBig
	}
	prefix := 0
	for prefix < len(made) && prefix < len(want) && made[prefix] == want[prefix] {
		prefix++
	}
	if prefix == len(made) && prefix == len(want) {
		if big {
			return []byte{kind}
		}
		return nil
	}
	suffix := 0
	for suffix < min(len(made), len(want))-prefix && made[len(made)-1-suffix] == want[len(want)-1-suffix] {
		suffix++
	}
	if prefix+suffix == 0 {
		return append([]byte{kind | patchWhole}, want...)
	}
	splice := binary.AppendUvarint([]byte{kind | patchSplice}, uint64(prefix))
	splice = append(binary.AppendUvarint(splice, uint64(suffix)), want[prefix:len(want)-suffix]...)
	if len(made) != len(want) {
		return splice
	}
	const apart = 4 // nearer stretches are one
	runs := []byte{kind | patchRuns}
	for at, end := 0, len(want)-suffix; at < end; {
		from := at
		for made[from] == want[from] {
			from++
		}
		to := from + 1
		for i := to; i < end && i < to+apart; i++ {
			if made[i] != want[i] {
				to = i + 1
			}
		}
		runs = binary.AppendUvarint(binary.AppendUvarint(runs, uint64(from-at)), uint64(to-from))
		runs = append(runs, want[from:to]...)
		if at = to; len(runs) >= len(splice) {
			return splice
		}
	}
	return runs
}

// applyPatch appends the recorded message to dst; ok is false if the patch does not fit.
func applyPatch(dst, made, patch []byte) (out []byte, ok bool) {
	if len(patch) == 0 {
		return append(dst, made...), true
	}
	kind, patch := patch[0]&^patchBig, patch[1:]
	number := func() int {
		v, n := binary.Uvarint(patch)
		if n <= 0 || v > uint64(len(made)) {
			ok = false
			return 0
		}
		patch = patch[n:]
		return int(v)
	}
	ok = true
	switch kind {
	case patchNone:
		return append(dst, made...), len(patch) == 0
	case patchWhole:
		return append(dst, patch...), true
	case patchSplice:
		prefix, suffix := number(), number()
		if !ok || prefix+suffix > len(made) {
			return dst, false
		}
		dst = append(append(dst, made[:prefix]...), patch...)
		return append(dst, made[len(made)-suffix:]...), true
	case patchRuns:
		start := len(dst)
		dst = append(dst, made...)
		for at := start; len(patch) > 0; {
			skip, n := number(), number()
			if at += skip; !ok || at+n > len(dst) || n > len(patch) {
				return dst, false
			}
			copy(dst[at:], patch[:n])
			at, patch = at+n, patch[n:]
		}
		return dst, true
	}
	return dst, false
}

// isBig reports whether a patch is of a big-endian message.
func isBig(patch []byte) bool { return len(patch) > 0 && patch[0]&patchBig != 0 }

func checksum(b []byte) uint32 { return crc32.ChecksumIEEE(b) }
