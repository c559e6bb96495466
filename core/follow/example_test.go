package follow_test

import (
	"context"
	"fmt"
	"maps"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// newest is a view: of each entity, when it was written last.
type newest map[engram.ID]engram.Time

func (n newest) take(id engram.ID, at engram.Time) {
	entity := id.Truncate(engram.LevelEntity)
	n[entity] = max(n[entity], at)
}

func (n newest) Apply(_ uint64, updates []engram.Update) (anew []string, err error) {
	for _, u := range updates {
		if !u.Removed { // else Reset comes
			n.take(u.ID, u.Snapshot.Time)
		}
	}
	return nil, nil
}

func (n newest) Query(memories []string) engram.Query {
	p := engram.MustPattern("*")
	if memories != nil {
		p.Levels[0] = engram.OneOf(memories...)
	}
	return p.Select(engram.Latest(1))
}

func (n newest) Reset(_ context.Context, a follow.Answer) error {
	maps.DeleteFunc(n, func(entity engram.ID, _ engram.Time) bool { return a.IsWhole(entity.Memory()) })
	for it := range a.All() {
		n.take(it.ID, it.Snapshot.Time)
	}
	return nil
}

// A view is kept in the process of the server, and has all that was committed before it is asked.
func Example() {
	ctx := context.Background()
	cups := engram.CoreSegment{ID: engram.MustID("Kitchen/Cup")}
	svc, err := server.New(server.Config{Memories: []server.Memory{{Name: "Kitchen", Segments: []engram.CoreSegment{cups}}}, Log: testkit.Quiet})
	if err != nil {
		panic(err)
	}
	defer svc.Close()
	view := newest{}
	f := follow.New(svc, view, follow.Options{Patterns: []engram.Pattern{engram.MustPattern("Kitchen")}, Local: true})
	if err := f.Open(ctx); err != nil {
		panic(err)
	}
	f.Start()
	defer f.Close()
	red := engram.MustID("Kitchen/Cup/camera/red")
	_, err = svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: red, Time: 12e9, Instances: []engram.Instance{{}}}}})
	if err != nil {
		panic(err)
	}
	if err := f.Pull(ctx); err != nil {
		panic(err)
	}
	fmt.Println(red.Entity(), "was seen at", view[red])
	// Output: red was seen at 1970-01-01 00:00:12.000000
}
