package web_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// What stands out of a span is told: gaps of what comes regularly, and jerks of joints; not what comes when it comes.
func TestOutliers(t *testing.T) {
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	const typ = "engram.robot_state.Proprioception"
	known, _ := memories.Type(typ)
	start := engram.Now().Add(-time.Minute)
	var updates []engram.EntityUpdate
	put := func(entity, typ string, at engram.Time, b []byte) {
		updates = append(updates, engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}})
	}
	for i := range 1000 {
		if i >= 500 && i < 600 {
			continue // a second
		}
		s := float64(i) / 100
		elbow, shoulder := math.Sin(s), 0.5*math.Cos(2*s)
		if i >= 800 {
			elbow += 0.3 // it jumps
		}
		b, err := known.Encode(map[string]any{"name": []any{"elbow", "shoulder"}, "position": []any{elbow, shoulder}})
		if err != nil {
			t.Fatal(err)
		}
		put("RobotState/Proprioception/Test/arm", typ, start.Add(time.Duration(i)*10*time.Millisecond), b)
	}
	said, _ := memories.Type("engram.speech.Text")
	for i := range 40 { // now and then
		b, err := said.Encode(map[string]any{"text": fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		put("Speech/Text/Test/somebody", "engram.speech.Text", start.Add(time.Duration(i*i)*5*time.Millisecond), b)
	}
	testkit.Commit(t, svc, updates...)
	p := open(t, svc)
	type found struct {
		List []struct {
			Kind, ID, Joint, From, To string
			Times                     float64
		}
		More  int
		Until string
	}
	look := func(from, to time.Duration) (list []string) {
		f := read[found](p, "outliers", "from", fmt.Sprint(int64(start.Add(from))), "to", fmt.Sprint(int64(start.Add(to))))
		if f.More > 0 || f.Until != "" {
			t.Errorf("%+v", f)
		}
		for _, o := range f.List {
			list = append(list, strings.TrimSpace(fmt.Sprint(o.Kind, " ", o.ID, " ", o.Joint)))
			if o.Times < 10 || o.Kind == "gap" && math.Abs(o.Times-101) > 0.5 {
				t.Errorf("%+v", o)
			}
		}
		return list
	}
	gap, jerk := "gap RobotState/Proprioception/Test/arm", "jerk RobotState/Proprioception/Test/arm elbow"
	if got := look(0, 20*time.Second); !slices.Equal(got, []string{gap, jerk}) {
		t.Errorf("%q", got)
	}
	if got := look(0, 7*time.Second); !slices.Equal(got, []string{gap}) {
		t.Errorf("%q", got)
	}
	if got := look(20*time.Second, 30*time.Second); len(got) > 0 {
		t.Errorf("%q", got)
	}
	p.refused(400, "outliers", "from", "soon")
}
