package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

// BenchmarkTrain trains a model of level 2 on an hour of 43 joints at 100 Hz, in four episodes of which all but the first are
// judged before they are learned from. They are read from a server in the process. The target is 60 s of CPU, and 1 MiB.
func BenchmarkTrain(b *testing.B) {
	const joints, step, episode = 43, 10 * time.Millisecond, 15 * time.Minute
	of := engram.MustID("M/Joints/robot/joint_states")
	s, err := server.New(server.Config{Memories: []server.Memory{memories.RobotState(), {Name: "M", Segments: []engram.CoreSegment{{
		ID: engram.MustID("M/Joints"), Type: "engram.robot_state.Proprioception", History: engram.Bounds{MaxCount: 1 << 20, MaxBytes: 1 << 30},
	}}, Bounds: engram.Bounds{MaxBytes: 1 << 30}}}, Log: testkit.Quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	t, _ := memories.Type("engram.robot_state.Proprioception")
	types := func(string) (*idf.Type, error) { return t, nil }
	names := make([]any, joints)
	for i := range names {
		names[i] = fmt.Sprint("joint_", i)
	}
	var c engram.Commit
	for n := range int(4 * episode / step) {
		at := time.Duration(n) * step
		position := make([]any, joints)
		for i := range position {
			position[i] = math.Sin(at.Seconds()*(1+0.1*float64(i))) + 0.1*math.Sin(at.Seconds()*9+float64(i))
		}
		bytes, err := t.Encode(map[string]any{"timestamp": engram.Time(at), "name": names, "position": position})
		if err != nil {
			b.Fatal(err)
		}
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: of, Time: engram.Time(at), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: t.Name(), Bytes: bytes})}})
		if len(c.Updates) == 1000 {
			testkit.Commit(b, s, c.Updates...)
			c.Updates = nil
		}
	}
	training := service.Training{Entity: of}
	for i := range 4 {
		begin := engram.Time(0).Add(time.Duration(i) * episode)
		training.Add = append(training.Add, service.Episode{Name: fmt.Sprint("quarter ", i+1), Span: engram.Interval{Start: begin, End: begin.Add(episode)}})
	}
	var v *service.Version
	for b.Loop() {
		if v, err = service.Train(b.Context(), s, types, nil, training); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/hour")
	b.ReportMetric(float64(len(v.Model.Append(nil))), "bytes")
	b.ReportMetric(float64(v.Judged), "judged")
}
