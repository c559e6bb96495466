package ingest

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"encoding/json"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/internal/rosmsg"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// output is one payload made of a message.
type output struct {
	bytes  []byte // valid until the next conversion, unless owned
	owned  bool   // nobody else has the bytes
	time   engram.Time
	timed  bool     // the message has a time of its own
	fields [][]byte // the values of the fields asked for; valid until the next conversion
}

// converter makes payloads of messages of one channel. The outputs are valid until
// the next call. The error says why the message is refused.
type converter interface {
	convert(data []byte) ([]output, error)
}

// source is what is known of a channel's messages.
type source interface {
	// mirror returns the type that the messages keep, its name ending in suffix.
	mirror(suffix string) (*idf.Type, error)
	// convert returns a converter to the target type by a rule, which also reads the
	// values of fields. The rule may be nil.
	convert(target *idf.Type, rule *Rule, fields []string) (converter, error)
	// probe returns a converter that only reads times and fields, of each element if split names
	// an array; the outputs have no bytes.
	probe(fields []string, split string) (converter, error)
}

// sourceOf finds out how a channel's messages are to be read; the error says why
// they are not understood.
func sourceOf(c *recording.Channel) (source, error) {
	switch c.Encoding {
	case "ros1":
		return newROSSource(c, rosmsg.ROS1, rosmsg.WireROS1)
	case "cdr":
		return newROSSource(c, rosmsg.ROS2, rosmsg.WireCDR)
	case "protobuf":
		return newProtoSource(c)
	case "json":
		return newJSONSource(c)
	}
	return nil, engram.Errorf(engram.Unsupported, "", "messages encoded as %q are kept as bytes", c.Encoding)
}

// encodedMembers returns members of a type as a mapping sets them, encoded.
func encodedMembers(t *idf.Type, set map[string]any) ([]byte, error) {
	if len(set) == 0 {
		return nil, nil
	}
	j, err := json.Marshal(set)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, t.Name(), "the members to set have no JSON form: %w", err)
	}
	msg := dynamicpb.NewMessage(t.Descriptor())
	if err := protojson.Unmarshal(j, msg); err != nil {
		return nil, engram.Errorf(engram.TypeMismatch, t.Name(), "the members to set do not fit: %w", err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		return nil, engram.Errorf(engram.TypeMismatch, t.Name(), "the members to set do not fit: %w", err)
	}
	return b, nil
}

// nothingFits says that a rule would store payloads without content.
func nothingFits(message string, target *idf.Type) error {
	return engram.Errorf(engram.TypeMismatch, target.Name(), "has no member that a field of %s fits, its time aside; name some under \"members\"", message)
}

// nothing is a type without members: the target of what is only probed.
func nothing() protoreflect.MessageDescriptor { return (&emptypb.Empty{}).ProtoReflect().Descriptor() }
