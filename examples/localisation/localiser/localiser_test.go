package localiser_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/camera"
	"github.com/seed-301d4374/engram/examples/localisation/knowledge"
	"github.com/seed-301d4374/engram/examples/localisation/localiser"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T) *server.Server {
	t.Helper()
	all := memories.All(memories.WithPriorKnowledge(knowledge.Files))
	s, err := server.New(server.Config{Memories: all, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func commit(t *testing.T, s *server.Server, c engram.Commit) {
	t.Helper()
	r, err := s.Commit(t.Context(), c)
	if err == nil {
		err = engram.FirstError(r)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// begun runs a localiser and returns what it tells, its end, and how to end it.
func begun(t *testing.T, s *server.Server, task localiser.Task) (seen chan localiser.Seen, end func() error) {
	t.Helper()
	l, err := localiser.New(s, localiser.Config{Provider: camera.Provider, Camera: camera.Name, Poses: s.Poses(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen = make(chan localiser.Seen, 100)
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, task, func(s localiser.Seen) { seen <- s }) }()
	return seen, func() error {
		cancel()
		return testkit.Receive(t, done)
	}
}

// read returns an instance with its members.
func read(t *testing.T, s *server.Server, id engram.ID) (engram.Instance, map[string]any) {
	t.Helper()
	at, _ := id.Time()
	r, err := s.Query(t.Context(), engram.SelectID(id.Truncate(engram.LevelEntity), engram.At(at)))
	if err != nil || len(r.Items()) != 1 {
		t.Fatalf("%s: %v, %v", id, r, err)
	}
	in := r.Items()[0].Instances[0]
	typ, _ := memories.Type(in.Payload.Type)
	v, err := typ.Decode(in.Payload.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return in, v.(map[string]any)
}

func poseOf(v any) pose.Pose {
	m := v.(map[string]any)
	at, turn := m["position"].(map[string]any), m["orientation"].(map[string]any)
	f := func(m map[string]any, k string) float64 { x, _ := m[k].(float64); return x }
	return pose.Pose{T: pose.Vec3{X: f(at, "x"), Y: f(at, "y"), Z: f(at, "z")}, R: pose.Quat{W: f(turn, "w"), X: f(turn, "x"), Y: f(turn, "y"), Z: f(turn, "z")}}
}

// TestLocalise runs the camera, the memory and the localiser, and looks at each commit:
// the poses against the truth, and the links.
func TestLocalise(t *testing.T) {
	s := newServer(t)
	driver := camera.New(engram.Time(1.7e18), 1)
	commit(t, s, driver.Setup())
	seen, end := begun(t, s, localiser.Task{Frame: camera.Map})
	for image := range 4 {
		commit(t, s, driver.Image(image))
		var look localiser.Seen
		for look = testkit.Receive(t, seen); look.Time != driver.Time(image); look = testkit.Receive(t, seen) {
		}
		truth := camera.Truth(image)
		found := map[string]bool{}
		for _, id := range look.Objects {
			in, m := read(t, s, id)
			class := m["object_class"].(engram.ID).Entity()
			found[class] = true
			if id.Entity() != class {
				t.Errorf("image %d: the only %s is called %s", image, class, id.Entity())
			}
			got, want := poseOf(m["pose"]), truth[class]
			far, turned := got.Distance(want)
			if class == "cereals" || class == "tea" { // a box looks the same after half a turn
				_, half := got.Mul(pose.Pose{R: pose.RPY(0, 0, math.Pi)}).Distance(want)
				turned = min(turned, half)
			}
			cov := m["pose_covariance"].([]any)
			sigma := math.Sqrt(cov[0].(float64) + cov[7].(float64) + cov[14].(float64))
			t.Logf("image %d: %s off by %.1f mm and %.2f°, σ %.1f mm, confidence %.2f", image, class, 1000*far, turned*180/math.Pi, 1000*sigma, in.Confidence)
			if far > 0.015 || turned*180/math.Pi > 3 || far > 5*sigma+0.003 {
				t.Errorf("image %d: %s is off by %.4f m and %.2f°, and says %.4f m", image, class, far, turned*180/math.Pi, sigma)
			}
			if m["frame_id"] != camera.Map || m["timestamp"] != driver.Time(image) || in.Confidence <= 0.3 || in.Confidence > 1 {
				t.Errorf("image %d: %s in %v at %v, confidence %v", image, class, m["frame_id"], m["timestamp"], in.Confidence)
			}
			at := driver.Time(image)
			for member, link := range map[string]engram.ID{
				"source_image":       engram.MustID("Vision/ImageRGB/Camera/head").At(at).Instance(0),
				"source_depth":       engram.MustID("Vision/ImageDepth/Camera/head").At(at).Instance(0),
				"robot_localization": engram.MustID("RobotState/Localization/Camera/map,base").At(at).Instance(0),
				"object_class":       engram.MustID("Object/Class/PriorKnowledge/" + class),
			} {
				if m[member] != link {
					t.Errorf("image %d: %s of %s is %v, want %v", image, member, class, m[member], link)
				}
			}
		}
		for class := range truth {
			if !found[class] {
				t.Errorf("image %d: no %s was found", image, class)
			}
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// What was asked for by name is found, and nothing else; without a frame the poses are in
// the camera's.
func TestLocaliseOneClass(t *testing.T) {
	s := newServer(t)
	driver := camera.New(engram.Time(1.7e18), 1)
	commit(t, s, driver.Setup())
	commit(t, s, driver.Image(0))
	seen, end := begun(t, s, localiser.Task{Classes: []string{"tools"}})
	look := testkit.Receive(t, seen)
	if err := end(); err != nil {
		t.Error(err)
	}
	if len(look.Objects) != 1 {
		t.Fatalf("found %v", look.Objects)
	}
	_, m := read(t, s, look.Objects[0])
	if m["frame_id"] != camera.Frame || m["object_class"].(engram.ID).Entity() != "toolbox" {
		t.Errorf("found %v in %v", m["object_class"], m["frame_id"])
	}
}

// What is missing is said at once.
func TestLocaliserSaysWhatIsMissing(t *testing.T) {
	s := newServer(t)
	l, err := localiser.New(s, localiser.Config{Provider: camera.Provider, Camera: camera.Name, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), localiser.Task{Classes: []string{"elephant"}}, func(localiser.Seen) {}); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a class that nobody knows: %v", err)
	}
	if _, err := localiser.New(s, localiser.Config{}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("no name: %v", err)
	}
}

// waited waits until a localiser says that it waits for something.
func waited(t *testing.T, seen chan localiser.Seen, want string) {
	t.Helper()
	for look := testkit.Receive(t, seen); look.Awaits != want; look = testkit.Receive(t, seen) {
		if look.Time != 0 {
			t.Fatalf("an image was looked at: %+v, and not waited for %s", look, want)
		}
	}
}

// only returns a part of what a driver commits.
func only(c engram.Commit, segments ...string) (part engram.Commit) {
	for _, u := range c.Updates {
		if slices.Contains(segments, u.Entity.CoreSegment()) {
			part.Updates = append(part.Updates, u)
		}
	}
	return part
}

// A camera that is still starting is waited for, whatever it commits first.
func TestCameraIsStarting(t *testing.T) {
	s := newServer(t)
	driver := camera.New(engram.Time(1.7e18), 1)
	seen, end := begun(t, s, localiser.Task{Frame: camera.Map})
	waited(t, seen, "the first image of Vision/ImageRGB/Camera/head")
	commit(t, s, only(driver.Image(0), "ImageDepth"))
	commit(t, s, only(driver.Image(0), "ImageRGB"))
	waited(t, seen, "the camera's calibration, Vision/Calibration/Camera/head")
	commit(t, s, only(driver.Setup(), "Calibration"))
	waited(t, seen, "the place of head_camera in map")
	commit(t, s, only(driver.Setup(), "Localization"))
	commit(t, s, driver.Image(1))
	look := testkit.Receive(t, seen)
	for ; look.Time == 0; look = testkit.Receive(t, seen) {
	}
	if look.Time != driver.Time(1) || look.Awaits != "" || len(look.Objects) != len(camera.Truth(1)) {
		t.Errorf("%+v", look)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// What has no marker waits for depth; what has one does not, and the rest is told.
func TestDepthIsStarting(t *testing.T) {
	s := newServer(t)
	driver := camera.New(engram.Time(1.7e18), 1)
	commit(t, s, driver.Setup())
	commit(t, s, only(driver.Image(0), "ImageRGB", "Localization"))
	const depth = "the first image of Vision/ImageDepth/Camera/head"
	seen, end := begun(t, s, localiser.Task{Classes: []string{"tea", "toolbox"}})
	if look := testkit.Receive(t, seen); look.Awaits != depth || len(look.Objects) != 1 {
		t.Errorf("%+v", look)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	seen, end = begun(t, s, localiser.Task{Classes: []string{"tea"}})
	waited(t, seen, depth)
	commit(t, s, only(driver.Image(0), "ImageDepth"))
	if look := testkit.Receive(t, seen); look.Awaits != "" || len(look.Objects) != 1 {
		t.Errorf("%+v", look)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
