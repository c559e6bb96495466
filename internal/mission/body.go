package mission

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

// Periods of what robots do by themselves, in simulated time.
const (
	odometryPeriod = 200 * time.Millisecond
	statePeriod    = 500 * time.Millisecond // of what is told to the world
)

// Frames of a robot, below its name, and the item that the map is of.
const (
	hallwayItem = "hallway"
	odomFrame   = "odom"
	baseFrame   = "base_link"
	depthFrame  = "depth_camera"
)

// body is what a robot knows of its own body, and the programs that look after it.
type body struct {
	*member
	grid      *hallway.Grid // of the map, once it has read that out of the memory
	navigator *navigation.Navigator

	mu        sync.Mutex
	drivers   bool
	tracking  bool
	fromOdom  hallway.Pose // hallwayFromOdom
	localized engram.ID    // the newest snapshot that says so
	sigma     float64      // metres
	looking   bool
	search    *search          // the present one; nil if there was none
	item      world.Item       // what the robot is in the world
	sights    map[string]sight // of objects, by name
	decided   func()           // ends the present hold of the clock; nil if there is none
}

// thinking is how long a robot may think before it acts; longer does nobody.
const thinking = 500 * time.Millisecond

// think says that the robot decides what to do: until it acts, time passes no faster than for the
// computers on which it does.
func (b *body) think() {
	release := b.m.Clock.Hold()
	enough := time.AfterFunc(thinking, release)
	b.mu.Lock()
	before := b.decided
	b.decided = func() { enough.Stop(); release() }
	b.mu.Unlock()
	if before != nil {
		before()
	}
}

// act says that it has decided.
func (b *body) act() {
	b.mu.Lock()
	decided := b.decided
	b.decided = nil
	b.mu.Unlock()
	if decided != nil {
		decided()
	}
}

// sight is where a robot itself saw an object last.
type sight struct {
	hallway.Point
	at engram.Time // simulated
}

// sightLasts is how long what a robot itself sees counts more than what the world has of all.
const sightLasts = 3 * time.Second

// saw notes where the robot itself sees an object: the mean of what it sees lately, as single
// looks err.
func (b *body) saw(object string, p hallway.Point, at engram.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last, ok := b.sights[object]; ok && at.Sub(last.at) < sightLasts && last.Dist(p) < 0.5 {
		const weight = 0.4
		p.X, p.Y = last.X+weight*(p.X-last.X), last.Y+weight*(p.Y-last.Y)
	}
	if b.sights == nil {
		b.sights = map[string]sight{}
	}
	b.sights[object] = sight{p, at}
}

// sees returns where the robot itself has seen an object lately: unlike what others say, it errs as
// the robot's own place does, so that the hand meets it.
func (b *body) sees(object string) (hallway.Point, bool) {
	now := b.m.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.sights[object]
	return s.Point, ok && now.Sub(s.at) < sightLasts
}

// Pose returns where the robot believes to be in the hallway.
func (b *body) Pose() hallway.Pose {
	var odom hallway.Pose
	b.m.truth.Sense(b.name, func(s hallway.Sensors) { odom, _, _ = s.Odometry() })
	return b.inHallway(odom)
}

// inHallway returns where the robot believes to be when its wheels say odom.
func (b *body) inHallway(odom hallway.Pose) hallway.Pose {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fromOdom.Mul(odom)
}

// Localized returns the snapshot that says so, for links; the root if there is none.
func (b *body) Localized() engram.ID {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.localized
}

// startDrivers starts the drivers of the wheels, from a start that the configuration knows.
func (b *body) startDrivers(start hallway.Pose) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.drivers {
		return
	}
	b.drivers, b.fromOdom, b.sigma = true, start, 0.05
	b.member.run(b.odometry)
}

// odometry commits what the wheels count.
func (b *body) odometry(ctx context.Context) {
	id := b.id("RobotState", "Localization", odomFrame+","+baseFrame)
	depth := b.id("Vision", "ImageDepth", depthFrame)
	b.m.Clock.Every(ctx, odometryPeriod, func() bool {
		b.mu.Lock()
		tracking := b.tracking
		b.mu.Unlock()
		var at hallway.Pose
		var v, w float64
		var line []float32
		t := engram.Now()
		b.m.truth.Sense(b.name, func(s hallway.Sensors) { // the camera is triggered by the wheels' clock
			if at, v, w = s.Odometry(); tracking {
				line = s.Depth()
			}
		})
		updates := []engram.EntityUpdate{update(id, t, payload("engram.robot_state.Localization", map[string]any{
			"timestamp": t, "parent_frame_id": odomFrame, "child_frame_id": baseFrame,
			"translation": vector(at.X, at.Y, 0), "rotation": rotation(at.Yaw),
			"linear_velocity": vector(v, 0, 0), "angular_velocity": vector(0, 0, w),
		}))}
		if tracking {
			updates = append(updates, update(depth, t, depthImage(t, line)))
		}
		b.told("odometry", b.commit(ctx, updates...))
		return true
	})
}

func depthImage(t engram.Time, depth []float32) engram.Payload {
	data := make([]byte, 0, 4*len(depth))
	for _, d := range depth {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(d))
	}
	return payload("foxglove.RawImage", map[string]any{
		"timestamp": t, "frame_id": depthFrame, "width": len(depth), "height": 1,
		"encoding": "32FC1", "step": 4 * len(depth), "data": data,
	})
}

// startTracking starts the pipe depth camera | cloud processor | localiser.
func (b *body) startTracking() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tracking {
		return
	}
	b.tracking = true
	b.member.run(b.processClouds)
	b.member.run(b.localize)
}

// follow calls f for each snapshot of a segment of the own server that comes.
func (b *member) follow(ctx context.Context, pattern string, f func(engram.ID, *engram.Snapshot)) {
	s, err := b.svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, WithData: true})
	if err != nil {
		b.told("subscription of "+pattern, err)
		return
	}
	defer s.Close()
	for {
		updates, err := s.Next(ctx)
		if err != nil {
			return
		}
		for _, u := range updates {
			if u.Snapshot != nil && len(u.Snapshot.Instances) > 0 {
				f(u.ID, u.Snapshot)
			}
		}
	}
}

// processClouds is the second of the pipe: depth images become point clouds.
func (b *body) processClouds(ctx context.Context) {
	id := b.id("Vision", "PointCloud", depthFrame)
	b.follow(ctx, "Vision/ImageDepth/"+b.name+"/"+depthFrame, func(_ engram.ID, s *engram.Snapshot) {
		v, err := decode(s)
		if err != nil {
			return
		}
		data, _ := v["data"].([]byte)
		var points []byte
		for i := 0; 4*i+4 <= len(data); i++ {
			d := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
			if d <= 0 {
				continue
			}
			for _, x := range []float64{d, d * math.Tan(hallway.PixelAngle(i)), hallway.CameraHeight} {
				points = binary.LittleEndian.AppendUint32(points, math.Float32bits(float32(x)))
			}
		}
		const float32Type = 7
		field := func(name string, offset int) any {
			return map[string]any{"name": name, "offset": offset, "type": float32Type}
		}
		b.told("cloud", b.commit(ctx, update(id, s.Time, payload("foxglove.PointCloud", map[string]any{
			"timestamp": s.Time, "frame_id": baseFrame, "point_stride": 12,
			"fields": []any{field("x", 0), field("y", 4), field("z", 8)}, "data": points,
		}))))
	})
}

// localize is the third of the pipe: clouds are fitted to the map.
func (b *body) localize(ctx context.Context) {
	edge := b.id("RobotState", "Localization", hallwayItem+","+odomFrame)
	wheels := b.id("RobotState", "Localization", odomFrame+","+baseFrame)
	var told engram.Time
	b.follow(ctx, "Vision/PointCloud/"+b.name+"/"+depthFrame, func(_ engram.ID, s *engram.Snapshot) {
		v, err := decode(s)
		if err != nil {
			return
		}
		o, err := b.svc.AtOrBefore(ctx, wheels, s.Time)
		if err != nil {
			return
		}
		odomFromBase, err := edgePose(o)
		if err != nil {
			return
		}
		data, _ := v["data"].([]byte)
		points := make([]hallway.Point, 0, len(data)/12)
		for ; len(data) >= 12; data = data[12:] {
			f := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))) }
			points = append(points, hallway.Point{X: f(0), Y: f(1)})
		}
		b.mu.Lock()
		before := b.fromOdom
		b.mu.Unlock()
		at, sigma := fit(b.grid, before.Mul(odomFromBase), points)
		fromOdom := at.Mul(odomFromBase.Inverse())
		cov := pose.DiagonalCov(sigma, sigma)
		p := poseOf(fromOdom)
		matrix := cov.ROS(p)
		err = b.commit(ctx, update(edge, s.Time, payload("engram.robot_state.Localization", map[string]any{
			"timestamp": s.Time, "parent_frame_id": hallwayItem, "child_frame_id": odomFrame,
			"translation": vector(fromOdom.X, fromOdom.Y, 0), "rotation": rotation(fromOdom.Yaw), "pose_covariance": numbers(matrix[:]),
		})))
		if b.told("localisation", err); err != nil {
			return
		}
		b.mu.Lock()
		b.fromOdom, b.localized, b.sigma = fromOdom, edge.At(s.Time), sigma
		b.mu.Unlock()
		if now := b.m.Clock.Now(); now.Sub(told) >= statePeriod {
			told = now
			b.told("place in the world", b.place(ctx, s.Time, at, cov))
		}
	})
}

// place says in the world where the robot is.
func (b *body) place(ctx context.Context, t engram.Time, at hallway.Pose, cov pose.Cov) error {
	b.mu.Lock()
	it := b.item
	b.mu.Unlock()
	it.Placement = &world.Placement{Frame: hallwayItem, Pose: poseOf(at), Cov: cov}
	p, err := b.codec.EncodeItem(&it)
	if err != nil {
		return err
	}
	return b.commit(ctx, update(b.id("World", "Item", b.name), t, p))
}

// edgePose reads an edge of the transform tree.
func edgePose(s *engram.Snapshot) (hallway.Pose, error) {
	v, err := decode(s)
	if err != nil {
		return hallway.Pose{}, err
	}
	t, _ := v["translation"].(map[string]any)
	r, _ := v["rotation"].(map[string]any)
	n := func(m map[string]any, k string) float64 { f, _ := m[k].(float64); return f }
	return hallway.Pose{Point: hallway.Point{X: n(t, "x"), Y: n(t, "y")}, Yaw: 2 * math.Atan2(n(r, "z"), n(r, "w"))}, nil
}

// fit returns where a robot is whose camera sees points (in its base's frame), from where it
// probably is: the pose that puts the points on what is solid, by Gauss-Newton on the
// distances, with the odometry as prior. sigma is its uncertainty in metres.
func fit(g *hallway.Grid, prior hallway.Pose, points []hallway.Point) (at hallway.Pose, sigma float64) {
	const (
		sigmaPoint = 0.05 // metres: a cell
		sigmaPlace = 0.04 // of the prior, metres
		sigmaTurn  = 0.03 // rad
		outlier    = 0.3  // metres
	)
	at = prior
	var information [2]float64
	for range 6 {
		d := hallway.Pose{Point: hallway.Point{X: at.X - prior.X, Y: at.Y - prior.Y}, Yaw: hallway.Wrap(at.Yaw - prior.Yaw)}
		place, turn := 1/(sigmaPlace*sigmaPlace), 1/(sigmaTurn*sigmaTurn)
		h := [3][3]float64{{place, 0, 0}, {0, place, 0}, {0, 0, turn}}
		e := [3]float64{place * d.X, place * d.Y, turn * d.Yaw}
		sin, cos := math.Sincos(at.Yaw)
		for _, p := range points {
			x, y := cos*p.X-sin*p.Y, sin*p.X+cos*p.Y
			r, dx, dy := g.ClearAt(hallway.Point{X: at.X + x, Y: at.Y + y})
			if r > outlier {
				continue
			}
			weight := 1 / (sigmaPoint * sigmaPoint) / (1 + r*r/(0.1*0.1)) // Cauchy
			j := [3]float64{dx, dy, -dx*y + dy*x}
			for a := range 3 {
				for c := range 3 {
					h[a][c] += weight * j[a] * j[c]
				}
				e[a] += weight * j[a] * r
			}
		}
		step, ok := solve(h, e)
		if !ok {
			break
		}
		at.X, at.Y, at.Yaw = at.X-step[0], at.Y-step[1], hallway.Wrap(at.Yaw-step[2])
		information = [2]float64{h[0][0], h[1][1]}
		if math.Abs(step[0])+math.Abs(step[1])+math.Abs(step[2]) < 1e-4 {
			break
		}
	}
	return at, max(0.005, 3/math.Sqrt(max(1, min(information[0], information[1]))))
}

// solve solves a symmetric system of three equations.
func solve(h [3][3]float64, e [3]float64) (x [3]float64, ok bool) {
	det := func(m [3][3]float64) float64 {
		return m[0][0]*(m[1][1]*m[2][2]-m[1][2]*m[2][1]) - m[0][1]*(m[1][0]*m[2][2]-m[1][2]*m[2][0]) + m[0][2]*(m[1][0]*m[2][1]-m[1][1]*m[2][0])
	}
	d := det(h)
	if math.Abs(d) < 1e-12 {
		return x, false
	}
	for i := range 3 {
		m := h
		for r := range 3 {
			m[r][i] = e[r]
		}
		x[i] = det(m) / d
	}
	return x, true
}

func vector(x, y, z float64) map[string]any { return map[string]any{"x": x, "y": y, "z": z} }

func rotation(yaw float64) map[string]any {
	return map[string]any{"x": 0.0, "y": 0.0, "z": math.Sin(yaw / 2), "w": math.Cos(yaw / 2)}
}

func numbers(m []float64) (out []any) {
	for _, x := range m {
		out = append(out, x)
	}
	return out
}

// poseOf returns a pose on the floor as one in space.
func poseOf(p hallway.Pose) pose.Pose {
	return pose.Pose{T: pose.Vec3{X: p.X, Y: p.Y}, R: pose.AxisAngle(pose.Vec3{Z: 1}, p.Yaw)}
}

// floor is the reverse of poseOf.
func floor(p pose.Pose) hallway.Pose {
	return hallway.Pose{Point: hallway.Point{X: p.T.X, Y: p.T.Y}, Yaw: 2 * math.Atan2(p.R.Z, p.R.W)}
}
