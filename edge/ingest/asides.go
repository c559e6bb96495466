package ingest

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// What a recording holds beside its messages goes to core segments of its own, which are
// added when they are needed.
var (
	attachments = asideKind{engram.MustID("GeneralPurpose/Attachment"), "engram.general_purpose.Attachment", "attachments", "MCAP attachment"}
	metadata    = asideKind{engram.MustID("GeneralPurpose/Metadata"), "engram.general_purpose.Metadata", "metadata", "MCAP metadata"}
)

type asideKind struct {
	segment    engram.ID
	payload    string // type
	topic, typ string // in the report
}

// maxAttachment is the largest attachment that is read, in bytes.
const maxAttachment = 64 << 20

// asides imports what stands beside the messages: attachments at their log times, metadata
// at the beginning of the recording. What episodes note of themselves, and what was
// restored under its ID already, is left out.
func (im *importer) asides() error {
	reports := map[asideKind]*TopicReport{}
	for _, a := range recording.Asides(im.rec) {
		if episode.IsOwn(a.Name) || im.own != nil && im.own.asides[a.Name] {
			continue
		}
		kind, at := metadata, im.report.Span.Start
		if a.Metadata == nil {
			kind = attachments
			if a.Logged != 0 {
				at = a.Logged
			}
		}
		t := reports[kind]
		if t == nil {
			t = &TopicReport{Topic: kind.topic, Type: kind.typ}
			t.target(kind.segment)
			reports[kind] = t
			im.router.asides = append(im.router.asides, t)
		}
		entity, payload, err := im.router.aside(kind, &a)
		if err != nil {
			if code := engram.CodeOf(err); code == engram.Canceled || code == engram.Unavailable && im.router.ctx.Err() != nil {
				return err
			}
			im.out.refuse(t, engram.Errorf(engram.CodeOf(err), "", "%s is not imported: %w", a.Name, err))
			continue
		}
		if err := im.out.add(t, entity, at, at, payload); err != nil {
			return err
		}
	}
	return nil
}

// aside returns where an attachment or a record of metadata goes, and as what.
func (r *router) aside(kind asideKind, a *recording.Aside) (engram.ID, engram.Payload, error) {
	none := engram.Payload{}
	if a.Size > maxAttachment {
		return engram.ID{}, none, engram.Errorf(engram.Exhausted, "", "it has %d bytes, and a memory takes %d", a.Size, maxAttachment)
	}
	t, err := r.typ(kind.payload)
	if err != nil {
		return engram.ID{}, none, err
	}
	if t == nil {
		return engram.ID{}, none, engram.Errorf(engram.NotFound, "", "the memory does not know the type %s", kind.payload)
	}
	d, err := r.describe(kind.segment)
	if err != nil {
		return engram.ID{}, none, err
	}
	if d == nil {
		if err := r.dst.AddCoreSegment(r.ctx, engram.CoreSegment{ID: kind.segment, Type: kind.payload}); err != nil && engram.CodeOf(err) != engram.AlreadyExists {
			return engram.ID{}, none, err
		}
	}
	name := a.Name
	if name == "" {
		name = "unnamed"
	}
	provider, err := kind.segment.Child(r.provider)
	if err != nil {
		return engram.ID{}, none, err
	}
	entity, err := provider.Child(name)
	if err != nil {
		return engram.ID{}, none, err
	}
	b, err := encodeAside(t, a)
	return entity, engram.Payload{Type: kind.payload, Bytes: b}, err
}

// encodeAside returns an attachment or a record of metadata as a payload of its type.
func encodeAside(t *idf.Type, a *recording.Aside) ([]byte, error) {
	m := dynamicpb.NewMessage(t.Descriptor())
	set := func(name protoreflect.Name, v protoreflect.Value) { m.Set(t.Descriptor().Fields().ByName(name), v) }
	set("name", protoreflect.ValueOfString(a.Name))
	if a.Metadata != nil {
		entries := m.Mutable(t.Descriptor().Fields().ByName("entries")).Map()
		for k, v := range a.Metadata {
			entries.Set(protoreflect.ValueOfString(k).MapKey(), protoreflect.ValueOfString(v))
		}
	} else {
		content, err := a.Content()
		if err != nil {
			return nil, err
		}
		set("timestamp", protoreflect.ValueOfMessage(timestamppb.New(a.Logged.Std()).ProtoReflect()))
		set("created", protoreflect.ValueOfMessage(timestamppb.New(a.Created.Std()).ProtoReflect()))
		set("media_type", protoreflect.ValueOfString(a.MediaType))
		set("data", protoreflect.ValueOfBytes(content))
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "its texts are not UTF-8: %w", err)
	}
	return b, nil
}

// decodeAside is the reverse of encodeAside. Its error says what is wrong with the payload.
func decodeAside(t *idf.Type, b []byte) (a recording.Aside, content []byte, err error) {
	m := dynamicpb.NewMessage(t.Descriptor())
	if err := proto.Unmarshal(b, m); err != nil {
		return a, nil, engram.Errorf(engram.Corrupt, t.Name(), "the payload cannot be read: %w", err)
	}
	get := func(name protoreflect.Name) protoreflect.Value { return m.Get(t.Descriptor().Fields().ByName(name)) }
	a.Name = get("name").String()
	if t.Name() == metadata.payload {
		a.Metadata = map[string]string{}
		get("entries").Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			a.Metadata[k.String()] = v.String()
			return true
		})
		return a, nil, nil
	}
	at := func(name protoreflect.Name) engram.Time {
		stamp := get(name).Message()
		fields := stamp.Descriptor().Fields()
		return engram.Time(stamp.Get(fields.ByNumber(1)).Int()*1e9 + stamp.Get(fields.ByNumber(2)).Int())
	}
	a.MediaType, a.Logged, a.Created = get("media_type").String(), at("timestamp"), at("created")
	return a, get("data").Bytes(), nil
}

// isAside reports whether payloads of a type are attachments or records of metadata.
func isAside(typ string) bool { return typ == attachments.payload || typ == metadata.payload }

// aside writes a payload beside the messages too, if it is an attachment or a record of
// metadata: other programs look for it there. What they could not be named so is not.
func (x *exporter) aside(p engram.Payload) error {
	if !isAside(p.Type) {
		return nil
	}
	t, ok := x.types.Get(p.Type)
	if !ok {
		return nil
	}
	a, content, err := decodeAside(t, p.Bytes)
	if err != nil || episode.IsOwn(a.Name) {
		return err
	}
	if a.Metadata != nil {
		return x.w.Describe(a.Name, a.Metadata)
	}
	return x.w.Attach(a.Name, a.MediaType, a.Logged, a.Created, content)
}
