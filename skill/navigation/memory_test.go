package navigation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

// A robot drives to an item of the world of a server, around what is put into its way, and all of it is in
// the server's memory.
func TestDriveInAMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := server.New(server.Config{Memories: []server.Memory{memories.Navigation(), memories.World(), memories.Object()}})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		w, err := world.Over(t.Context(), srv, "anna", world.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		state(t, w, thing("hall", "", 0, 0, pose.Vec3{X: 10, Y: 10, Z: 3}, world.KindMap),
			thing("table", "hall", 8, 5, pose.Vec3{X: 0.8, Y: 0.8, Z: 0.7}, world.KindObject),
			thing("cup", "table", 0.2, 0.2, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}, world.KindObject))
		if _, err := w.SetMap(t.Context(), "floorplan", hall.Map([]string{"hall"}, "hall"), hall.Data); err != nil {
			t.Fatal(err)
		}
		floor, err := navigation.OpenFloor(t.Context(), w, "floorplan", navigation.FloorOptions{Robot: "rover"})
		if err != nil {
			t.Fatal(err)
		}
		defer floor.Close()
		go func() { _ = floor.Follow(t.Context()) }()
		clock := navigation.NewScaledClock(engram.Now(), 1)
		robot := navigation.NewSimulated(clock, navigation.Pose2D{Point: navigation.Point{X: 1, Y: 5}}, 0.3, nil)
		n, err := navigation.New(t.Context(), navigation.Options{Floor: floor, Platform: robot, Clock: clock, Record: srv, Robot: "rover"})
		if err != nil {
			t.Fatal(err)
		}
		places := &navigation.Places{Floor: floor, World: w}
		goal, err := places.Resolve(t.Context(), "the cup", navigation.Point{X: 1, Y: 5})
		if err != nil {
			t.Fatal(err)
		}
		driven := make(chan navigation.Result, 1)
		go func() {
			r, err := n.Go(t.Context(), goal)
			if err != nil {
				t.Error(err)
			}
			driven <- r
		}()
		for clock.Now() < engram.Now() || n.Plan() == nil {
			synctest.Wait()
		}
		state(t, w, thing("shelf", "hall", 5, 5, pose.Vec3{X: 0.5, Y: 4, Z: 2}, world.KindObject))
		r := <-driven
		if r.Unrecorded != nil || r.Final.Distance(goal.Point) > 0.1 {
			t.Fatalf("%+v", r)
		}
		all, err := srv.Query(t.Context(), engram.MustPattern("Navigation/*/Navigator/rover").Select(engram.All()))
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		blamed := false
		for it := range all.All() {
			count[it.ID.CoreSegment()]++
			typ, _ := memories.Type(it.Instances[0].Payload.Type)
			v, err := typ.Decode(it.Instances[0].Payload.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			by, _ := v.(map[string]any)["blocked_by"].(engram.ID)
			blamed = blamed || by.String() == "World/Item/anna/shelf"
		}
		if count["Plan"] != 2 || count["Result"] != 1 || count["Event"] != len(r.Events) || !blamed {
			t.Errorf("the memory has %v; the shelf is blamed: %t", count, blamed)
		}
	})
}

// A drive to an item goes where that is, not where it was: while it is moved, when it is moved out of reach and
// back, and when it is taken away at the last moment.
func TestDriveFollowsTheGoal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := furnished(t)
		cup := func(x, y float64) world.NamedItem {
			return thing("cup", "hall", x, y, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}, world.KindObject)
		}
		state(t, m, cup(9, 9))
		floor := openFloor(t, m)
		defer floor.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = floor.Follow(ctx) }()
		clock, notes := navigation.NewScaledClock(engram.Now(), 1), &notebook{}
		aside := func(navigation.Pose2D) {}
		robot := navigation.NewSimulated(clock, navigation.Pose2D{Point: navigation.Point{X: 1, Y: 1}}, 0.3, func(p navigation.Pose2D) []navigation.Obstacle {
			aside(p)
			return nil
		})
		n, err := navigation.New(ctx, navigation.Options{Floor: floor, Platform: robot, Clock: clock, Record: notes, Robot: "rover", Patience: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		places := &navigation.Places{Floor: floor, World: m}
		toCup := func(changes ...func()) navigation.Result {
			t.Helper()
			at, _ := robot.Pose(ctx)
			g, err := places.Resolve(ctx, "the cup", at.Point)
			if err != nil {
				t.Fatal(err)
			}
			for i, change := range changes {
				time.AfterFunc(time.Duration(i+1)*2*time.Second, change)
			}
			r, err := n.Go(ctx, g)
			if err != nil {
				t.Fatalf("%+v: %v, %v", r, err, notes.kinds(t))
			}
			return r
		}
		near := func(r navigation.Result, x, y float64) {
			t.Helper()
			to := navigation.Point{X: x, Y: y}
			if d := r.Final.Distance(to); d > 1.4 || r.Goal.Distance(to) > 1.4 {
				t.Errorf("the cup is at %v; it ended at %v, for the goal %v", to, r.Final, r.Goal)
			}
			if off := math.Remainder(math.Atan2(y-r.Final.Y, x-r.Final.X)-r.Final.Yaw, 2*math.Pi); math.Abs(off) > 0.3 {
				t.Errorf("it does not face the cup: %v", r.Final)
			}
		}
		near(toCup(func() { state(t, m, cup(9, 5)) }, func() { state(t, m, cup(9, 1)) }), 9, 1)
		var messages []string
		for _, e := range notes.of(t, "Event") {
			if fmt.Sprint(e["kind"]) == "Replanned" {
				messages = append(messages, e["message"].(string))
			}
		}
		if len(messages) != 2 || !strings.HasPrefix(messages[0], "cup was moved by 4.00 m: ") || !strings.HasPrefix(messages[1], "cup was moved by 4.00 m: ") {
			t.Errorf("it was planned anew: %q", messages)
		}
		// Off the floor nothing leads to it; then it is back.
		state(t, m, cup(9, 9))
		near(toCup(func() { state(t, m, cup(30, 30)) }, func() {}, func() {}, func() { state(t, m, cup(1, 9)) }), 1, 9)
		// It is taken away when the robot is all but there.
		state(t, m, cup(9, 9))
		taken := false
		aside = func(p navigation.Pose2D) {
			if !taken && p.Distance(navigation.Point{X: 9, Y: 9}) < 0.75 {
				taken = true
				state(t, m, cup(9, 5))
			}
		}
		near(toCup(), 9, 5)
		if !taken {
			t.Error("it never came near")
		}
		// It stays out of reach.
		at, _ := robot.Pose(ctx)
		g, err := places.Resolve(ctx, "the cup", navigation.Point{X: at.X, Y: at.Y})
		if err != nil {
			t.Fatal(err)
		}
		state(t, m, cup(30, 30))
		if r, err := n.Go(ctx, g); !errors.Is(err, engram.Unavailable) || !strings.Contains(err.Error(), "cup") || r.EndedBy != navigation.LocalPlanningFailed {
			t.Errorf("%+v: %v", r, err)
		}
	})
}
