package api

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// FuzzPoseMessages reads arbitrary bytes as each message of poses: what a message
// says survives the way through the domain's types and back.
func FuzzPoseMessages(f *testing.F) {
	add := func(m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	planar := pose.Cov{Mask: 35}
	add(transactionMessage(&lookup.Transaction{
		Author:       "slam",
		Keys:         []lookup.Key{{Parent: "map", Child: "base", Body: true, Time: 5, Pose: pose.Translation(1, 2, 3), Cov: planar}},
		Replaced:     []lookup.Replaced{{Parent: "map", Child: "odom"}},
		Calibrations: []lookup.Calibration{{Parent: "base", Child: "cam", Pose: pose.Identity(), Cov: pose.ExactCov()}},
	}))
	add(questionMessage(&lookup.Question{Target: "map", Source: "base", When: lookup.Between, Fixed: "odom", AsOf: new(pose.Revision(3))}))
	add(answerMessage(&lookup.Answer{Target: "map", Source: "base", Pose: pose.Identity(), Cov: planar, Info: pose.Info{Flags: pose.Held | pose.Static}}))
	add(answerMessage(&lookup.Answer{Err: engram.Errorf(engram.Canceled, "x", "closed")}))
	add(eventMessage(&lookup.Event{From: 1, To: 2, Changes: []pose.Change{{Trans: 1, Failed: true}}, Moved: []pose.Moved{{ID: 7, Old: pose.Identity(), Trans: 2}}}))
	add(&engramv1.TreeResponse{Edges: edgeMessages([]pose.EdgeInfo{{Parent: "a", Child: "b", Kind: pose.KindAnchor, Samples: 3}})})
	f.Fuzz(func(t *testing.T, b []byte) {
		// same checks that reading what was written of a message says the same.
		same := func(first, second proto.Message) {
			t.Helper()
			x, errX := proto.MarshalOptions{Deterministic: true}.Marshal(first)
			y, errY := proto.MarshalOptions{Deterministic: true}.Marshal(second)
			if errX == nil && (errY != nil || !bytes.Equal(x, y)) {
				t.Errorf("%v became %v, %v", first, second, errY)
			}
		}
		if m := new(engramv1.CommitRevisionRequest); proto.Unmarshal(b, m) == nil {
			if tx, err := transactionFromMessage(m); err == nil {
				first := transactionMessage(&tx)
				again, err := transactionFromMessage(first)
				if err != nil || len(again.Keys) != len(m.GetKeys()) || len(again.Replaced) != len(m.GetReplaced()) || len(again.Calibrations) != len(m.GetCalibrations()) {
					t.Fatalf("%v became %v, %v", m, first, err)
				}
				same(first, transactionMessage(&again))
			}
		}
		if m := new(engramv1.PoseQuestion); proto.Unmarshal(b, m) == nil {
			if q, err := questionFromMessage(m); err == nil {
				m.ProtoReflect().SetUnknown(nil)
				same(m, questionMessage(&q))
			}
		}
		if m := new(engramv1.PoseAnswer); proto.Unmarshal(b, m) == nil {
			if a, err := answerFromMessage(m); err == nil {
				first := answerMessage(&a)
				again, err := answerFromMessage(first)
				if err != nil {
					t.Fatalf("%v became %v, %v", m, first, err)
				}
				same(first, answerMessage(&again))
			}
		}
		if m := new(engramv1.WatchPosesResponse); proto.Unmarshal(b, m) == nil {
			ev := eventFromMessage(m)
			first := eventMessage(&ev)
			again := eventFromMessage(first)
			if len(again.Moved) != len(m.GetMoved()) || len(again.Changes) != len(m.GetChanges()) {
				t.Fatalf("%v became %v", m, first)
			}
			same(first, eventMessage(&again))
		}
		if m := new(engramv1.TreeResponse); proto.Unmarshal(b, m) == nil {
			edges := edgesFromMessages(m.GetEdges())
			first := edgeMessages(edges)
			same(&engramv1.TreeResponse{Edges: first}, &engramv1.TreeResponse{Edges: edgeMessages(edgesFromMessages(first))})
		}
	})
}
