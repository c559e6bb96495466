package server

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link"
	links "github.com/seed-301d4374/engram/link/service"
	predictions "github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/wm"
)

// What is linked with what is asked for is of value, too: from time to time the entities
// asked for most pass on a part of that.
const (
	associateEvery = 10 * time.Second
	associated     = 256 // entities that pass it on
	associateLinks = 64  // of each, in each direction
	passedOn       = 0.5
)

// Values returns what decides what stays in the working memory.
func (s *Server) Values() wm.Values { return s.wm.Values() }

// associate runs until the server closes.
func associate(s *Server) {
	seen := uint64(0)
	ticker := time.NewTicker(associateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
			associateOnce(s)
			seen = heed(s, seen)
		}
	}
}

// Incidents of attention, as package memories defines them.
const (
	incidentMemory  = "SystemState"
	incidentSegment = "Incident"
)

// heed regards what surprises and incidents are about that were told after an update, and
// returns the update up to which that is done.
func heed(s *Server, after uint64) uint64 {
	view, values := s.wm.View(s.ctx, nil), s.wm.Values()
	each := func(memory, segment string, about func(entity engram.ID, told *engram.Snapshot)) {
		core, err := engram.NewID(memory, segment)
		if err != nil {
			return
		}
		cursor := view.Cursor()
		for provider := range view.Names(core) {
			of, _ := core.Child(provider)
			for name := range view.Names(of) {
				if entity, err := of.Child(name); err == nil && cursor.To(entity) {
					for told := range cursor.Since(after) {
						about(entity, told)
					}
				}
			}
		}
	}
	each(predictions.Memory, predictions.SurpriseSegment, func(_ engram.ID, told *engram.Snapshot) {
		for i := range told.Instances {
			if entity, sigma, err := s.predictions.Surprise(&told.Instances[i].Payload); err == nil {
				values.Regard(entity, wm.Surprised, sigma)
			}
		}
	})
	each(incidentMemory, incidentSegment, func(incident engram.ID, told *engram.Snapshot) {
		for target := range link.Targets(s.wm.Registry(), s.robot, incident, told) {
			values.Regard(target.Truncate(engram.LevelEntity), wm.Marked, wm.MarkUses)
		}
	})
	return view.Number()
}

// associateOnce has the entities asked for most pass that on to what they link to, and to
// what links to them where the index of links is there: nobody's question has it made.
func associateOnce(s *Server) {
	values := s.wm.Values()
	type used struct {
		id   engram.ID
		uses float64
	}
	var most []used
	values.Asked(1, func(id engram.ID, uses float64) bool {
		most = append(most, used{id, uses})
		if len(most) == 4*associated {
			slices.SortFunc(most, func(a, b used) int { return cmp.Compare(b.uses, a.uses) })
			most = most[:associated]
		}
		return s.ctx.Err() == nil
	})
	slices.SortFunc(most, func(a, b used) int { return cmp.Compare(b.uses, a.uses) })
	most = most[:min(len(most), associated)]
	indexed := slices.ContainsFunc(s.Indexes().Figures(), func(f wm.IndexFigures) bool { return f.Name == linkIndex && f.Ready })
	cursor := s.wm.View(s.ctx, nil).Cursor()
	for _, u := range most {
		if s.ctx.Err() != nil {
			return
		}
		if newest := newestOf(cursor, u.id); newest != nil {
			n := 0
			for target := range link.Targets(s.wm.Registry(), s.robot, u.id, newest) {
				values.Regard(target.Truncate(engram.LevelEntity), wm.Linked, passedOn*u.uses)
				if n++; n == associateLinks {
					break
				}
			}
		}
		if !indexed {
			continue
		}
		for source, err := range s.links.BackLinks(s.ctx, links.BackQuery{Target: u.id, Limit: associateLinks}) {
			if err != nil {
				break
			}
			values.Regard(source.Source.Truncate(engram.LevelEntity), wm.Linked, passedOn*u.uses)
		}
	}
}

func newestOf(c *wm.Cursor, entity engram.ID) *engram.Snapshot {
	if !c.To(entity) {
		return nil
	}
	return c.Newest()
}
