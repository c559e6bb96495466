package web

import (
	"context"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/mind/world"
)

// worlds are those of who looks: opening one reads all items, so it stays open between two looks. Each has what its
// identity may read. The zero value is ready.
type worlds struct {
	mu   sync.Mutex
	open map[access.Identity]*openWorld
}

// openWorld is the world of an identity. Its members but opened's are guarded by the mu of worlds.
type openWorld struct {
	opened func() (*world.Memory, error) // waits until it is
	users  int
	idle   *time.Timer // closes it; nil while it has users
}

const (
	// maxWorlds bounds the identities that look at once.
	maxWorlds = 16
	// worldIdle is how long a world stays open that nobody looks at.
	worldIdle = 30 * time.Second
)

// take returns the world of who makes a call until release is called.
func (ws *worlds) take(ctx context.Context, svc engram.Service, robot string) (model *world.Memory, release func(failed bool), err error) {
	id := access.IdentityOf(ctx)
	ws.mu.Lock()
	w := ws.open[id]
	switch {
	case w != nil && w.idle != nil:
		w.idle.Stop()
		w.idle = nil
	case w == nil && len(ws.open) >= maxWorlds:
		ws.mu.Unlock()
		return nil, nil, engram.Errorf(engram.Exhausted, string(id), "%d others look at the world; try again in a minute", maxWorlds)
	case w == nil:
		ctx := context.WithoutCancel(ctx) // others may wait for it
		w = &openWorld{opened: sync.OnceValues(func() (*world.Memory, error) {
			return world.Over(ctx, svc, "viewer", world.DefaultRules(), world.Robots("*"), world.OfRobot(robot)) // nothing is written
		})}
		if ws.open == nil {
			ws.open = map[access.Identity]*openWorld{}
		}
		ws.open[id] = w
	}
	w.users++
	ws.mu.Unlock()
	model, err = w.opened()
	release = func(failed bool) { ws.release(id, w, failed) }
	if err != nil {
		release(true)
		return nil, nil, err
	}
	return model, release, nil
}

// release gives a world back. One that failed is given to nobody any more.
func (ws *worlds) release(id access.Identity, w *openWorld, failed bool) {
	ws.mu.Lock()
	w.users--
	if failed && ws.open[id] == w {
		delete(ws.open, id)
	}
	left := w.users == 0 && ws.open[id] != w
	if w.users == 0 && !left {
		w.idle = time.AfterFunc(worldIdle, func() { ws.closeIdle(id, w) })
	}
	ws.mu.Unlock()
	if left {
		w.close()
	}
}

func (ws *worlds) closeIdle(id access.Identity, w *openWorld) {
	ws.mu.Lock()
	idle := w.users == 0 && ws.open[id] == w
	if idle {
		delete(ws.open, id)
	}
	ws.mu.Unlock()
	if idle {
		w.close()
	}
}

func (w *openWorld) close() {
	if model, err := w.opened(); err == nil {
		_ = model.Close() // nothing was written
	}
}

// forest returns the world at a time; nil where there is none.
func (p *scenes) forest(ctx context.Context, when moment) (*world.Forest, error) {
	model, release, err := p.worlds.take(ctx, p.svc, p.o.Robot)
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil // a server without the memory World
	}
	if err != nil {
		return nil, err
	}
	var f *world.Forest
	if when.now && when.asOf == nil {
		f, err = model.View(ctx)
	} else {
		f, err = model.Past(ctx, when.at, when.asOf)
	}
	release(err != nil && ctx.Err() == nil)
	return f, err
}
