package memories

import (
	"bytes"
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
)

// A hand that holds two things lets the one go that it names, where that was.
func TestHandThatHoldsTwo(t *testing.T) {
	s, p := newWorldServer(t, "")
	st := newState(t, s)
	mustPut(t, s, "RobotState/Description/rover/urdf", 0, map[string]any{"urdf": roverURDF})
	for i := range engram.Time(10) {
		mustPut(t, s, "RobotState/Localization/rover/odom", i*second, placed("odom", "base", float64(i), 0))
	}
	hold := func(at engram.Time, thing string, v map[string]any) {
		v["timestamp"], v["object"] = at, engram.MustID("Object/Instance/rover/"+thing)
		st.other("Object/Attachments/rover/hand", "engram.object.Attachment", at, v)
	}
	in := func(x float64) map[string]any {
		return map[string]any{"frame_id": "base", "active": true, "pose": map[string]any{"position": map[string]any{"x": x}, "orientation": map[string]any{"w": 1.0}}}
	}
	hold(1*second, "cup", in(1))
	hold(2*second, "plate", in(2))
	hold(4*second, "cup", map[string]any{}) // nobody says where
	hold(6*second, "plate", map[string]any{})
	for thing, x := range map[string]float64{"cup": 5, "plate": 8} {
		eventually(t, "the "+thing, func() bool {
			got, _, err := placedAt(t, p, "rover/odom", thing, 9*second)
			return err == nil && near(got, x, 0)
		})
	}
}

// inRAM is a memory of which RAM has some snapshots, and the disk the rest.
type inRAM struct {
	engram.Service
	ram, disk []engram.Time // of snapshots of a hand that held the cup
	asked     []engram.Query
}

func (m *inRAM) Query(_ context.Context, q engram.Query) (*engram.Result, error) {
	m.asked = append(m.asked, q)
	times := m.ram
	if q.Target != engram.TargetWM {
		times = append(m.disk, m.ram...)
	}
	typ, _ := Type("engram.object.Attachment")
	hand := &engram.ResultNode{Name: "hand"}
	for _, t := range times {
		b, err := typ.Encode(map[string]any{"object": engram.MustID("Object/Instance/rover/cup"), "frame_id": t.Std().Format("05")})
		if err != nil {
			return nil, err
		}
		in := engram.NewInstance(engram.Payload{Type: "engram.object.Attachment", Bytes: b})
		hand.Snapshots = append(hand.Snapshots, &engram.Snapshot{Time: t, Instances: []engram.Instance{in}})
	}
	for _, name := range []string{"rover", "Attachments", "Object"} {
		hand = &engram.ResultNode{Name: name, Children: []*engram.ResultNode{hand}}
	}
	return &engram.Result{Memories: []*engram.ResultNode{hand}}, nil
}

// What a hand held is looked for in RAM, and only if it is not there among some of what is on disk.
func TestWhatAHandHeldIsFound(t *testing.T) {
	u := &engram.EntityUpdate{Entity: engram.MustID("Object/Attachments/rover/hand"), Time: 5 * second}
	for _, c := range []struct {
		ram, disk []engram.Time
		frame     any
		asked     int
	}{
		{[]engram.Time{3 * second, 4 * second}, []engram.Time{1 * second}, "04", 1},
		{nil, []engram.Time{1 * second, 2 * second}, "02", 2},
		{nil, []engram.Time{2 * second, 6 * second}, "02", 2}, // a statement that is late
		{nil, nil, nil, 2},
	} {
		m := &inRAM{ram: c.ram, disk: c.disk}
		h := &poseHost{Service: m}
		if a := h.before(t.Context(), u, "cup"); a["frame_id"] != c.frame || len(m.asked) != c.asked {
			t.Errorf("of %v in RAM and %v on disk: %v, asked %d times", c.ram, c.disk, a["frame_id"], len(m.asked))
		}
		for _, q := range m.asked[1:] {
			for _, s := range q.Memories[0].Children[0].Children[0].Children[0].Snapshots {
				if s.Kind != engram.KindAtOrBefore && (s.Kind != engram.KindLatest || s.N > 1000) {
					t.Errorf("the disk is asked for %+v", s)
				}
			}
		}
	}
}

// Where poses are not kept, the end of an attachment is committed as it is, and nothing is asked.
func TestObjectWithoutRobotState(t *testing.T) {
	typ, _ := Type("engram.object.Attachment")
	b, err := typ.Encode(map[string]any{"active": false})
	if err != nil {
		t.Fatal(err)
	}
	u := &engram.EntityUpdate{Entity: engram.MustID("Object/Attachments/rover/hand"), Time: 5 * second,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}}
	m := &inRAM{ram: []engram.Time{3 * second}}
	r := &released{poses: newPoses(DefaultPoseRetention())}
	if err := r.start(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := r.committed(t.Context(), u); err != nil || len(m.asked) > 0 || !bytes.Equal(u.Instances[0].Payload.Bytes, b) {
		t.Errorf("%v, asked %d times", err, len(m.asked))
	}
}
