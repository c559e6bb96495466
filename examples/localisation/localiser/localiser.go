package localiser

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
)

// Config says what a localiser works with.
type Config struct {
	// Camera is the provider segment and entity of the images in Vision/ImageRGB,
	// Vision/ImageDepth and Vision/Calibration, such as "Camera/head".
	Provider, Camera string
	// Poses says where frames are; nil if nobody does. Then poses are in the camera's frame.
	Poses service.Service
	// As is the provider segment of Object/Instance that is written; "Localizer" if empty.
	As  string
	Log *slog.Logger // nil for the default one
}

// Localiser finds objects in the images of a camera. It is not safe for concurrent use.
type Localiser struct {
	svc   engram.Service
	poses service.Service
	log   *slog.Logger

	rgb, depth, lens, instances engram.ID

	last engram.Time // of the image that was looked at last
}

// New returns a localiser of a memory. The error is Invalid for names that are none.
func New(svc engram.Service, c Config) (*Localiser, error) {
	l := &Localiser{svc: svc, poses: c.Poses, log: c.Log}
	if l.log == nil {
		l.log = slog.Default()
	}
	if c.As == "" {
		c.As = "Localizer"
	}
	for segment, id := range map[string]*engram.ID{"ImageRGB": &l.rgb, "ImageDepth": &l.depth, "Calibration": &l.lens} {
		var err error
		if *id, err = engram.NewID("Vision", segment, c.Provider, c.Camera); err != nil {
			return nil, err
		}
	}
	var err error
	l.instances, err = engram.NewID("Object", "Instance", c.As)
	return l, err
}

// Task is what is looked for.
type Task struct {
	Classes []string // names or spoken names of classes; all if none is given
	Frame   string   // of the poses that are committed; the camera's if it is empty
}

// Seen is one look at an image, or why there is none.
type Seen struct {
	Time    engram.Time
	Objects []engram.ID // snapshots that were committed
	Cut     int         // what may be markers that the image's border cuts
	// Awaits says what is waited for, such as "the first image of Vision/ImageRGB/Camera/head";
	// "" is nothing. Without a Time no image was looked at.
	Awaits string
}

// awaited is what a starting camera has not committed yet.
type awaited struct{ what string }

func (a *awaited) Error() string { return "waits for " + a.what }

// Run looks at images until ctx ends, and tells of each look, and of what it waits for. While
// it does not run the memory sends it nothing: a localiser that nobody wants costs nobody
// anything. It returns nil when ctx has ended; an error says what is wrong: a class that
// nobody knows, a calibration for other images.
func (l *Localiser) Run(ctx context.Context, t Task, tell func(Seen)) error {
	known, err := readClasses(ctx, l.svc, t.Classes)
	if err != nil {
		return ended(ctx, err)
	}
	classes := engram.MustPattern("Object/Class")
	stream, err := l.svc.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.PatternOf(l.rgb), engram.PatternOf(l.depth), engram.PatternOf(l.lens), classes},
		Start:    engram.Start{Kind: engram.StartLast, N: 1},
		Slow:     engram.SlowLatest, // of images that came while one was looked at, the newest counts
	})
	if err != nil {
		return ended(ctx, err)
	}
	defer stream.Close()
	for {
		batch, err := stream.Next(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		for _, u := range batch {
			if u.ID.CoreSegment() != "Class" {
				continue
			}
			if again, err := readClasses(ctx, l.svc, t.Classes); err == nil {
				known = again
			}
			break
		}
		seen, err := l.look(ctx, known, t.Frame)
		if missing := (*awaited)(nil); errors.As(err, &missing) {
			seen, err = &Seen{Awaits: missing.what}, nil
		}
		if err != nil {
			return ended(ctx, err)
		}
		if seen != nil {
			tell(*seen)
		}
	}
}

// ended is the error of what was broken off, which is none.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// look looks at the newest image, unless it has done so. The error is an awaited one if
// something is not there yet.
func (l *Localiser) look(ctx context.Context, known *knowledge, target string) (*Seen, error) {
	f, err := l.newest(ctx)
	if err != nil || f.time <= l.last {
		return nil, err
	}
	seen := &Seen{Time: f.time}
	if f.depth == nil && len(known.boxed) > 0 {
		switch _, err := l.svc.Latest(ctx, l.depth); {
		case engram.CodeOf(err) != engram.NotFound: // there are some, if not of this image
		case len(known.tags) == 0:
			return nil, &awaited{"the first image of " + l.depth.String()}
		default: // what has markers is found without depth
			seen.Awaits = "the first image of " + l.depth.String()
		}
	}
	l.last = f.time
	guesses, err := l.guesses(ctx, f)
	if err != nil {
		return nil, err
	}
	var up pose.Vec3
	if t, ok := l.lookUp(ctx, f.name, target, f.time); ok && target != f.name {
		up = t.Pose.R.Rotate(pose.Vec3{Z: 1}) // of a frame such as map
	}
	likely := func(c *class) []pose.Vec3 { return l.likely(ctx, f, c) }
	all, cut, err := known.find(f, guesses, likely, up)
	if err != nil {
		return nil, err
	}
	seen.Cut = len(cut)
	if len(all) == 0 {
		return seen, nil
	}
	commit, err := l.record(ctx, f, all, target)
	if err != nil {
		return nil, err
	}
	results, err := l.svc.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Err != nil {
			l.log.Warn("an object was not committed", "error", r.Err)
			continue
		}
		seen.Objects = append(seen.Objects, r.ID)
	}
	return seen, nil
}

// patience is how long a pose is waited for that comes a little after its image.
const patience = 300 * time.Millisecond

// record makes the commit of what was found.
func (l *Localiser) record(ctx context.Context, f *frame, all []found, target string) (engram.Commit, error) {
	typ, ok := memories.Type("engram.object.Instance")
	if !ok {
		return engram.Commit{}, engram.Errorf(engram.Internal, "engram.object.Instance", "no such type")
	}
	in, camera, cameraCov := f.name, pose.Identity(), pose.ExactCov()
	if target != "" && target != f.name && l.poses != nil {
		waiting, cancel := context.WithTimeout(ctx, patience)
		a, err := l.where(waiting, target, f)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				l.log.Warn("an image is left out: nobody says where its camera was", "frame", target, "error", err)
				err = &awaited{"the place of " + f.name + " in " + target}
			}
			return engram.Commit{}, err
		}
		in, camera, cameraCov = target, a.Pose, a.Cov
	}
	robot, hasRobot := l.robot(ctx, f)
	var c engram.Commit
	for i := range all {
		o := &all[i]
		p := camera.Mul(o.pose)
		cov := o.cov
		if cameraCov.State() == pose.Estimated {
			// The camera's uncertainty, seen in the object's axes.
			m, more := cov.Matrix(), cameraCov.Transported(o.pose.Inverse())
			n := more.Matrix()
			for r := range 6 {
				for s := range 6 {
					m[r][s] += n[r][s]
				}
			}
			if sum, err := pose.NewCov(&m); err == nil {
				cov = sum
			}
		}
		ros := cov.ROS(p)
		v := map[string]any{
			"timestamp": f.time, "frame_id": in, "pose": posevalue.To(p), "pose_covariance": ros[:],
			"object_class": o.class.id, "source_image": f.rgbID,
		}
		if f.depth != nil {
			v["source_depth"] = f.depthID
		}
		if hasRobot {
			v["robot_localization"] = robot
		}
		if o.attached != nil {
			v["attachment"] = o.attached
		}
		b, err := typ.Encode(v)
		if err != nil {
			return c, err
		}
		entity, err := l.instances.Child(o.entity)
		if err != nil {
			return c, err
		}
		instance := engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})
		instance.Confidence = float32(min(max(o.confidence, 0), 1))
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: entity, Time: f.time, Instances: []engram.Instance{instance}})
	}
	return c, nil
}

// where returns the camera's pose in a frame at the time of the image, and waits a little
// for it.
func (l *Localiser) where(ctx context.Context, target string, f *frame) (service.Answer, error) {
	a, err := l.poses.LookUp(ctx, []service.Question{{Target: target, Source: f.name, Time: f.time, Wait: true, Cov: true}})
	if err == nil {
		err = a[0].Err
	}
	if err != nil {
		return service.Answer{}, err
	}
	return a[0], nil
}

// robot returns where the robot was when it saw the image: the newest localisation that
// moves, of those on the camera's way to the root of its tree.
func (l *Localiser) robot(ctx context.Context, f *frame) (engram.ID, bool) {
	if l.poses == nil {
		return engram.ID{}, false
	}
	edges, err := l.poses.Tree(ctx, nil)
	if err != nil {
		return engram.ID{}, false
	}
	// From the camera up.
	at := f.name
	for range edges {
		i := -1
		for k := range edges {
			if (edges[k].Child == at || shortName(edges[k].Child) == at) && edges[k].Valid.Contains(f.time) {
				i = k
				break
			}
		}
		if i < 0 {
			return engram.ID{}, false
		}
		if edges[i].Kind == pose.KindFree {
			return l.localization(ctx, shortName(edges[i].Parent)+","+shortName(edges[i].Child), f.time)
		}
		at = edges[i].Parent
	}
	return engram.ID{}, false
}

// localization returns the snapshot of an edge that holds at a time.
func (l *Localiser) localization(ctx context.Context, edge string, at engram.Time) (engram.ID, bool) {
	p := engram.MustPattern("RobotState/Localization")
	r, err := l.svc.Query(ctx, p.Select(engram.AtOrBefore(at)))
	if err != nil {
		return engram.ID{}, false
	}
	for it := range r.All() {
		if it.ID.Entity() == edge {
			return it.ID.Truncate(engram.LevelEntity).At(it.Time).Instance(0), true
		}
	}
	return engram.ID{}, false
}

// shortName returns a frame's name without its robot's.
func shortName(frame string) string {
	for i := len(frame) - 1; i >= 0; i-- {
		if frame[i] == '/' {
			return frame[i+1:]
		}
	}
	return frame
}
