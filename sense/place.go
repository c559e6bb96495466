package sense

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy/record"
)

// Places says where objects will be in images; memories.Present is one. What is no Places as [Config.Present] leaves rules
// about objects without their place.
type Places interface {
	// InImage returns the part of a camera's image in which an object will be at a time, in shares of the image. It is
	// outside the image if the object is not seen, and larger than the object by how unsure its place is. camera is an
	// entity of Vision/Calibration. An error says why the place is not known.
	InImage(ctx context.Context, object, camera engram.ID, at engram.Time) (x, y, width, height float64, err error)
}

// place is where an object is expected in the images of a sensor: at a time, and a little later.
type place struct {
	known     bool
	at        engram.Time
	now, soon box
}

// box is a part of an image, in shares of it.
type box struct{ x, y, width, height float64 }

const (
	// soon is how much later than the newest image a place is predicted, too, and how often.
	soon = 200 * time.Millisecond
	// placeLasts is how long before and after its time a place counts.
	placeLasts = time.Second
)

// region returns where the object is expected at a time.
func (p *place) region(t engram.Time) (record.Region, bool) {
	late := t.Sub(p.at)
	if !p.known || late.Abs() > placeLasts {
		return record.Region{}, false
	}
	u := float64(late) / float64(soon)
	between := func(a, b float64) float64 { return a + u*(b-a) }
	r := record.Region{X: between(p.now.x, p.soon.x), Y: between(p.now.y, p.soon.y),
		Width: max(between(p.now.width, p.soon.width), 0), Height: max(between(p.now.height, p.soon.height), 0)}
	if r == (record.Region{}) {
		r.X = 2 // outside; the zero Region would be all
	}
	return r, true
}

// wants reports whether the filter lets a snapshot pass. If it is not known where to look, it passes.
func (a *attended) wants(s *engram.Snapshot) bool {
	if a.rule.Object != (engram.ID{}) {
		r, known := a.place.region(s.Time)
		if !known {
			a.filter.Recorded(s)
			return true
		}
		a.filter.Look(r)
	}
	return a.filter.Offer(s).Verdict == record.Record
}

// sought is an object that is to be found in the images of a sensor.
type sought struct {
	rule           string
	attended       *attended
	object, camera engram.ID
	at             engram.Time
}

// sought returns what is to be found for the images to come.
func (g *Gate) sought() (all []sought) {
	for _, s := range g.sensors {
		for _, a := range s.attended {
			if a.rule.Object == (engram.ID{}) || s.newest == 0 {
				continue
			}
			of := sought{a.rule.id.Entity(), a, a.rule.Object, a.rule.Camera, s.newest}
			if of.camera == (engram.ID{}) {
				of.camera, _ = engram.NewID("Vision", "Calibration", s.id.ProviderSegment(), s.id.Entity())
			}
			all = append(all, of)
		}
	}
	return all
}

// locate keeps the places of objects up to date, until the attention ends.
func (a *Attention) locate() {
	for a.ctx.Err() == nil {
		a.mu.Lock()
		all := a.mu.gate.sought()
		a.mu.Unlock()
		lacks := map[string]string{}
		for _, of := range all {
			p, err := a.placeOf(of)
			if err != nil {
				lacks[of.rule] = "it is not known where " + of.object.String() + " is in the image: " + err.Error()
			}
			a.mu.Lock()
			of.attended.place = p
			a.mu.Unlock()
		}
		a.mu.Lock()
		a.mu.unplaced = lacks
		a.mu.Unlock()
		pause(a.ctx, soon)
	}
}

// placeOf asks where an object will be.
func (a *Attention) placeOf(of sought) (p place, err error) {
	places, ok := a.config.Present.(Places)
	if !ok {
		return p, engram.Errorf(engram.Unsupported, "", "this producer has nobody to ask")
	}
	ctx, cancel := context.WithTimeout(a.ctx, placeLasts)
	defer cancel()
	a.present.Lock()
	defer a.present.Unlock()
	p.at = of.at
	for _, b := range []struct {
		box   *box
		after time.Duration
	}{{&p.now, 0}, {&p.soon, soon}} {
		b.box.x, b.box.y, b.box.width, b.box.height, err = places.InImage(ctx, of.object, of.camera, of.at.Add(b.after))
		if err != nil {
			return place{}, err
		}
	}
	p.known = true
	return p, nil
}
