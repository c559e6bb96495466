package attack

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link leads connections on to an address, and does what networks do: it delays what goes
// through, lets nothing through for a while, ends connections and lets nobody connect. What
// goes through can be looked at and changed. Safe for concurrent use.
type link struct {
	l      net.Listener
	to     string
	pass   func(b []byte) // sees, and may change, what goes through; nil passes it
	moving sync.WaitGroup
	closed chan struct{}
	bytes  atomic.Int64 // that went through

	mu     sync.Mutex
	chance *rand.Rand
	down   bool          // nobody connects
	held   chan struct{} // nothing goes through until it is closed; nil: all does
	slow   time.Duration // at most, of what goes through in one piece
	open   map[net.Conn]bool
}

// leadTo makes a link to an address, which is closed at the end of the test.
func leadTo(t *testing.T, to string, chance *rand.Rand, pass func(b []byte)) *link {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &link{l: l, to: to, pass: pass, closed: make(chan struct{}), chance: rand.New(rand.NewPCG(chance.Uint64(), 0)), open: map[net.Conn]bool{}}
	n.moving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.moving.Go(func() { n.lead(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(n.closed)
		n.cut()
		n.moving.Wait()
	})
	return n
}

func (n *link) address() string { return n.l.Addr().String() }

// lead leads one connection on until one of its ends closes it or it is cut.
func (n *link) lead(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer to.Close()
	n.mu.Lock()
	down := n.down
	n.open[from], n.open[to] = true, true
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, from)
		delete(n.open, to)
	}()
	if down {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { n.copy(to, from) })
	n.copy(from, to)
	both.Wait()
}

func (n *link) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	b := make([]byte, 32<<10)
	for {
		got, err := from.Read(b)
		if err != nil {
			return
		}
		n.mu.Lock()
		held, late := n.held, time.Duration(0)
		if n.slow > 0 {
			late = time.Duration(n.chance.Int64N(int64(n.slow)))
		}
		n.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-n.closed:
			}
		}
		time.Sleep(late)
		if n.pass != nil {
			n.pass(b[:got])
		}
		if _, err := to.Write(b[:got]); err != nil {
			return
		}
		n.bytes.Add(int64(got))
	}
}

// harm does something to the link at random, and returns what.
func (n *link) harm() string {
	n.mu.Lock()
	kind := n.chance.IntN(5)
	n.mu.Unlock()
	switch kind {
	case 0:
		n.cut()
		return "reset"
	case 1:
		n.mu.Lock()
		n.down = true
		n.mu.Unlock()
		n.cut()
		return "down"
	case 2:
		n.mu.Lock()
		if n.held == nil {
			n.held = make(chan struct{})
		}
		n.mu.Unlock()
		return "silent"
	case 3:
		n.mu.Lock()
		n.slow = 10 * time.Millisecond
		n.mu.Unlock()
		return "slow"
	}
	n.heal()
	return "well"
}

// cut ends all connections, without a word of goodbye.
func (n *link) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.open {
		_ = c.(*net.TCPConn).SetLinger(0) // what is on its way is lost
		c.Close()
	}
}

// heal lets everything through again.
func (n *link) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.slow = false, 0
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
}
