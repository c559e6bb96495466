package ingest

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// stamped writes messages whose stamps lie so far after their log times. Each is made of
// its stamp.
func (r *recorder) stamped(topic string, make func(*timestamppb.Timestamp) proto.Message, after ...time.Duration) {
	r.t.Helper()
	for _, d := range after {
		stamp := engram.Time(r.now + 1e9).Add(d) // write counts a second on
		r.proto(topic, make(timestamppb.New(stamp.Std())))
	}
}

func edge(parent, child string) func(*timestamppb.Timestamp) proto.Message {
	return func(t *timestamppb.Timestamp) proto.Message {
		return &foxglove.FrameTransform{Timestamp: t, ParentFrameId: parent, ChildFrameId: child, Rotation: &foxglove.Quaternion{W: 1}}
	}
}

func picture(t *timestamppb.Timestamp) proto.Message {
	return &foxglove.CompressedImage{Timestamp: t, Format: "jpeg", Data: []byte{1}}
}

// unstamped has no time of its own.
func unstamped(*timestamppb.Timestamp) proto.Message { return durationpb.New(time.Second) }

func times(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// Topics whose times do not fit the others' are told: by how much, and with what they would.
func TestClocks(t *testing.T) {
	const ahead = 7650 * time.Millisecond
	for _, tt := range []struct {
		name   string
		record func(r *recorder)
		want   []ClockFinding
	}{
		{"all fit", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, -time.Millisecond)...)
			r.stamped("/tf", edge("base", "arm"), times(9, 500*time.Millisecond)...) // stamped ahead, as publishers do
			r.stamped("/camera", picture, times(9, -200*time.Millisecond)...)        // processed for long
			r.stamped("/map", picture, -time.Hour)                                   // latched
			r.stamped("/said", unstamped, times(9, 0)...)
		}, nil},
		{"one clock is another", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, -time.Millisecond)...)
			r.stamped("/camera", picture, times(9, 150*time.Millisecond)...)
			r.stamped("/lidar", picture, times(9, -301*time.Millisecond)...)
		}, []ClockFinding{
			{Fault: ClockOff, Topics: []string{"/lidar"}, By: -300 * time.Millisecond, Mend: 300 * time.Millisecond},
			{Fault: ClockOff, Topics: []string{"/camera"}, By: 151 * time.Millisecond, Mend: -151 * time.Millisecond},
		}},
		{"the robot's clock is not the recorder's", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, ahead)...)
			r.stamped("/camera", picture, times(9, ahead)...)
			r.stamped("/said", unstamped, times(9, 0)...)
			r.stamped("/done", unstamped, times(9, 0)...)
		}, []ClockFinding{{Fault: ClockOff, Topics: []string{"/done", "/said"}, By: -ahead, LogTime: true, Mend: ahead}}},
		{"more images than transforms, which count", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(3, ahead)...)
			r.stamped("/left", picture, times(99, 0)...)
			r.stamped("/right", picture, times(99, 0)...)
		}, []ClockFinding{{Fault: ClockOff, Topics: []string{"/left", "/right"}, By: -ahead, Mend: ahead}}},
		{"no transforms: the most topics count", func(r *recorder) {
			r.stamped("/left", picture, times(9, 0)...)
			r.stamped("/right", picture, times(9, 0)...)
			r.stamped("/top", picture, times(99, ahead)...)
		}, []ClockFinding{{Fault: ClockOff, Topics: []string{"/top"}, By: ahead, Mend: -ahead}}},
		{"one edge of a tree", func(r *recorder) {
			for _, child := range []string{"base", "arm", "hand"} {
				r.stamped("/tf", edge("odom", child), times(9, 0)...)
			}
			r.stamped("/tf", edge("hand", "cup"), times(9, -time.Minute)...)
		}, []ClockFinding{{Fault: ClockOff, Topics: []string{"/tf (hand,cup)"}, By: -time.Minute, Edges: true}}},
		{"seconds since a computer's start", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, 0)...)
			r.stamped("/imu", picture, times(9, -1e18+time.Hour)...)
		}, []ClockFinding{{Fault: ClockOff, Topics: []string{"/imu"}, By: -1e18 + time.Hour, Mend: 1e18 - time.Hour}}},
		{"stamps of zero", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, 0)...)
			r.stamped("/camera", picture, times(9, 0)...)
			for range 2 {
				r.proto("/camera", picture(&timestamppb.Timestamp{}))
			}
		}, []ClockFinding{{Fault: ClockZero, Topics: []string{"/camera"}, Count: 2, LogTime: true}}},
		{"drift", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, 0)...)
			for i := range 400 {
				r.stamped("/camera", picture, time.Duration(i)*time.Millisecond)
			}
		}, []ClockFinding{{Fault: ClockDrifts, Topics: []string{"/camera"}, By: 300 * time.Millisecond}}},
		{"several clocks on one topic", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, ahead)...)
			for range 5 {
				r.stamped("/log", picture, times(4, ahead)...)
				r.stamped("/log", picture, -time.Minute)
			}
		}, []ClockFinding{{Fault: ClockScatters, Topics: []string{"/log"}, By: -time.Minute - ahead, Mend: ahead}}},
		{"a clock that is set back", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(9, ahead)...)
			r.stamped("/log", picture, times(20, ahead)...)
			r.stamped("/log", picture, times(5, -time.Minute)...)
		}, []ClockFinding{{Fault: ClockBack, Topics: []string{"/log"}, By: time.Minute + ahead - time.Second, Count: 5}}},
		{"a few wild stamps", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(200, 0)...)
			r.stamped("/tf", edge("odom", "base"), times(5, time.Hour)...)
		}, nil},
		{"log times go back", func(r *recorder) {
			r.stamped("/tf", edge("odom", "base"), times(5, 0)...)
			r.now -= 20e9
			r.stamped("/tf", edge("odom", "base"), times(5, 0)...)
		}, []ClockFinding{{Fault: ClockLogBack, By: 19 * time.Second}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRecorder(t)
			tt.record(r)
			got := mustImport(t, newServer(t), r.file(), Options{}).Clocks
			if !slices.EqualFunc(got, tt.want, func(a, b ClockFinding) bool {
				topics := slices.Equal(a.Topics, b.Topics)
				a.Topics, b.Topics = nil, nil
				return topics && a.Fault == b.Fault && a.LogTime == b.LogTime && a.Edges == b.Edges && a.Count == b.Count && a.By == b.By && a.Mend == b.Mend
			}) {
				t.Errorf("found %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// With what a finding says the topics fit, and stand at these times.
func TestTimeRules(t *testing.T) {
	r := newRecorder(t)
	r.stamped("/tf", edge("odom", "base"), times(3, time.Minute)...)
	r.stamped("/wild", picture, -time.Hour, time.Hour, 0)
	r.stamped("/said", unstamped, times(3, 0)...)
	path := r.file()
	s := newServer(t)
	rules := []TimeRule{{Topic: "/wild", Log: true}, {Topic: "/[ws]*"}, {Topic: "/wi*", Offset: time.Minute}, {Topic: "/said", Offset: 60 * time.Second}}
	report := mustImport(t, s, path, Options{Source: "x", Times: rules})
	if len(report.Clocks) != 0 || !slices.Equal(report.Unmatched, []string{"/[ws]*"}) || report.ClockOffset != time.Minute {
		t.Errorf("found %+v, %v after the log times, rules without topics %q", report.Clocks, report.ClockOffset, report.Unmatched)
	}
	for i, snap := range snapshots(t, s, "Vision", "ImageRGB", "x", "/wild") {
		logged := engram.Time(1e18 + int64(4+i)*1e9)
		if snap.Time != logged.Add(time.Minute) || snap.Instances[0].Sent != logged {
			t.Errorf("image %d stands at %v, sent %v", i, snap.Time, snap.Instances[0].Sent)
		}
	}
}

// In a robot's recording the topics without stamps do not fit those with them.
func TestClocksOfARobot(t *testing.T) {
	got := mustImport(t, newServer(t), testkit.Recording(t, "guardian_palette.bag"), Options{}).Clocks
	if len(got) != 2 || got[0].Fault != ClockOff || !got[0].LogTime || (got[0].By+7650*time.Millisecond).Abs() > 20*time.Millisecond ||
		!slices.Equal(got[0].Topics, []string{"/guardian/cmd_vel", "/guardian_node/state", "/rly_08_node/status"}) ||
		got[1].Fault != ClockScatters || !slices.Equal(got[1].Topics, []string{"/rosout"}) {
		t.Errorf("found %+v", got)
	}
}
