package hallway

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Pose is where something is and how it is turned: metres, and rad counterclockwise from x.
type Pose struct {
	Point
	Yaw float64
}

// Mul returns the pose in p's frame as one in that of p.
func (p Pose) Mul(q Pose) Pose {
	sin, cos := math.Sincos(p.Yaw)
	return Pose{Point{p.X + cos*q.X - sin*q.Y, p.Y + sin*q.X + cos*q.Y}, Wrap(p.Yaw + q.Yaw)}
}

// Inverse returns the pose of p's frame in its own.
func (p Pose) Inverse() Pose {
	sin, cos := math.Sincos(p.Yaw)
	return Pose{Point{-cos*p.X - sin*p.Y, sin*p.X - cos*p.Y}, Wrap(-p.Yaw)}
}

// Wrap returns an angle in (-π, π].
func Wrap(a float64) float64 { return math.Remainder(a, 2*math.Pi) }

// Radius is that of every robot, metres.
const Radius = 0.22

// Robot is the body of a robot. Its members are read and written under the world's lock.
type robot struct {
	at     Pose // in the map: the truth
	odom   Pose // as its wheels count
	v, w   float64
	wantV  float64
	wantW  float64
	holds  string // thing in the gripper; "" for none
	bumped string // into what; "" for nothing
	dead   bool
	scale  float64 // by which its odometry errs
	veer   float64 // rad by metre
}

// Thing is an object with a marker.
type Thing struct {
	Name   string
	At     Point   // of its middle
	Yaw    float64 // of its marker, which looks this way
	Radius float64 // metres
	Height float64 // metres
	Held   string  // the robot that holds it; "" for none
	In     string  // the thing that it was dropped into; "" for none
}

// World is the truth. Safe for concurrent use.
type World struct {
	Grid *Grid

	mu     sync.Mutex
	robots map[string]*robot
	names  []string
	things []Thing
	random *rand.Rand
}

// Things of the mission.
const (
	Garbage = "garbage"
	Bin     = "bin"
)

// New returns a hallway with a piece of garbage and a bin at random free places, and robots
// beside each other near a start, which is a random place too if it is nil.
func New(g *Grid, seed uint64, robots ...string) (*World, error) {
	w := &World{Grid: g, robots: map[string]*robot{}, random: rand.New(rand.NewPCG(seed, 0x6d697373696f6e))}
	start, err := w.start(len(robots))
	if err != nil {
		return nil, err
	}
	for i, name := range robots {
		at := Pose{Point: start[i]}
		w.robots[name] = &robot{at: at, scale: 1 + 0.02*w.random.NormFloat64(), veer: 0.01 * w.random.NormFloat64()}
		w.names = append(w.names, name)
	}
	reach := g.reachable(start[0], Radius+0.08)
	for _, t := range []Thing{{Name: Garbage, Radius: 0.06, Height: 0.14}, {Name: Bin, Radius: 0.16, Height: 0.5}} {
		found := false
		for range 20_000 {
			p := Point{g.Origin.X + w.random.Float64()*float64(g.Width)*g.Resolution, g.Origin.Y + w.random.Float64()*float64(g.Height)*g.Resolution}
			if g.Clear(p) < 0.45 || !reach(p) {
				continue
			}
			near := false
			for _, s := range start {
				near = near || s.Dist(p) < 3
			}
			for _, o := range w.things {
				near = near || o.At.Dist(p) < 2
			}
			if !near {
				t.At, t.Yaw, found = p, w.random.Float64()*2*math.Pi-math.Pi, true
				break
			}
		}
		if !found {
			return nil, engram.Errorf(engram.Invalid, t.Name, "the map has no free place for it that robots can reach")
		}
		w.things = append(w.things, t)
	}
	return w, nil
}

// start returns free places beside each other for robots: in the largest room that there is.
func (w *World) start(n int) ([]Point, error) {
	g := w.Grid
	for range 5000 {
		p := Point{g.Origin.X + w.random.Float64()*float64(g.Width)*g.Resolution, g.Origin.Y + w.random.Float64()*float64(g.Height)*g.Resolution}
		var out []Point
		for i := range n {
			q := Point{p.X, p.Y + float64(i)*(2*Radius+0.4)}
			if g.Clear(q) < Radius+0.15 || !g.Sees(p, q) {
				break
			}
			out = append(out, q)
		}
		if len(out) == n && g.area(p) > 0.5*float64(g.free())*g.Resolution*g.Resolution {
			return out, nil
		}
	}
	return nil, engram.Errorf(engram.Invalid, "", "the map has no free place for %d robots beside each other", n)
}

func (g *Grid) free() (n int) {
	for _, s := range g.solid {
		if !s {
			n++
		}
	}
	return n
}

// area returns how many square metres can be reached from a place.
func (g *Grid) area(p Point) float64 {
	n := 0
	reach := g.reachable(p, 0)
	for y := range g.Height {
		for x := range g.Width {
			if reach(g.middle(x, y)) {
				n++
			}
		}
	}
	return float64(n) * g.Resolution * g.Resolution
}

func (g *Grid) middle(x, y int) Point {
	return Point{g.Origin.X + (float64(x)+0.5)*g.Resolution, g.Origin.Y + (float64(y)+0.5)*g.Resolution}
}

// reachable returns which places a disc of a radius reaches from a place.
func (g *Grid) reachable(from Point, radius float64) func(Point) bool {
	seen := make([]bool, len(g.solid))
	x, y := g.cell(from)
	queue := []int{y*g.Width + x}
	seen[queue[0]] = true
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, d := range [4]int{-1, 1, -g.Width, g.Width} {
			j := i + d
			if j < 0 || j >= len(seen) || seen[j] || g.solid[j] || float64(g.clear[j]) < radius {
				continue
			}
			seen[j] = true
			queue = append(queue, j)
		}
	}
	return func(p Point) bool {
		x, y := g.cell(p)
		return x >= 0 && y >= 0 && x < g.Width && y < g.Height && seen[y*g.Width+x]
	}
}

// Limits of a robot's drive.
const (
	MaxSpeed = 1.25 // m/s
	MaxTurn  = 1.8  // rad/s
	maxAccel = 1.5  // m/s²
	maxSpin  = 5.0  // rad/s²
)

// Step moves the world on by dt seconds.
func (w *World) Step(dt float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range w.names {
		r := w.robots[name]
		if r.dead {
			continue
		}
		r.v += clamp(r.wantV-r.v, maxAccel*dt)
		r.w += clamp(r.wantW-r.w, maxSpin*dt)
		move := Pose{Point{r.v * dt, 0}, r.w * dt}
		to := r.at.Mul(move)
		r.bumped = w.hitsLocked(name, to.Point)
		if r.bumped != "" {
			r.v, to = 0, Pose{r.at.Point, to.Yaw}
			move.X = 0
		}
		r.at = to
		// Wheels count a little too much or too little, and veer.
		noise := 1 + 0.02*w.random.NormFloat64()
		r.odom = r.odom.Mul(Pose{Point{move.X * r.scale * noise, 0}, move.Yaw*(1+0.01*w.random.NormFloat64()) + r.veer*move.X})
		if r.holds != "" {
			for i := range w.things {
				if t := &w.things[i]; t.Name == r.holds {
					hand := r.at.Mul(Hand)
					t.At, t.Yaw = hand.Point, hand.Yaw
				}
			}
		}
	}
}

func clamp(x, most float64) float64 { return max(-most, min(most, x)) }

// hitsLocked returns what a robot at a place would touch that it does not touch as much now.
func (w *World) hitsLocked(name string, p Point) string {
	r := w.robots[name]
	if c := w.Grid.Clear(p); c < Radius && c < w.Grid.Clear(r.at.Point) {
		return "a wall"
	}
	closer := func(o Point, distance float64) bool {
		return p.Dist(o) < distance && p.Dist(o) < r.at.Dist(o)
	}
	for other, o := range w.robots {
		if other != name && closer(o.at.Point, 2*Radius) {
			return other
		}
	}
	for _, t := range w.things {
		if t.Held == "" && t.In == "" && closer(t.At, Radius+t.Radius) {
			return t.Name
		}
	}
	return ""
}

// Drive sets the speeds that a robot is to have, m/s and rad/s.
func (w *World) Drive(name string, v, turn float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.robots[name]
	r.wantV, r.wantW = max(-MaxSpeed, min(MaxSpeed, v)), max(-MaxTurn, min(MaxTurn, turn))
}

// Sense calls f with a robot's sensors at one moment. f must not call the world.
func (w *World) Sense(name string, f func(Sensors)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(Sensors{w, name, w.robots[name]})
}

// Truth returns where a robot really is: for its start, which its configuration knows, and for
// tests.
func (w *World) Truth(name string) Pose {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.robots[name].at
}

// Stop has a robot stand still for good.
func (w *World) Stop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robots[name].dead = true
}

// Thing returns a thing as it really is, for tests and for the summary.
func (w *World) Thing(name string) (Thing, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.things {
		if t.Name == name {
			return t, true
		}
	}
	return Thing{}, false
}
