package world_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func newServer(t testing.TB) *server.Server { return serving.New(t, memories.World()) }

func newCodec(t testing.TB) *world.Codec {
	t.Helper()
	c, err := world.NewCodec(t.Context(), newServer(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// snapshot is what a memory has of a payload.
func snapshot(p engram.Payload) *engram.Snapshot {
	return &engram.Snapshot{Time: 5, Arrived: 6, Instances: []engram.Instance{{Payload: p, Confidence: 0.5}}}
}

var turned = pose.Pose{T: pose.Vec3{X: 1, Y: 2, Z: 3}, R: pose.Quat{W: 0.6, Z: 0.8}}

func TestItemsRoundTrip(t *testing.T) {
	c := newCodec(t)
	cov := pose.DiagonalCov(0.5, 0.25)
	for name, it := range map[string]*world.Item{
		"nothing": {Source: world.Perception},
		"removed": {Removed: &world.Removal{Reason: "broken", Time: 3}, Source: world.Perception},
		"root":    {Structure: &world.Structure{}, Source: world.PriorKnowledge},
		"all": {
			Structure: &world.Structure{Parent: "table", Time: 1},
			Placement: &world.Placement{Frame: "map", Pose: pose.Translation(1, 2, 3), Cov: cov, Time: 2},
			Description: &world.Description{
				Kinds: []string{"object"}, Label: "cup", SpokenNames: []string{"cup", "mug"}, Class: idOf("Object/Class/P/cup"),
				Shape:     &world.Shape{Kind: world.ShapePolygon, Size: pose.Vec3{X: 1}, Mesh: "m", Outline: []pose.Vec3{{X: 1}, {Y: 2}}, Pose: &turned},
				Box:       &world.Box{Pose: turned, Size: pose.Vec3{X: 1, Y: 2, Z: 3}},
				Detection: &world.Detection{Methods: []string{"apriltag"}, Tags: []string{"36h11:7"}},
				Place:     &world.Place{Level: "room", Number: "3006"}, Robot: &world.RobotFrames{Odom: "odom", Base: "base"},
				Maintainer: "rover", Properties: map[string]any{"weight": 0.25, "red": true}, Time: 3,
			},
			Source: world.Operator, Views: 4, LabelEvidence: world.Evidence{"cup": 1.5}, SeenIn: idOf("Vision/ImageRGB/a/b"),
		},
	} {
		p, err := c.EncodeItem(it)
		if err != nil {
			t.Fatal(name, err)
		}
		s, err := c.Statement(engram.MustID("robot1:World/Item/eye/cup"), snapshot(p))
		want := world.Said{Provider: "eye", Robot: "robot1", Entity: "cup", Time: 5, Arrived: 6, Confidence: 0.5}
		if err != nil || s.Name != "cup" || s.Said != want || !reflect.DeepEqual(s.Item, it) {
			t.Errorf("%s: %+v, %v\n%+v", name, s, err, s.Item)
		}
	}
	if _, err := c.Statement(engram.MustID("World/Item/eye/cup"), snapshot(engram.Payload{Bytes: []byte{0xff}})); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("damaged: %v", err)
	}
	if _, err := c.Statement(engram.MustID("World/Item/eye/cup"), &engram.Snapshot{}); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("empty: %v", err)
	}
}

// What is exact is so after it was stored; what is no covariance makes no placement.
func TestCovariancesRoundTrip(t *testing.T) {
	c := newCodec(t)
	back := func(cov pose.Cov) *world.Placement {
		p, err := c.EncodeItem(&world.Item{Placement: &world.Placement{Pose: turned, Cov: cov}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Statement(engram.MustID("World/Item/eye/cup"), snapshot(p))
		if err != nil {
			t.Fatal(err)
		}
		return s.Item.Placement
	}
	if got := back(pose.ExactCov()).Cov; got.Mask != pose.AllDims || got.S[0] > 1e-12 {
		t.Errorf("exact became %v", got)
	}
	if got := back(pose.Cov{}).Cov; got != (pose.Cov{}) {
		t.Errorf("unknown became %v", got)
	}
	cov := pose.Cov{Mask: pose.AllDims}
	cov.S[0] = -0.5 // no variance; not the mark of an unknown one, as it is transported
	cov.S[6] = 1
	if err := (&world.Item{Placement: back(cov)}).Check("cup"); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("what is no covariance: %v", err)
	}
}

func TestJointsStatesAndLooksRoundTrip(t *testing.T) {
	c := newCodec(t)
	value := 0.5
	for _, a := range []*world.Articulation{
		{Base: "a", Moved: "b", Pose: pose.Identity(), Source: world.PriorKnowledge},
		{Source: world.Perception}, // it withdraws
		{Base: "lift", Moved: "cabin", Kind: world.Prismatic, Pose: turned, Direction: pose.Vec3{Z: 1}, Limits: &world.Limits{Lower: -1, Upper: 9},
			Radius: 1, Reference: 0.25, Value: &value, Sigma: 0.1, Serves: []string{"ground floor"}, Source: world.Operator},
	} {
		p, err := c.EncodeJoint(a)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := c.Joint(engram.MustID("World/Articulation/touch/hinge"), snapshot(p)); err != nil || s.Name != "hinge" || !reflect.DeepEqual(s.Joint, a) {
			t.Errorf("%+v, %v", s.Joint, err)
		}
	}
	p, err := c.EncodeJoint(&world.Articulation{Base: "a", Moved: "a", Pose: pose.Identity()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Joint(engram.MustID("World/Articulation/touch/hinge"), snapshot(p)); engram.CodeOf(err) != engram.Corrupt {
		t.Errorf("a joint that there cannot be: %v", err)
	}
	for _, state := range []*world.State{
		{Item: "fridge", Name: "open", Source: world.Perception},
		{Item: "fridge", Name: "full", Value: 0.75, Source: world.PriorKnowledge, HalfLife: time.Hour},
	} {
		p, err := c.EncodeState(state)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := c.State(engram.MustID("World/State/eye/fridge\\/open"), snapshot(p)); err != nil || s.Confidence != 0.5 || !reflect.DeepEqual(s.State, state) {
			t.Errorf("%+v, %v", s.State, err)
		}
	}
	look := world.Look{Frame: "kitchen", Pose: turned, View: world.View{Horizontal: 1, Vertical: 2, MinRange: 3, MaxRange: 4}, Seen: []string{"cup"},
		LookedFor: world.LookedFor{Items: []string{"cup"}, Classes: []string{"mug", "plate"}, Kinds: []string{"object"}}}
	p, err = c.EncodeLook(&look)
	if err != nil {
		t.Fatal(err)
	}
	look.Sensor, look.Said = "camera", world.Said{Provider: "rover", Entity: "camera", Time: 5, Arrived: 6, Confidence: 0.5}
	if l, err := c.Look(engram.MustID("World/Observation/rover/camera"), snapshot(p)); err != nil || !reflect.DeepEqual(l, look) {
		t.Errorf("%+v, %v", l, err)
	}
}

func idOf(text string) *engram.ID {
	id := engram.MustID(text)
	return &id
}
