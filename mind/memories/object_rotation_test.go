package memories

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// A pose without an orientation is not turned, and says so to whoever reads it; one with an
// orientation that is no rotation is refused, as everywhere.
func TestPosesOfObjectsHaveRotations(t *testing.T) {
	s, _ := newWorldServer(t, "")
	v := func(x, y, z float64) map[string]any { return map[string]any{"x": x, "y": y, "z": z} }
	q := func(w float64) map[string]any { return map[string]any{"w": w} }
	at := func(more ...any) map[string]any {
		p := map[string]any{"position": v(1, 2, 3)}
		for i := 0; i < len(more); i += 2 {
			p[more[i].(string)] = more[i+1]
		}
		return p
	}
	for i, c := range []struct {
		entity, typ string
		value       map[string]any
		pose        []string // where the pose is
		w           float64  // of its rotation; 0 if there is no pose
		refused     string
	}{
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"frame_id": "map", "pose": at(), "is_static": true, "joint_values": map[string]float64{"door": 1}}, []string{"pose"}, 1, ""},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"pose": map[string]any{}}, []string{"pose"}, 1, ""},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"pose": at("orientation", q(-1))}, []string{"pose"}, -1, ""},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"frame_id": "map"}, []string{"pose"}, 0, ""},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"pose": at("orientation", q(0))}, nil, 0, "has length 0"},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"pose": at("orientation", q(2))}, nil, 0, "has length 2"},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"pose": map[string]any{"position": v(math.NaN(), 0, 0)}}, nil, 0, "not finite"},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"oobb": map[string]any{"size": v(1, 1, 1)}}, []string{"oobb", "pose"}, 1, ""},
		{"Object/Instance/eye/cup", "engram.object.Instance", map[string]any{"oobb": map[string]any{"pose": at("orientation", q(0))}}, nil, 0, "has length 0"},
		{"Object/Class/eye/cup", "engram.object.Class", map[string]any{"name": "cup", "oobb": map[string]any{"pose": at(), "size": v(1, 1, 1)}, "mass": 2.5}, []string{"oobb", "pose"}, 1, ""},
		{"Object/Attachments/eye/hand", "engram.object.Attachment", map[string]any{"active": true, "frame_id": "base", "pose": at()}, []string{"pose"}, 1, ""},
		{"Object/Attachments/eye/hand", "engram.object.Attachment", map[string]any{"pose": at("orientation", q(0))}, nil, 0, "has length 0"},
		{"Object/Attachments/eye/hand", "engram.object.Attachment", map[string]any{}, []string{"pose"}, 0, ""},
		{"Object/ArticulatedAttachments/eye/door", "engram.object.ArticulatedAttachment", map[string]any{"pose": at(), "object_frame_id": "handle"}, []string{"pose"}, 1, ""},
	} {
		typ, ok := Type(c.typ)
		if !ok {
			t.Fatal(c.typ)
		}
		b, err := typ.Encode(c.value)
		if err != nil {
			t.Fatal(err)
		}
		entity := engram.MustID(c.entity)
		results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: engram.Time(i) * second, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: c.typ, Bytes: b})}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := results[0].Err; c.refused != "" || err != nil {
			if engram.CodeOf(err) != engram.Invalid || c.refused == "" || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%d: %v; want it refused: %q", i, err, c.refused)
			}
			continue
		}
		r, err := s.Query(t.Context(), engram.SelectID(entity, engram.Latest(1)))
		if err != nil || len(r.Items()) != 1 {
			t.Fatal(err, r)
		}
		got, err := typ.Decode(r.Items()[0].Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		m := got.(map[string]any)
		for key, want := range c.value { // all else is as it was
			if _, nested := want.(map[string]any); !nested && key != "joint_values" && m[key] != want {
				t.Errorf("%d: %s is %v, was %v", i, key, m[key], want)
			}
		}
		for _, key := range c.pose {
			m, _ = m[key].(map[string]any)
		}
		r0, _ := m["orientation"].(map[string]any)
		if w, _ := r0["w"].(float64); w != c.w {
			t.Errorf("%d: the orientation is %v; want w %v", i, r0, c.w)
		}
	}
}

// A pose in parts, which is longer whole by as much as the parts take more, is completed, too.
func TestRotationOfAPoseInParts(t *testing.T) {
	position := func(b []byte) []byte {
		for axis := range protowire.Number(2) {
			b = protowire.AppendFixed64(protowire.AppendTag(b, 1+axis, protowire.Fixed64Type), math.Float64bits(1))
		}
		return b
	}(nil)
	part := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), position)
	var b []byte
	for range 7 {
		b = protowire.AppendBytes(protowire.AppendTag(b, poseOfInstance, protowire.BytesType), part)
	}
	u := engram.EntityUpdate{Entity: engram.MustID("Object/Instance/eye/cup"), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Bytes: b})}}
	if err := rotations(&u); err != nil {
		t.Fatal(err)
	}
	got := u.Instances[0].Payload.Bytes
	if len(got) != len(b) {
		t.Fatalf("it takes %d bytes, and took %d: the test tests nothing", len(got), len(b))
	}
	if whole, _, err := member(got, poseOfInstance); err != nil || !bytes.HasSuffix(whole, unturned) {
		t.Errorf("%x, %v", whole, err)
	}
}
