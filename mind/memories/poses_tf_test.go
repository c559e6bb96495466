package memories

import (
	"encoding/csv"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// readRows reads a CSV file with a header.
func readRows(t *testing.T, file string) []map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t *testing.T, row map[string]string, name string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(row[name], 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func stamp(t *testing.T, row map[string]string, name string) engram.Time {
	t.Helper()
	ns, err := strconv.ParseInt(row[name], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return engram.Time(ns)
}

// Transforms committed as imports of /tf commit them, in the order of time and in
// disorder, answer as libtf2 does: one frame changes its parent on the way. The
// intended differences are those of docs/pose.md.
func TestPosesTransformsOracle(t *testing.T) {
	folder := testkit.Shared(t, "oracle", "transforms")
	samples, queries := readRows(t, filepath.Join(folder, "samples.csv")), readRows(t, filepath.Join(folder, "queries.csv"))
	for name, shuffle := range map[string]bool{"in order": false, "in disorder": true} {
		t.Run(name, func(t *testing.T) {
			s, p := newPoseServer(t)
			order := make([]int, len(samples))
			for i := range order {
				order[i] = i
			}
			if shuffle {
				r := rand.New(rand.NewPCG(1, 2))
				r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			for _, i := range order {
				r := samples[i]
				value := map[string]any{
					"parent_frame_id": r["parent"], "child_frame_id": r["child"], "is_static": r["static"] == "1",
					"translation": map[string]any{"x": number(t, r, "x"), "y": number(t, r, "y"), "z": number(t, r, "z")},
					"rotation":    map[string]any{"w": number(t, r, "qw"), "x": number(t, r, "qx"), "y": number(t, r, "qy"), "z": number(t, r, "qz")},
				}
				mustPut(t, s, "RobotState/Localization/r/"+r["parent"]+","+r["child"], stamp(t, r, "stamp_ns"), value)
			}
			wantLeftOut(t, p, map[string]uint64{})
			checkTransforms(t, p, queries)
			again := newPoses(DefaultPoseRetention())
			if err := again.start(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			checkTransforms(t, again.service, queries)
		})
	}
}

func checkTransforms(t *testing.T, p lookup.Service, queries []map[string]string) {
	t.Helper()
	questions := make([]lookup.Question, len(queries))
	for i, r := range queries {
		q := lookup.Question{Target: "r/" + r["target"], Source: "r/" + r["source"], Time: stamp(t, r, "target_t_ns")}
		switch {
		case r["kind"] != "simple":
			q.When, q.SourceTime, q.Fixed = lookup.Between, stamp(t, r, "source_t_ns"), "r/"+r["fixed"]
		case q.Time == 0:
			q.When = lookup.LatestCommon
		}
		questions[i] = q
	}
	answers, err := p.LookUp(t.Context(), questions)
	if err != nil {
		t.Fatal(err)
	}
	status := map[pose.FailureCode]string{
		pose.OK: "ok", pose.UnknownFrame: "lookup", pose.NotConnected: "connectivity", pose.TooOld: "extrapolation", pose.TooNew: "extrapolation",
	}
	found := map[string]int{}
	for i, r := range queries {
		a := answers[i]
		fail, ok := errors.AsType[pose.Failure](a.Err)
		if !ok && a.Err != nil {
			t.Fatalf("query %d %v: %v", i, r, a.Err)
		}
		switch got := status[fail.Code]; {
		case r["kind"] != "simple" && (questions[i].Time == 0 || questions[i].SourceTime == 0):
			found["latest on one leg"]++ // LookUp has no such question
		case got == "ok" && r["status"] == "ok":
			want := pose.Pose{
				T: pose.Vec3{X: number(t, r, "x"), Y: number(t, r, "y"), Z: number(t, r, "z")},
				R: pose.Quat{W: number(t, r, "qw"), X: number(t, r, "qx"), Y: number(t, r, "qy"), Z: number(t, r, "qz")},
			}
			if trans, rot := a.Pose.Distance(want); trans > 1e-9 || rot > 1e-7 {
				t.Errorf("query %d %v: %v", i, r, a.Pose)
			}
			found["ok"]++
		case got == r["status"]:
			found[got]++
		default:
			found[r["status"]+" there, here "+fail.Code.Code().String()]++
		}
	}
	want := map[string]int{
		"ok": 1816, "lookup": 23, "connectivity": 52, "extrapolation": 98, "latest on one leg": 95,
		"ok there, here out of range": 14, "extrapolation there, here not found": 2,
	}
	if !maps.Equal(found, want) {
		t.Errorf("%v, want %v", found, want)
	}
}

// A child on /tf that changes its parent, back and forth, with what came late.
func TestPosesFollowTheParentsOnTF(t *testing.T) {
	s, p := newPoseServer(t)
	drive(t, s)
	tf := func(at engram.Time, parent string, x float64) error {
		return put(t, s, "RobotState/Localization/rover1/"+parent+",mug", at, placed(parent, "mug", x, 0))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tf(1*second, "tray", 1))
	must(tf(1*second+5e8, "head", 2))
	must(tf(2*second, "head", 3))
	must(tf(2*second+5e8, "tray", 4))
	must(tf(1*second+4e8, "tray", 5))  // late, before the change
	must(tf(1*second+45e7, "head", 6)) // late: the change was earlier than was known
	must(tf(3*second, "tray", 7))
	at(t, p, "rover1/tray", "rover1/mug", 1*second, 1, 0, 0)
	at(t, p, "rover1/tray", "rover1/mug", 1*second+4e8, 5, 0, 0)
	at(t, p, "rover1/head", "rover1/mug", 1*second+45e7, 6, 0, 0)
	at(t, p, "rover1/head", "rover1/mug", 1*second+75e7, 2.5, 0, 0)
	at(t, p, "rover1/tray", "rover1/mug", 2*second+75e7, 5.5, 0, 0)
	// Nothing interpolates across a change.
	for _, across := range []engram.Time{1*second + 42e7, 2*second + 25e7} {
		if a := ask(t, p, "rover1/tray", "rover1/mug", across); engram.CodeOf(a.Err) != engram.OutOfRange {
			t.Errorf("at %v: %+v", across, a)
		}
	}
	if err := tf(2*second, "tray", 8); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("two parents at one time: %v", err)
	}
	if err := put(t, s, "RobotState/Localization/rover1/detector", 2*second, placed("base", "mug", 1, 0)); engram.CodeOf(err) != engram.Conflict {
		t.Errorf("a second parent from another source: %v", err)
	}
	wantLeftOut(t, p, map[string]uint64{})
	again := newPoses(DefaultPoseRetention())
	if err := again.start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	at(t, again.service, "rover1/head", "rover1/mug", 1*second+75e7, 2.5, 0, 0)
	at(t, again.service, "rover1/tray", "rover1/mug", 2*second+75e7, 5.5, 0, 0)

	// Two publishers that disagree for ever are refused at some time.
	var err error
	n := engram.Time(0)
	for ; n < 1000 && err == nil; n++ {
		err = tf(4*second+n*1e6, []string{"head", "tray"}[n%2], 1)
	}
	if engram.CodeOf(err) != engram.Exhausted || n > maxParentChanges {
		t.Errorf("after %d changes of the parent: %v", n, err)
	}
}
