package navigation

import (
	"cmp"
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
)

// Config says for which robot one plans.
type Config struct {
	// Navigator is the provider segment of what is written; "" is Navigator.
	Navigator string
	// Map is the name of an occupancy grid of World/Map; "" is the best one of the place where the robot is, or of all if that
	// is not known.
	Map string
	// Frame is that of the robot's root link; "" is base_link.
	Frame string
	// Robot is the robot's item in the world, which is no obstacle, nor is what it holds; "" if it has none.
	Robot string
	// Height is that of the robot, metres; 0 is 2. What hangs above it is no obstacle.
	Height float64
	// Costs are the footprint and what it costs to be near obstacles.
	Costs grid.Config
	// Weight is how much those costs count, see [plan.Options].
	Weight float64
	// Reach is how near to a thing a place is from which it is reached, between the robot's root link and the middle of the
	// thing, metres; the zero Ring is up to 0.8 m.
	Reach plan.Ring
}

// defaultHeight is that of a robot, metres.
const defaultHeight = 2.0

// defaultReach is how near to a thing a robot goes, metres.
var defaultReach = plan.Ring{Max: 0.8}

// checked returns the configuration with its defaults. The error is Invalid.
func (c Config) checked() (Config, error) {
	c.Navigator = cmp.Or(c.Navigator, "Navigator")
	c.Frame = cmp.Or(c.Frame, "base_link")
	c.Height = cmp.Or(c.Height, defaultHeight)
	if c.Reach == (plan.Ring{}) {
		c.Reach = defaultReach
	}
	if !(c.Height > 0) || math.IsInf(c.Height, 0) {
		return c, engram.Errorf(engram.Invalid, "height", "it is %g m; it is positive", c.Height)
	}
	if err := engram.CheckName(c.Navigator); err != nil {
		return c, err
	}
	return c, c.Costs.Check()
}
