package world_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// down turns an optical frame so that it looks down: its z axis is the world's -z.
var down = pose.Quat{X: 1}

func TestMapsAndComponentsRoundTrip(t *testing.T) {
	eachModel(t, func(k kit) {
		m := world.Map{
			Kind: world.VisualSLAM, Describes: []string{"kitchen"}, Frame: "kitchen", Resolution: 0.05,
			Extent: &world.Box{Pose: turned, Size: pose.Vec3{X: 1, Y: 2}}, Format: "own", URL: "https://example.org/m",
			Sensors: []string{"camera"}, Algorithms: []string{"orb"}, Author: "me", Created: 7, Quality: 0.5,
			Properties: map[string]any{"words": int64(3)},
		}
		data := bytes.Repeat([]byte{1, 2, 3}, 1000)
		f := k.see(k.SetMap(k.ctx, "m", m, data))
		got, err := f.Maps().Get("m")
		if err != nil {
			k.Fatal(err)
		}
		if len(got.Map.SHA256) != 64 || got.Map.Link == (engram.ID{}) {
			k.Errorf("the checksum or the link is not there: %+v", got.Map)
		}
		if back, err := k.MapData(k.ctx, "m"); err != nil || !bytes.Equal(back, data) {
			k.Errorf("%d bytes come back, %v", len(back), err)
		}
		want := *got.Map
		want.Link, want.SHA256 = engram.ID{}, ""
		if a, b := want, m; a.Extent.Size != b.Extent.Size || a.Quality != b.Quality || a.Created != b.Created || a.Kind != b.Kind || a.Properties["words"] != int64(3) {
			k.Errorf("%+v instead of %+v", a, b)
		}
		k.see(k.SetMap(k.ctx, "m", world.Map{Format: "own", SHA256: got.Map.SHA256}, nil))
		if back, err := k.MapData(k.ctx, "m"); err != nil || !bytes.Equal(back, data) {
			k.Errorf("when more is said of a map, of its data come %d bytes, %v", len(back), err)
		}
		k.see(k.SetMap(k.ctx, "elsewhere", world.Map{Format: "own", URL: "https://example.org/m"}, nil))
		_, err = k.MapData(k.ctx, "elsewhere")
		k.code("data that are elsewhere", err, engram.NotFound)
		if !strings.Contains(err.Error(), "https://example.org/m") {
			k.Errorf("the error does not say where the data are: %v", err)
		}
		_, err = k.MapData(k.ctx, "none")
		k.code("no map", err, engram.NotFound)
		for name, bad := range map[string]world.Map{
			"nothing": {}, "resolution": {Format: "a", Resolution: math.NaN()}, "quality": {Format: "a", Quality: 2},
		} {
			_, err := k.SetMap(k.ctx, name, bad, nil)
			k.code(name, err, engram.Invalid)
		}

		c := world.Component{
			Kind: "camera", Robot: "rover", Inputs: []string{"a"}, Outputs: []string{"b"}, Frame: "optical", Running: true, StartedBy: "camera.launch",
			View: &world.View{Horizontal: 1, Vertical: 0.5, MinRange: 0.1, MaxRange: 5}, Properties: map[string]any{"fps": 30.0},
		}
		f = k.see(k.SetComponent(k.ctx, "rover/camera", c))
		if got, err := f.Components().Get("rover/camera"); err != nil || *got.Component.View != *c.View || got.Component.StartedBy != "camera.launch" || !got.Component.Running {
			k.Errorf("%+v, %v", got, err)
		}
		_, err = k.SetComponent(k.ctx, "x", world.Component{Kind: "camera", View: &world.View{}})
		k.code("a view of nothing", err, engram.Invalid)
	})
}

// TestLinksComeAndGo tells of links between items and components in each order.
func TestLinksComeAndGo(t *testing.T) {
	eachModel(t, func(k kit) {
		w, err := k.Watch(k.ctx)
		if err != nil {
			k.Fatal(err)
		}
		defer w.Close()
		var before *world.Forest
		told := func(linked ...string) {
			k.Helper()
			c, err := w.Next(k.ctx)
			if err != nil || !slices.Equal(c.Names, []string{"rover/camera"}) {
				k.Fatalf("told of %q, %v", c.Names, err)
			}
			if before != nil && before.Has("rover/camera") && c.Forest.Has("rover/camera") {
				d := world.Diff(before, c.Forest, pose.Threshold{}, c.Names...)
				if len(d) != 1 || d[0].Linked != (len(linked) > 0) || d[0].Unlinked == d[0].Linked {
					k.Errorf("the difference is %+v", d)
				}
			}
			before = c.Forest
			var got []string
			for l := range c.Forest.Components().Links() {
				got = append(got, l.Item.Name)
				if l.Item.Name != l.Component.Name {
					k.Errorf("%s is linked to %s", l.Item.Name, l.Component.Name)
				}
			}
			if !slices.Equal(got, linked) {
				k.Errorf("links are %q, not %q", got, linked)
			}
		}
		camera := world.Component{Kind: "camera"}
		k.see(k.SetComponent(k.ctx, "rover/camera", camera))
		told()
		k.put(item("rover/camera", "", 0, world.KindComponent))
		told("rover/camera")
		k.see(k.Remove(k.ctx, "rover/camera", "unplugged", world.RefuseChildren))
		told()
		k.put(item("rover/camera", "", 0, world.KindComponent))
		told("rover/camera")
		k.see(k.SetComponent(k.ctx, "rover/camera", world.Component{}))
		told()
		k.see(k.SetComponent(k.ctx, "rover/camera", camera))
		told("rover/camera")
	})
}

func TestPipes(t *testing.T) {
	k := kit{t, local(), t.Context()}
	k.see(k.SetComponent(k.ctx, "camera", world.Component{Kind: "camera", Outputs: []string{"/image", "/info"}}))
	k.see(k.SetComponent(k.ctx, "finder", world.Component{Kind: "localiser", Inputs: []string{"/image"}, Outputs: []string{"Object/Instance"}}))
	f := k.see(k.SetComponent(k.ctx, "grasper", world.Component{Kind: "planner", Inputs: []string{"Object/Instance", "/image"}}))
	want := []world.Pipe{{"camera", "/image", "finder"}, {"camera", "/image", "grasper"}, {"finder", "Object/Instance", "grasper"}}
	if got := f.Components().Pipes(); !slices.Equal(got, want) {
		t.Errorf("%v instead of %v", got, want)
	}
}

func TestChooseMaps(t *testing.T) {
	k := kit{t, local(), t.Context()}
	k.put(item("house", "", 0, "map"), item("floor", "house", 0, "map"), item("kitchen", "floor", 0, "map"), item("corner", "kitchen", 0, "map"),
		item("office", "floor", 0, "map"))
	grid := func(name string, m world.Map, describes ...string) {
		m.Describes, m.Format = describes, "map_server"
		k.see(k.SetMap(k.ctx, name, m, nil))
	}
	laser := []string{"laser2d"}
	grid("coarse", world.Map{Sensors: laser, Resolution: 0.1, Algorithms: []string{"amcl", "mcl"}}, "kitchen")
	grid("fine", world.Map{Sensors: laser, Resolution: 0.05}, "kitchen")
	grid("good", world.Map{Sensors: laser, Resolution: 0.2, Quality: 0.9}, "kitchen")
	grid("seen", world.Map{Sensors: []string{"camera"}, Kind: world.VisualSLAM}, "kitchen")
	grid("words", world.Map{Kind: world.SemanticMap}, "kitchen")
	grid("all", world.Map{Sensors: laser}, "floor")
	grid("town", world.Map{Sensors: laser}, "house")
	grid("nook", world.Map{Sensors: laser}, "corner")
	f := k.see(k.SetMap(k.ctx, "desk", world.Map{Describes: []string{"office"}}, nil))

	choose := func(q world.MapQuery, want ...string) (reasons map[string]string) {
		t.Helper()
		chosen, left, err := f.Maps().Choose(q)
		if err != nil {
			t.Fatal(err)
		}
		reasons = map[string]string{}
		var got []string
		for _, c := range chosen {
			got = append(got, c.Name)
			reasons[c.Name] = strings.Join(c.Reasons, "; ")
		}
		for _, c := range left {
			reasons[c.Name] = strings.Join(c.Reasons, "; ")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %q instead of %q", q, got, want)
		}
		if len(chosen)+len(left) != 9 {
			t.Errorf("%d maps are chosen and %d left out, of 9", len(chosen), len(left))
		}
		return reasons
	}
	why := choose(world.MapQuery{Place: "kitchen", Sensors: laser}, "good", "fine", "coarse", "words", "all", "town", "nook")
	for name, part := range map[string]string{
		"good": "describes kitchen itself; needs the sensor laser2d, which you have; quality 0.9; resolution 0.2 m; best quality",
		"all":  "describes floor, which kitchen is in", "nook": "describes corner, a part of kitchen", "words": "needs no sensor",
		"seen": "needs the sensor camera, which you do not have", "desk": "describes office, which is not kitchen",
	} {
		if !strings.Contains(why[name], part) {
			t.Errorf("%s is told as %q, not %q", name, why[name], part)
		}
	}
	why = choose(world.MapQuery{Place: "kitchen", Sensors: laser, Algorithms: []string{"amcl"}}, "coarse", "good", "fine", "words", "all", "town", "nook")
	if !strings.Contains(why["coarse"], "made for amcl, which you have") {
		t.Error(why["coarse"])
	}
	choose(world.MapQuery{Place: "kitchen", Kind: new(world.VisualSLAM)}, "seen")
	choose(world.MapQuery{Place: "corner", Algorithms: []string{"other"}, Sensors: laser}, "nook", "good", "fine", "words", "all", "town")
	_, _, err := f.Maps().Choose(world.MapQuery{Place: "garage"})
	k.code("no place", err, engram.NotFound)
}

func TestCovers(t *testing.T) {
	k := kit{t, local(), t.Context()}
	put := func(name, parent string, p pose.Pose, size *pose.Vec3, kinds ...string) {
		d := &world.Description{Kinds: kinds}
		if size != nil {
			d.Box = &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: *size}
		}
		k.put(world.NamedItem{Name: name, Item: world.Item{Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Pose: p}, Description: d}})
	}
	put("kitchen", "", pose.Identity(), nil, "map")
	put("table", "kitchen", pose.Translation(0, 0, 0), &pose.Vec3{X: 1, Y: 1, Z: 0.8}, "object")
	put("cup", "table", pose.Translation(0, 0, 0.8), &pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1}, "object")
	put("ball", "kitchen", pose.Translation(0, 0, 0.01), nil, "object") // under the table, whose box is solid
	put("ceiling", "kitchen", pose.Pose{T: pose.Vec3{Z: 3}, R: down}, nil, "component")
	put("low", "kitchen", pose.Pose{T: pose.Vec3{Z: 2}, R: down}, nil, "component")
	put("wall", "kitchen", pose.Pose{T: pose.Vec3{X: -3, Z: 0.4}, R: pose.Quat{W: 0.5, X: -0.5, Y: 0.5, Z: -0.5}}, nil, "component") // z ahead is x, y down is -z
	put("far", "", pose.Identity(), nil, "component")
	view := &world.View{Horizontal: 1, Vertical: 1, MaxRange: 4}
	k.see(k.SetComponent(k.ctx, "ceiling", world.Component{Kind: "camera", View: view, Running: true, StartedBy: "ceiling.launch"}))
	k.see(k.SetComponent(k.ctx, "low", world.Component{Kind: "camera", View: view, StartedBy: "low.launch"}))
	k.see(k.SetComponent(k.ctx, "wall", world.Component{Kind: "laser", View: &world.View{Horizontal: 2 * math.Pi, MaxRange: 10}}))
	k.see(k.SetComponent(k.ctx, "far", world.Component{Kind: "camera", View: view}))
	k.see(k.SetComponent(k.ctx, "lost", world.Component{Kind: "camera", View: view}))
	f := k.see(k.SetComponent(k.ctx, "blind", world.Component{Kind: "motor"}))

	check := func(what string, covers []world.Cover, unknown []world.Uncovered, err error, want ...string) {
		t.Helper()
		var got []string
		for _, c := range covers {
			got = append(got, c.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v instead of %q", what, got, err, want)
		}
		if len(unknown) != 2 || unknown[0].Name != "far" || unknown[1].Name != "lost" {
			t.Errorf("%s: not known of %v", what, unknown)
		}
	}
	covers, unknown, err := f.Components().CoverItem("cup")
	check("cup", covers, unknown, err, "ceiling", "low") // the flat laser passes below it
	if d := covers[0].Distance; math.Abs(d-2.1) > 1e-3 || covers[0].Share != 1 {
		t.Errorf("the ceiling reaches %g of the cup at %g m", covers[0].Share, d)
	}
	covers, unknown, err = f.Components().CoverItem("table")
	check("table", covers, unknown, err, "ceiling", "low", "wall")
	covers, unknown, err = f.Components().CoverItem("ball")
	check("ball", covers, unknown, err)
	covers, unknown, err = f.Components().CoverPoint("kitchen", pose.Vec3{X: 0.7, Z: 1})
	check("point", covers, unknown, err, "ceiling")
	_, _, err = f.Components().CoverPoint("kitchen", pose.Vec3{X: math.NaN()})
	k.code("no point", err, engram.Invalid)
	_, _, err = f.Components().CoverItem("nothing")
	k.code("no item", err, engram.NotFound)

	// A place is reached in part, and its outline counts rather than its origin.
	outline := []pose.Vec3{{X: -1, Y: -1}, {X: 9, Y: -1}, {X: 9, Y: 1}, {X: -1, Y: 1}}
	k.put(world.NamedItem{Name: "kitchen", Item: world.Item{Description: &world.Description{
		Kinds: []string{"map"}, Shape: &world.Shape{Kind: world.ShapePolygon, Outline: outline},
	}}})
	f, err = k.View(k.ctx)
	if err != nil {
		t.Fatal(err)
	}
	covers, unknown, err = f.Components().CoverItem("kitchen")
	check("kitchen", covers, unknown, err, "ceiling", "low", "wall")
	if s := covers[0].Share; s < 0.1 || s > 0.5 {
		t.Errorf("the ceiling reaches %g of the kitchen", s)
	}
}

func TestValuesOfJointsRefine(t *testing.T) {
	svc := newServer(t)
	prior, touch := kit{t, over(t, svc, "prior"), t.Context()}, kit{t, over(t, svc, "touch"), t.Context()}
	prior.put(item("cupboard", "", 0), item("door", "cupboard", 1))
	door := world.Articulation{
		Base: "cupboard", Moved: "door", Kind: world.Revolute, Pose: pose.Identity(), Limits: &world.Limits{Upper: 1.5}, Radius: 0.4,
	}
	mark, err := prior.Articulate(prior.ctx, "hinge", door)
	touch.see(mark, err)
	mark, err = touch.Articulate(touch.ctx, "hinge", world.Articulation{Value: new(1.2), Sigma: 0.01})
	f := touch.see(mark, err)
	has := func(value, radius float64) {
		t.Helper()
		j, err := f.Joints().Get("hinge")
		if err != nil || j.Value == nil || *j.Value != value || j.Radius != radius || j.Base != "cupboard" {
			t.Errorf("%+v, %v; value %g and radius %g are expected", j.Articulation, err, value, radius)
		}
	}
	has(1.2, 0.4)
	if j, _ := f.Joints().Get("hinge"); j.Described.Provider != "prior" || j.Sigma != 0.01 {
		t.Errorf("described by %s, sigma %g", j.Described.Provider, j.Sigma)
	}
	touch.at(f, "cupboard", "door", math.Cos(1.2))

	// A better description leaves the value as it is.
	door.Radius = 0.45
	f = touch.see(prior.Articulate(prior.ctx, "hinge", door))
	has(1.2, 0.45)

	_, err = touch.Articulate(touch.ctx, "hinge", world.Articulation{Value: new(1.6)})
	touch.code("beyond the limits", err, engram.OutOfRange)
	if !strings.Contains(err.Error(), "from 0 to 1.5") {
		t.Errorf("the limits are not named: %v", err)
	}
	_, err = touch.Articulate(touch.ctx, "lid", world.Articulation{Value: new(1.6)})
	touch.code("no such joint", err, engram.NotFound)
	_, err = touch.Articulate(touch.ctx, "hinge", world.Articulation{Value: new(math.NaN())})
	touch.code("no value", err, engram.Invalid)
	_, err = touch.Articulate(touch.ctx, "hinge", world.Articulation{})
	touch.code("nothing said", err, engram.Invalid)

	// Who described it and states a value keeps the description.
	f = touch.see(prior.Articulate(prior.ctx, "hinge", world.Articulation{Value: new(0.5)}))
	has(0.5, 0.45)
	f = touch.see(prior.Articulate(prior.ctx, "hinge", door))
	has(0.5, 0.45)

	var all []string
	for j := range f.Joints().All() {
		all = append(all, j.Name)
	}
	if !slices.Equal(all, []string{"hinge"}) {
		t.Errorf("joints are %q", all)
	}
}
