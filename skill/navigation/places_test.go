package navigation_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

// located is a world with named locations.
type located struct {
	*world.Local
	locations []world.Location
}

func (l *located) Locations(context.Context, string) ([]world.Location, error) {
	return l.locations, nil
}

// Words lead to poses: of locations, near items, in places.
func TestPlaces(t *testing.T) {
	m := furnished(t)
	ctx := t.Context()
	cup := thing("cup", "table", 0.6, 0, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}, world.KindObject)
	cup.Placement.Pose.T.Z, cup.Description.SpokenNames = 0.7, []string{"mug"}
	nook := thing("nook", "hall", 9, 9, pose.Vec3{X: 1, Y: 1, Z: 3}, world.KindMap)
	nook.Description.SpokenNames = []string{"quiet corner"}
	state(t, m, cup, nook)
	at := func(x, y, yaw float64) pose.Pose { return pose.Pose{T: pose.Vec3{X: x, Y: y}, R: pose.RPY(0, 0, yaw)} }
	w := &located{m, []world.Location{
		{Name: "charger", Said: world.Said{Provider: "anna", Time: 1}, Names: []string{"Charging station"}, Frame: "hall", Pose: at(9, 1, math.Pi/2)},
		{Name: "beside", Said: world.Said{Provider: "anna"}, Frame: "table", Pose: at(-1.5, 0, 0)},
		{Name: "moon", Said: world.Said{Provider: "anna"}, Frame: "moon", Pose: at(0, 0, 0)},
	}}
	p := &navigation.Places{Floor: openFloor(t, w), World: w}
	from := navigation.Point{X: 1, Y: 5}
	for _, c := range []struct {
		text      string
		x, y, yaw float64
		near      float64
		link      string
	}{
		{"2,3", 2, 3, 0, 0, ""},
		{"-0.5, 3, 1.5", -0.5, 3, 1.5, 0, ""},
		{"charger", 9, 1, math.Pi / 2, 0, "Navigation/Location/anna/charger"},
		{"the charging station", 9, 1, math.Pi / 2, 0, "Navigation/Location/anna/charger"},
		{"Navigation/Location/anna/beside", 3.5, 5, 0, 0, "Navigation/Location/anna/beside"},
		{"table", 3.7, 5, 0, 0.3, "World/Item/anna/table"},
		{"World/Item/anna/table", 3.7, 5, 0, 0.3, "World/Item/anna/table"},
		// The right end of the table is nearest to the cup.
		{"the mug", 5.9, 5.5, math.NaN(), 0.8, "World/Item/anna/cup"},
		{"quiet corner", 9, 9, math.NaN(), 0.1, "World/Item/anna/nook"},
	} {
		g, err := p.Resolve(ctx, c.text, from)
		if err != nil || g.Distance(navigation.Point{X: c.x, Y: c.y}) > c.near+1e-9 || math.Abs(g.Yaw-c.yaw) > 0.1 && !math.IsNaN(c.yaw) {
			t.Errorf("%s: %+v, %v", c.text, g, err)
		}
		if c.link != "" && g.Link.String() != c.link || c.link == "" && !g.Link.IsRoot() {
			t.Errorf("%s: the goal is %v", c.text, g.Link)
		}
		if err == nil && c.near > 0 && !enterable(p.Floor, g.X, g.Y) {
			t.Errorf("%s: the robot cannot be at %v", c.text, g.Point)
		}
	}
	g, err := p.Resolve(ctx, "cup", from)
	if err != nil || g.AnyYaw {
		t.Fatal(g, err)
	}
	if to := math.Atan2(5-g.Y, 5.6-g.X); math.Abs(to-g.Yaw) > 0.05 {
		t.Errorf("from %v it does not face the cup", g)
	}
	for _, c := range []struct {
		text string
		code engram.Code
		says string
	}{
		{"tabel", engram.NotFound, "did you mean table?"},
		{"unicorn", engram.NotFound, "no location or item"},
		{"moon", engram.NotFound, "moon"},
		{"Navigation/Location/anna/nowhere", engram.NotFound, "no such location"},
		{"World/Item/anna/nothing", engram.NotFound, "no such item"},
	} {
		if _, err := p.Resolve(ctx, c.text, from); engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	// What is walled in is not reached.
	state(t, m, thing("gem", "hall", 7, 2, pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}, world.KindObject),
		thing("n", "hall", 7, 4, pose.Vec3{X: 4, Y: 0.2, Z: 1}), thing("s", "hall", 7, 0.1, pose.Vec3{X: 4, Y: 0.2, Z: 1}),
		thing("w", "hall", 5, 2, pose.Vec3{X: 0.2, Y: 4, Z: 1}), thing("e", "hall", 9, 2, pose.Vec3{X: 0.2, Y: 4, Z: 1}))
	p.Floor = openFloor(t, w)
	_, err = p.Resolve(ctx, "gem", from)
	if failure, ok := errors.AsType[*navigation.Failure](err); !ok || failure.Reason != navigation.Unreachable || !strings.Contains(err.Error(), "gem") {
		t.Errorf("what is walled in: %v", err)
	}
}
