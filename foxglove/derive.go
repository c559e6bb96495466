package foxglove

import (
	"context"
	"encoding/base64"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/idf"
)

// derivation makes messages of a schema that viewers draw from snapshots of types that they
// do not know.
type derivation struct {
	def    engram.TypeDef
	schema string // its descriptors in base64
	// topic is that of what comes of an entity: its own, or one for all.
	topic func(entity engram.ID) string
	// make returns nil if nothing comes of the snapshot.
	make func(ctx context.Context, types *Types, typ string, it engram.Item) ([]byte, error)
}

func derive(schema proto.Message, topic func(engram.ID) string, f func(ctx context.Context, types *Types, typ string, it engram.Item) ([]byte, error)) *derivation {
	t, err := idf.TypeOf(schema.ProtoReflect().Descriptor(), "", "")
	if err != nil {
		panic(err) // descriptors of this program
	}
	def := t.Def()
	return &derivation{def, base64.StdEncoding.EncodeToString(def.Descriptors), topic, f}
}

func one(topic string) func(engram.ID) string { return func(engram.ID) string { return topic } }

func each(topic string) func(engram.ID) string {
	return func(entity engram.ID) string {
		return topic + "/" + engram.EscapeName(entity.ProviderSegment()) + "/" + engram.EscapeName(entity.Entity())
	}
}

// derivations are by the types of payloads.
var derivations = func() map[string]*derivation {
	said := derive(&foxglovepb.Log{}, one("/speech"), speech)
	return map[string]*derivation{
		"engram.speech.Text":     said,
		"engram.speech.Command":  said,
		"engram.speech.Answer":   said,
		"engram.navigation.Plan": derive(&foxglovepb.SceneUpdate{}, one("/plans"), plan),
		// It extends foxglove.LaserScan, and viewers know that by name only.
		"engram.vision.LaserScan": derive(&foxglovepb.LaserScan{}, each("/scan"), asIs),
	}
}()

// Channels that are made from more than one snapshot, each by a part of the session.
var (
	treeOf  = derive(&foxglovepb.FrameTransforms{}, one("/tf"), nil)
	worldOf = derive(&foxglovepb.SceneUpdate{}, one("/world"), nil)
)

func asIs(_ context.Context, _ *Types, _ string, it engram.Item) ([]byte, error) {
	return it.Instances[0].Payload.Bytes, nil
}

// speech shows what was said as a line of a log.
func speech(ctx context.Context, types *Types, typ string, it engram.Item) ([]byte, error) {
	m, err := decode(ctx, types, typ, it)
	if err != nil {
		return nil, err
	}
	if _, from := m["source_text"]; from {
		return nil, nil // the text that a command was understood from is there, too
	}
	text, _ := m["text"].(string)
	by, _ := m["speaker"].(string)
	if by == "" {
		by = it.ID.Entity()
	}
	return proto.Marshal(&foxglovepb.Log{
		Timestamp: stamp(it.Time), Level: foxglovepb.Log_INFO, Message: text, Name: by, File: it.ID.String(),
	})
}

// plan shows a plan as a line from pose to pose.
func plan(ctx context.Context, types *Types, typ string, it engram.Item) ([]byte, error) {
	m, err := decode(ctx, types, typ, it)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&foxglovepb.SceneUpdate{Entities: []*foxglovepb.SceneEntity{DrawPlan(m, it)}})
}

// decode returns the members of the first instance of a type.
func decode(ctx context.Context, types *Types, typ string, it engram.Item) (map[string]any, error) {
	for i := range it.Instances {
		if p := it.Instances[i].Payload; p.Type == typ {
			return types.Decode(ctx, p)
		}
	}
	return nil, engram.Errorf(engram.NotFound, it.ID.String(), "it has no instance of type %s", typ)
}
