package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/world"
)

// memory is the connection to the memory, made when it is needed first.
type memory struct {
	connect  func(context.Context) (*client.Client, error)
	provider string // who would state something of the world; nothing is stated

	mu     sync.Mutex // held while it is connected
	client *client.Client
	world  *world.Memory
	known  *idf.Registry
	closed bool
}

// reach returns the connection.
func (m *memory) reach(ctx context.Context) (*client.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reachLocked(ctx)
}

func (m *memory) reachLocked(ctx context.Context) (*client.Client, error) {
	if m.closed {
		return nil, engram.Errorf(engram.Unavailable, "", "this server has ended")
	}
	if m.client == nil {
		c, err := m.connect(ctx)
		if err != nil {
			return nil, err
		}
		m.client, m.known = c, idf.NewRegistry()
	}
	return m.client, nil
}

// aroundRobot returns the world, which follows what is committed from its first use on.
func (m *memory) aroundRobot(ctx context.Context) (*world.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.reachLocked(ctx)
	if err != nil {
		return nil, err
	}
	if m.world == nil {
		w, err := world.Over(ctx, c, m.provider, world.DefaultRules())
		if err != nil {
			return nil, err
		}
		m.world = w
	}
	return m.world, nil
}

// typ returns a type, asked for once.
func (m *memory) typ(ctx context.Context, name string) (*idf.Type, error) {
	c, err := m.reach(ctx)
	if err != nil {
		return nil, err
	}
	if t, ok := m.known.Get(name); ok {
		return t, nil
	}
	def, err := c.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	return m.known.Add(def)
}

func (m *memory) close() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.world != nil {
		err = m.world.Close()
	}
	if m.client != nil {
		err = errors.Join(err, m.client.Close())
	}
	return err
}
