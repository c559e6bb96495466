package memories

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world"
)

const (
	// CostmapProvider is the provider segment of the cost maps that the memory Navigation commits.
	CostmapProvider = "Navigation"
	costmapSegment  = "Costmap"

	// maxCostmaps bounds the occupancy grids that have cost maps; the first by name do.
	maxCostmaps = 16
	// costmapsApart is the least time between two commits of cost maps.
	costmapsApart = 10 * time.Millisecond
	// firstCostmaps bounds how long who asks first waits for them.
	firstCostmaps = 5 * time.Second
	// How often and how long data of a map are waited for that are not there yet.
	mapDataEvery, mapDataTries = time.Second, 10
)

// costmaps keeps cost maps of the world's occupancy grids from the first query or subscription for them on.
type costmaps struct {
	radius float64 // 0 is the robot's own
	asked  sync.Once
	wanted chan struct{} // closed when somebody asked
	ready  chan struct{} // closed when there are some, or will be none
	opened sync.Once
}

func newCostmaps(radius float64) *costmaps {
	return &costmaps{radius: radius, wanted: make(chan struct{}), ready: make(chan struct{})}
}

// queried is the memory's Query hook: who names the segment wants cost maps.
func (c *costmaps) queried(ctx context.Context, q *engram.Query) error {
	names := func(s engram.NameSelector, name string) bool {
		return s.Kind == engram.NameOneOf && slices.Contains(s.Names, name)
	}
	if !slices.ContainsFunc(q.Memories, func(m engram.QueryNode) bool {
		return names(m.Names, "Navigation") &&
			slices.ContainsFunc(m.Children, func(s engram.QueryNode) bool { return names(s.Names, costmapSegment) })
	}) {
		return nil
	}
	c.asked.Do(func() { close(c.wanted) })
	timeout := time.NewTimer(firstCostmaps)
	defer timeout.Stop()
	select {
	case <-c.ready:
	case <-timeout.C:
	case <-ctx.Done():
	}
	return nil
}

// run is the memory's Run hook.
func (c *costmaps) run(ctx context.Context, svc engram.Service) error {
	defer c.opened.Do(func() { close(c.ready) })
	select {
	case <-c.wanted:
	case <-ctx.Done():
		return nil
	}
	model, err := world.Over(ctx, svc, CostmapProvider, world.DefaultRules(), world.Robots("*"))
	if engram.CodeOf(err) == engram.NotFound {
		return nil // a server without the memory World
	}
	if err != nil {
		return err
	}
	defer model.Close()
	watcher, err := model.Watch(ctx)
	if err != nil {
		return err
	}
	defer watcher.Close()
	forest, err := model.View(ctx)
	if err != nil {
		return err
	}
	k := &keptCostmaps{costmaps: c, svc: svc, model: model, of: map[string]*keptCostmap{}}
	if of, ok := svc.(interface{ Robot() string }); ok {
		k.robot = of.Robot()
	}
	k.follow(ctx, world.Change{Forest: forest})
	c.opened.Do(func() { close(c.ready) })
	for {
		wait, cancel := ctx, func() {}
		if k.pending {
			wait, cancel = context.WithTimeout(ctx, mapDataEvery)
		}
		change, err := watcher.Next(wait)
		late := wait.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && late:
			if change.Forest, err = model.View(ctx); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		k.follow(ctx, change)
		select {
		case <-time.After(costmapsApart):
		case <-ctx.Done():
			return nil
		}
	}
}

// keptCostmaps are the cost maps of a server.
type keptCostmaps struct {
	*costmaps
	svc     engram.Service
	model   *world.Memory
	robot   string
	of      map[string]*keptCostmap // by map
	pending bool                    // the data of some are not there yet
	last    engram.Time             // of a commit
}

// keptCostmap is the cost map of one map; floor is nil while there is none.
type keptCostmap struct {
	said  *world.MapStatement
	floor *navigation.Floor
	tries int
}

// follow has the cost maps follow a change, and commits those that became others.
func (k *keptCostmaps) follow(ctx context.Context, c world.Change) {
	there := map[string]bool{}
	k.pending = false
	for s := range c.Forest.Maps().All() {
		if s.Map.Kind != world.OccupancyGrid || len(there) == maxCostmaps {
			continue
		}
		there[s.Name] = true
		kept := k.of[s.Name]
		if kept == nil || kept.said.Said != s.Said {
			kept = &keptCostmap{said: s}
			k.of[s.Name] = kept
		}
		changed := false
		switch {
		case kept.floor != nil:
			changed = kept.floor.Apply(c)
		case kept.tries < mapDataTries:
			kept.tries++
			changed = k.open(ctx, c.Forest, kept)
		}
		if !changed {
			continue
		}
		k.last = max(engram.Now(), k.last+1)
		if _, _, err := kept.floor.CommitCostmap(ctx, k.svc, CostmapProvider, k.last); err != nil && ctx.Err() == nil {
			slog.Warn("a cost map was not committed", "map", s.Name, "error", err)
		}
	}
	for name := range k.of {
		if !there[name] {
			delete(k.of, name)
		}
	}
}

// open reads the grid of a map.
func (k *keptCostmaps) open(ctx context.Context, f *world.Forest, kept *keptCostmap) bool {
	o := navigation.FloorOptions{Robot: k.robot}
	o.Radius = k.radius
	floor, err := navigation.FloorOf(ctx, k.model, f, kept.said.Name, o)
	switch {
	case err == nil:
		kept.floor = floor
		return true
	case engram.CodeOf(err) == engram.NotFound: // the data come after what is said of them
		k.pending = k.pending || kept.tries < mapDataTries
	default:
		kept.tries = mapDataTries
		if ctx.Err() == nil {
			slog.Warn("a map has no cost map", "map", kept.said.Name, "error", err)
		}
	}
	return false
}
