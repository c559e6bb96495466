package mission

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone/embedded"
	copyservice "github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/server"
)

// homes are where the members have their servers: all in this process, or each on a host of its
// own.
type homes interface {
	// settle starts a member's server; the operator's comes first. ctx bounds the call only.
	settle(ctx context.Context, b *member) (home, error)
	close() error
}

// home is where a member has its server.
type home interface {
	address() string        // of the server
	server() engram.Service // if it is in this process; else nil
	cut(lost bool)          // has what the link to the operator carries be lost, or not any more
	kill()                  // ends the server without a word
	close() error           // ends it in good order
}

// newHomes returns the homes that a mission is to have.
func newHomes(m *Mission) (homes, error) {
	if m.config.Namespaces {
		return newHosts(m)
	}
	return &process{m: m}, nil
}

// folder is where a member's long-term memory lies.
func (m *Mission) folder(b *member) (string, error) {
	dir := filepath.Join(m.config.Dir, b.name)
	return dir, os.MkdirAll(dir, 0o700)
}

// socket is where a member's server listens.
func (m *Mission) socket(b *member) string {
	return "unix:" + filepath.Join(m.sockets, b.name+".sock")
}

// process is this process as the home of all servers.
type process struct {
	m     *Mission
	leafs string // where leaf nodes connect to the operator's
}

func (p *process) settle(_ context.Context, b *member) (home, error) {
	r := &room{}
	of := ""
	if b.robot {
		var err error
		if r.radio, err = newRadio(p.leafs); err != nil {
			return nil, err
		}
		of = r.radio.Address()
	}
	if err := r.start(p.m, b, of); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if !b.robot {
		base, _ := r.node.Backbone()
		_, p.leafs, _ = strings.Cut(base.Leafs, "://")
	}
	return r, nil
}

func (p *process) close() error { return nil }

// room is a server in this process.
type room struct {
	node  *node.Node
	radio *radio // to the operator; nil of the operator
	stop  context.CancelFunc
	serve chan error
}

// start starts the server. of is where its leaf node connects to; "" for the operator.
func (r *room) start(m *Mission, b *member, of string) (err error) {
	var kept []server.Memory
	for _, mem := range memories.All() {
		if slices.Contains(taken, mem.Name) {
			kept = append(kept, mem)
		}
	}
	dir, err := m.folder(b)
	if err != nil {
		return err
	}
	backbone := &node.Backbone{Embedded: embedded.Options{LeafListen: "127.0.0.1:0", Log: quiet}}
	if of != "" {
		backbone.Embedded.LeafListen = ""
		backbone.Embedded.LeafOf = []string{"nats-leaf://" + of}
	}
	c := node.Config{
		Memories: kept, Robot: b.name, Name: b.name, Listen: []string{m.socket(b)},
		Backbone: backbone, Data: &ltm.Options{Dir: dir, Log: quiet}, Operations: node.Operations{Log: quiet},
	}
	for _, text := range copied(of == "") {
		c.Copies = append(c.Copies, copyservice.Copy{Pattern: engram.MustPattern(text)})
	}
	if r.node, err = node.New(m.background, c); err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.serve = make(chan error, 1)
	go func() { r.serve <- r.node.Serve(serving) }()
	return nil
}

func (r *room) address() string        { return r.node.Addresses()[0] }
func (r *room) server() engram.Service { return r.node.Server() }

func (r *room) cut(lost bool) {
	if lost {
		r.radio.Cut()
	} else {
		r.radio.Restore()
	}
}

func (r *room) kill() { r.stop() }

func (r *room) close() (err error) {
	if r.serve != nil {
		r.stop()
		if err = <-r.serve; engram.CodeOf(err) == engram.Canceled || errors.Is(err, context.Canceled) {
			err = nil
		}
		r.serve = nil
	}
	if r.radio != nil {
		r.radio.Close()
	}
	return err
}
