package navigation

import (
	"math"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/world"
)

// KindPerson is the kind of items that are people, for whom a robot stops.
const KindPerson = "person"

// Obstacle is a thing or a person that stands on a cost map.
type Obstacle struct {
	Name   string    // of the item
	Of     engram.ID // what told where it is; the root if that is not known
	Person bool
	covers []grid.Point // of the floor, counter-clockwise
}

// obstacle returns what an item is that stands on the map.
func obstacle(m *world.Merged, covers []grid.Point) Obstacle {
	o := Obstacle{Name: m.Name, covers: covers}
	for _, kind := range m.Description.Kinds {
		o.Person = o.Person || kind == KindPerson
	}
	o.Person = o.Person || m.Description.ClassName() == KindPerson
	if m.Placed != nil {
		o.Of, _ = statementID(m.Placed)
	}
	return o
}

// distance returns how far a point is from what an obstacle covers, metres; 0 within it.
func (o *Obstacle) distance(p grid.Point) float64 {
	within, least := len(o.covers) > 2, math.Inf(1)
	for i, b := range o.covers {
		a := o.covers[(i+len(o.covers)-1)%len(o.covers)]
		within = within && turn(a, b, p) >= 0
		least = min(least, p.Distance(p.NearestOn(a, b)))
	}
	if within {
		return 0
	}
	return least
}

// Near returns the obstacle that is nearest to a point of the map, if one is as near as this, metres. Walls of the map are none.
func (k *Costs) Near(p grid.Point, within float64) (nearest Obstacle, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, o := range k.stands {
		if d := o.distance(p); d < within || d == within && !ok {
			nearest, within, ok = o, d, true
		}
	}
	return nearest, ok
}

// stand notes what stands on the map; what covers nothing does not.
func (k *Costs) stand(f *world.Forest, item string, covers []grid.Point) {
	m, err := f.Get(item)
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.stands, item); err == nil && covers != nil {
		k.stands[item] = obstacle(m, covers)
	}
}
