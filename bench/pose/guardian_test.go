package main

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// This test stands here because pose itself knows no recordings.

// transform is one transform of a /tf message.
type transform struct {
	parent, child string
	t             engram.Time
	pose          pose.Pose
}

// jointValue is the value of one joint in a message.
type jointValue struct {
	name string
	t    engram.Time
	q    float64
}

// ros1 reads ROS 1's serialisation: little-endian, without padding. The recording is
// a given one, so it panics where that ends.
type ros1 []byte

func (r *ros1) take(n int) []byte {
	v := (*r)[:n]
	*r = (*r)[n:]
	return v
}

func (r *ros1) count() int   { return int(binary.LittleEndian.Uint32(r.take(4))) }
func (r *ros1) text() string { return string(r.take(r.count())) }
func (r *ros1) number() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
}

func (r *ros1) time() engram.Time {
	seconds := engram.Time(r.count())
	return seconds*1e9 + engram.Time(r.count())
}

func readGuardian(t *testing.T) (transforms []transform, joints []jointValue) {
	t.Helper()
	rd, err := recording.Open(testkit.Recording(t, "guardian_palette.bag"))
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	for {
		m, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return transforms, joints
		}
		if err != nil {
			t.Fatal(err)
		}
		r := ros1(m.Data)
		switch m.Channel.Topic {
		case "/tf":
			for range r.count() {
				r.count() // sequence number
				x := transform{t: r.time(), parent: r.text(), child: r.text()}
				x.pose.T = pose.Vec3{X: r.number(), Y: r.number(), Z: r.number()}
				q := [4]float64{r.number(), r.number(), r.number(), r.number()}
				x.pose.R = pose.Quat{W: q[3], X: q[0], Y: q[1], Z: q[2]}
				transforms = append(transforms, x)
			}
		case "/joint_states":
			r.count()
			at := r.time()
			r.text()
			names := make([]string, r.count())
			for i := range names {
				names[i] = r.text()
			}
			for i := range r.count() {
				joints = append(joints, jointValue{names[i], at, r.number()})
			}
		}
	}
}

// The tilting laser mount, a joint edge fed with the recorded joint states,
// reproduces the transforms that the robot published for it.
func TestGuardianJointReproducesTransforms(t *testing.T) {
	transforms, joints := readGuardian(t)
	s := pose.New(pose.Config{})
	tilt := get(s.Joint("laser_tilt_mount_link", "laser_tilt_link", pose.JointSpec{
		Name: "laser_tilt_joint", Type: urdf.Revolute, Origin: pose.Identity(), Axis: pose.Vec3{Y: 1},
	}))
	values := 0
	for _, j := range joints {
		if j.name == "laser_tilt_joint" {
			must(tilt.Set(j.t, j.q, 0))
			values++
		}
	}
	compared := 0
	for _, x := range transforms {
		if x.child != "laser_tilt_link" {
			continue
		}
		got, _, fail := s.Lookup("laser_tilt_mount_link", "laser_tilt_link", x.t)
		if fail.Code != pose.OK {
			t.Errorf("at %v: %v", x.t, fail.Err())
			continue
		}
		if trans, rot := got.Distance(x.pose); trans > 1e-9 || rot > 1e-9 {
			t.Errorf("at %v: %v; recorded %v", x.t, got, x.pose)
		}
		compared++
	}
	if compared < 1000 {
		t.Errorf("only %d transforms were compared with %d joint values", compared, values)
	}
	t.Logf("%d transforms from %d joint values", compared, values)
}

// The recorded transforms answer every look-up within the recording.
func TestGuardianTransformsAnswer(t *testing.T) {
	transforms, _ := readGuardian(t)
	s := pose.New(pose.Config{})
	frames := map[string]bool{}
	first, last := map[string]engram.Time{}, map[string]engram.Time{}
	for _, x := range transforms {
		must(get(s.Free(x.parent, x.child)).Set(x.t, x.pose))
		frames[x.parent], frames[x.child] = true, true
		if f, ok := first[x.child]; !ok || x.t < f {
			first[x.child] = x.t
		}
		last[x.child] = max(last[x.child], x.t)
	}
	from, to := engram.MinTime, engram.MaxTime
	for child := range first {
		from, to = max(from, first[child]), min(to, last[child])
	}
	if to.Sub(from).Seconds() < 40 {
		t.Fatalf("all edges have samples from %v to %v only", from, to)
	}
	asked := 0
	for target := range frames {
		for source := range frames {
			p := get(s.Path(target, source))
			for at := from; at <= to; at += 97_000_000 {
				T, _, fail := p.At(at)
				if fail.Code != pose.OK {
					t.Fatalf("%s ← %s at %v: %v", target, source, at, fail.Err())
				}
				if _, err := T.Checked(); err != nil {
					t.Fatal(err)
				}
				asked++
			}
		}
	}
	t.Logf("%d look-ups between %d frames over %v", asked, len(frames), to.Sub(from))
}
