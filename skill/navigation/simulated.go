package navigation

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Simulated is a [Platform] without hardware: it moves as it is told to, and stands half a second
// after it was told last. What it must not run into stops it. It is safe for concurrent use.
type Simulated struct {
	clock Clock
	// Around returns what there is to see and to run into at a pose; nil for nothing. It is called with the
	// platform's lock held.
	around func(Pose2D) []Obstacle
	radius float64

	mu struct {
		sync.Mutex
		pose        Pose2D
		ahead, turn float64
		told, last  engram.Time
		stuck       bool
		moved       float64
	}
}

// deadMan is how long a simulated platform moves without being told to.
const deadMan = 500 * time.Millisecond

// NewSimulated returns a platform at a pose, with a radius in metres. around tells what its sensors see
// and it can run into; it may be nil.
func NewSimulated(clock Clock, at Pose2D, radius float64, around func(Pose2D) []Obstacle) *Simulated {
	s := &Simulated{clock: clock, around: around, radius: radius}
	s.mu.pose, s.mu.last = at, clock.Now()
	return s
}

// step moves it on to the present. The lock is held.
func (s *Simulated) step() {
	now := s.clock.Now()
	until := min(now, s.mu.told.Add(deadMan))
	for s.mu.last < until && (s.mu.ahead != 0 || s.mu.turn != 0) {
		dt := min(time.Duration(until-s.mu.last), 20*time.Millisecond)
		s.mu.last = s.mu.last.Add(dt)
		p, t := s.mu.pose, dt.Seconds()
		if !s.mu.stuck {
			p.Yaw = normal(p.Yaw + s.mu.turn*t)
			sin, cos := math.Sincos(p.Yaw)
			p.X, p.Y = p.X+s.mu.ahead*t*cos, p.Y+s.mu.ahead*t*sin
		}
		if !s.hits(p) {
			s.mu.moved += s.mu.pose.Distance(p.Point)
			s.mu.pose = p
		}
	}
	s.mu.last = now
}

// hits reports whether it would run into something that it does not leave.
func (s *Simulated) hits(p Pose2D) bool {
	if s.around == nil {
		return false
	}
	for _, o := range s.around(p) {
		if d := p.Distance(o.At); d < s.radius+o.Radius && d < s.mu.pose.Distance(o.At) {
			return true
		}
	}
	return false
}

// Pose implements [Platform].
func (s *Simulated) Pose(context.Context) (Pose2D, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
	return s.mu.pose, nil
}

// Drive implements [Platform].
func (s *Simulated) Drive(_ context.Context, ahead, turn float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
	s.mu.ahead, s.mu.turn, s.mu.told = ahead, turn, s.mu.last
	return nil
}

// Stop implements [Platform].
func (s *Simulated) Stop(ctx context.Context) error { return s.Drive(ctx, 0, 0) }

// Sense implements [Platform].
func (s *Simulated) Sense(ctx context.Context) ([]Obstacle, error) {
	p, err := s.Pose(ctx)
	if err != nil || s.around == nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.around(p), nil
}

// Hold has its wheels turn without effect, or no longer.
func (s *Simulated) Hold(stuck bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
	s.mu.stuck = stuck
}

// Moved returns how far it has driven, metres.
func (s *Simulated) Moved() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
	return s.mu.moved
}

// normal returns an angle between -π and π.
func normal(a float64) float64 { return math.Remainder(a, 2*math.Pi) }
