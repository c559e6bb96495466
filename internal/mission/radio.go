package mission

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

// radio is the link between a robot and the operator's backbone: TCP through this process, or
// not. While it is cut, what is sent is lost and nobody is told.
type radio struct {
	listener net.Listener
	to       string
	cut      atomic.Bool
	wait     sync.WaitGroup

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// newRadio returns a link that leads to an address.
func newRadio(to string) (*radio, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &radio{listener: l, to: to, open: map[net.Conn]bool{}}
	r.wait.Go(r.accept)
	return r, nil
}

// Address returns where the robot's end is.
func (r *radio) Address() string { return r.listener.Addr().String() }

func (r *radio) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wait.Go(func() { r.carry(c) })
	}
}

// add notes a connection; false means that the radio has ended.
func (r *radio) add(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		c.Close()
		return false
	}
	r.open[c] = true
	return true
}

func (r *radio) remove(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
	c.Close()
}

func (r *radio) carry(robot net.Conn) {
	if !r.add(robot) {
		return
	}
	defer r.remove(robot)
	var base net.Conn
	if !r.cut.Load() { // else nobody answers, until Restore
		var err error
		if base, err = new(net.Dialer).DialContext(context.Background(), "tcp", r.to); err != nil || !r.add(base) {
			return
		}
		defer r.remove(base)
	}
	var both sync.WaitGroup
	copyTo := func(from, to net.Conn) {
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 && to != nil && !r.cut.Load() {
				_, werr := to.Write(buffer[:n])
				err = errors.Join(err, werr)
			}
			if err != nil {
				from.Close()
				if to != nil {
					to.Close()
				}
				return
			}
		}
	}
	both.Go(func() { copyTo(robot, base) })
	if base != nil {
		both.Go(func() { copyTo(base, robot) })
	}
	both.Wait()
}

// Cut has everything be lost from now on.
func (r *radio) Cut() { r.cut.Store(true) }

// Restore ends a cut. What was lost is missing in the connections, so they break, as they do
// after a cut that is longer than what TCP repeats.
func (r *radio) Restore() {
	r.cut.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		c.Close()
	}
}

// Close ends the link.
func (r *radio) Close() {
	r.mu.Lock()
	r.ended = true
	for c := range r.open {
		c.Close()
	}
	r.mu.Unlock()
	r.listener.Close()
	r.wait.Wait()
}
