package backbone

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

// A tunnel carries the bytes of one connection over the message fabric, for servers
// to which there is no route. Each side listens on one subject for all its
// connections; a frame is the kind, the frame's number in its direction, and its
// content:
//
//	byte 0      kind
//	bytes 1–8   number, little endian, from 0
//	rest        data: bytes; credit: 4 bytes little endian; close: why
//
// The fabric may lose messages, but not reorder those of one sender: a gap in the
// numbers breaks the connection, as a reset does, and whoever uses it dials again.
// A sender has credit for [window] bytes that the reader has not taken yet, and on a slow
// link uses less of it ([flow]).
const (
	frameData byte = iota + 1
	frameCredit
	framePing
	frameClose
)

const (
	frameHeader = 9
	window      = 1 << 20
	maxData     = 32 << 10 // arrives at once: over a slow link, what is longer would look like silence
	pingEvery   = 5 * time.Second
	deadAfter   = 16 * time.Second
	maxConns    = 10_000 // of one side
	backlog     = 128
)

// tunnelVersion is the version of the frames; a dialler offers its own.
const tunnelVersion = "1"

func dialSubject(server string) string { return "engram.dial." + subject.Token(server) }

// tunnels are the connections that end at this side.
type tunnels struct {
	nc     *nats.Conn
	prefix string // of their subjects, engram.tunnel.<identity>.<run>.<connection>
	sub    *nats.Subscription

	mu     sync.Mutex
	conns  map[string]*conn // by the last token of their subject
	closed bool
}

func newTunnels(nc *nats.Conn, identity string) (*tunnels, error) {
	t := &tunnels{nc: nc, prefix: subject.Tunnels(identity) + "." + rand.Text() + ".", conns: map[string]*conn{}}
	var err error
	if t.sub, err = nc.Subscribe(t.prefix+"*", t.receive); err != nil {
		return nil, engram.Errorf(engram.Unavailable, t.prefix, "the backbone refuses the subscription: %w", err)
	}
	// Credit bounds what may wait for each connection.
	if err := t.sub.SetPendingLimits(-1, -1); err != nil {
		return nil, engram.Errorf(engram.Internal, t.prefix, "%w", err)
	}
	return t, nil
}

func (t *tunnels) receive(m *nats.Msg) {
	t.mu.Lock()
	c := t.conns[m.Subject[len(t.prefix):]]
	t.mu.Unlock()
	if c != nil {
		c.receive(m.Data)
	}
}

// add makes the near end of a connection whose far end will be named later.
func (t *tunnels) add(local, remote string) (*conn, error) {
	c := &conn{
		t: t, token: rand.Text(), local: tunnelAddr(local), remote: tunnelAddr(remote),
		credit: window, changed: make(chan struct{}), done: make(chan struct{}), heard: time.Now(), spoke: time.Now(),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, net.ErrClosed
	case len(t.conns) >= maxConns:
		return nil, engram.Errorf(engram.Exhausted, remote, "there are %d connections through the backbone already", maxConns)
	}
	t.conns[c.token] = c
	return c, nil
}

func (t *tunnels) drop(c *conn) {
	t.mu.Lock()
	delete(t.conns, c.token)
	t.mu.Unlock()
}

// runOf returns what of a tunnel's subject tells the process at that end.
func runOf(end string) string { return end[:strings.LastIndexByte(end, '.')+1] }

// to returns the connections that were dialled to a server.
func (t *tunnels) to(server string) (conns []*conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		if c.remote == tunnelAddr(server) {
			conns = append(conns, c)
		}
	}
	return conns
}

// endOthers ends the connections to a server that lead to another process than the one that
// has its name now.
func (t *tunnels) endOthers(server, run string) {
	for _, c := range t.to(server) {
		c.mu.Lock()
		if c.to != "" && runOf(c.to) != run {
			c.failLocked(engram.Errorf(engram.Unavailable, server, "the server has begun anew"), false)
		}
		c.mu.Unlock()
	}
}

func (t *tunnels) close() {
	t.mu.Lock()
	t.closed = true
	var conns []*conn
	for _, c := range t.conns {
		conns = append(conns, c)
	}
	t.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	_ = t.sub.Unsubscribe() // fails only if the connection is closed already
}

// Dial connects to the server that listens under that name, through the backbone.
// Unavailable if none does.
func (b *Backbone) Dial(ctx context.Context, server string) (net.Conn, error) {
	c, err := b.tunnels.add(dialler, server)
	if err != nil {
		return nil, err
	}
	req := nats.NewMsg(dialSubject(server))
	req.Header.Set("Engram-Tunnel", tunnelVersion)
	req.Header.Set(creditHeader, strconv.Itoa(creditStep))
	req.Data = []byte(b.tunnels.prefix + c.token)
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadAfter)
		defer cancel()
	}
	var reply *nats.Msg
	err = b.dialling(ctx, server, func(ctx context.Context) (err error) {
		reply, err = b.conn.RequestMsgWithContext(ctx, req)
		return err
	})
	if err != nil {
		b.tunnels.drop(c)
		if engram.CodeOf(err) == engram.Forbidden {
			return nil, err
		}
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
			return nil, engram.Errorf(engram.Canceled, server, "given up dialling through the backbone: %w", err)
		}
		if errors.Is(err, nats.ErrReconnectBufExceeded) { // what NATS says of a connection that is being made anew
			return nil, engram.Errorf(engram.Unavailable, server, "there is no connection to the backbone")
		}
		return nil, engram.Errorf(engram.Unavailable, server, "no server of this name answers on the backbone: %w", err)
	}
	if why := reply.Header.Get("Engram-Error"); why != "" {
		b.tunnels.drop(c)
		return nil, engram.Errorf(engram.Unavailable, server, "the server refuses the connection: %s", why)
	}
	if !subject.IsTunnel(string(reply.Data)) {
		b.tunnels.drop(c)
		return nil, engram.Errorf(engram.Unavailable, server, "the server answers with %.64q, which is not the end of a tunnel", reply.Data)
	}
	c.start(string(reply.Data), reply.Header.Get(creditHeader))
	b.tunnels.endOthers(server, runOf(string(reply.Data)))
	return c, nil
}

// Restarted is told that a server has begun anew. It ends the connections to the process
// before, which ended without a word if it was killed.
func (b *Backbone) Restarted(ctx context.Context, server string) {
	if len(b.tunnels.to(server)) == 0 {
		return
	}
	if c, err := b.Dial(ctx, server); err == nil { // else they end when they are silent for too long
		c.Close()
	}
}

// dialling calls f with a context that ends when the NATS cluster denies what dialling a
// server takes.
func (b *Backbone) dialling(ctx context.Context, server string, f func(context.Context) error) error {
	return b.permissions.allowed(ctx, func(s string) bool {
		return s == dialSubject(server) || strings.HasPrefix(s, b.tunnels.prefix) || strings.HasPrefix(s, "_INBOX.")
	}, f)
}

// Listen accepts connections through the backbone to the server of that name.
// Conflict if one of that name listens already.
func (b *Backbone) Listen(server string) (net.Listener, error) {
	l := &listener{b: b, server: server, accepted: make(chan *conn, backlog), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	err := b.dialling(ctx, server, func(ctx context.Context) error {
		_, err := b.conn.RequestWithContext(ctx, dialSubject(server), nil)
		return err
	})
	if !errors.Is(err, nats.ErrNoResponders) {
		if engram.CodeOf(err) == engram.Forbidden {
			return nil, err
		}
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			return nil, engram.Errorf(engram.Conflict, server, "a server of this name listens on the backbone already")
		}
		return nil, engram.Errorf(engram.Unavailable, server, "the backbone does not answer: %w", err)
	}
	if l.sub, err = b.conn.Subscribe(dialSubject(server), l.dialled); err != nil {
		return nil, engram.Errorf(engram.Unavailable, server, "the backbone refuses the subscription: %w", err)
	}
	if err := b.Flush(context.Background()); err != nil {
		_ = l.sub.Unsubscribe() // fails only on a closed connection
		return nil, err
	}
	return l, nil
}

type listener struct {
	b        *Backbone
	server   string
	sub      *nats.Subscription
	accepted chan *conn
	done     chan struct{}

	mu sync.Mutex // held to put into accepted, and to close done: nothing is put in afterwards
}

func (l *listener) dialled(m *nats.Msg) {
	if !subject.IsInbox(m.Reply) {
		return // this side's rights are not lent to whoever dials
	}
	answer := nats.NewMsg(m.Reply)
	refuse := func(why string) {
		answer.Header.Set("Engram-Error", why)
		_ = m.RespondMsg(answer) // the dialler's wait ends by itself
	}
	if v := m.Header.Get("Engram-Tunnel"); v != tunnelVersion {
		refuse(fmt.Sprintf("version %q of the tunnel; this server speaks %s", v, tunnelVersion))
		return
	}
	if !subject.IsTunnel(string(m.Data)) {
		refuse(fmt.Sprintf("%.64q is not the end of a tunnel", m.Data))
		return
	}
	c, err := l.b.tunnels.add(l.server, dialler)
	if err != nil {
		refuse(err.Error())
		return
	}
	c.start(string(m.Data), m.Header.Get(creditHeader))
	if err := l.put(c); err != nil {
		c.Close()
		refuse(err.Error())
		return
	}
	answer.Header.Set(creditHeader, strconv.Itoa(creditStep))
	answer.Data = []byte(l.b.tunnels.prefix + c.token)
	_ = m.RespondMsg(answer)
}

// put has a connection wait to be accepted.
func (l *listener) put(c *conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		return net.ErrClosed
	default:
	}
	select {
	case l.accepted <- c:
		return nil
	default:
		return errors.New("too many connections wait to be accepted")
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that were accepted go on.
func (l *listener) Close() error {
	l.mu.Lock()
	select {
	case <-l.done:
		l.mu.Unlock()
		return net.ErrClosed
	default:
	}
	close(l.done)
	l.mu.Unlock()
	_ = l.sub.Unsubscribe() // fails only if the connection is closed already
	for {
		select {
		case c := <-l.accepted:
			c.Close()
		default:
			return nil
		}
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return tunnelAddr(l.server) }

// dialler is the address of the end that has dialled: it has no name.
const dialler = "backbone"

// tunnelAddr is a server's name as a net.Addr of network "nats".
type tunnelAddr string

func (tunnelAddr) Network() string  { return "nats" }
func (a tunnelAddr) String() string { return string(a) }

// conn is one end of a tunnel.
type conn struct {
	t             *tunnels
	token         string
	local, remote tunnelAddr
	to            string // the far end's subject
	done          chan struct{}

	// mu guards what follows. changed is closed and replaced at each change that
	// somebody may wait for.
	mu       sync.Mutex
	changed  chan struct{}
	received [][]byte // not taken yet
	waiting  int      // bytes in received
	taken    int      // bytes taken and not credited yet
	credit   int
	flow     flow
	sent     uint64 // frames
	seen     uint64
	heard    time.Time
	spoke    time.Time
	end      error // set once; what was received before is still read
	read     deadline
	write    deadline
}

type deadline struct {
	at    time.Time
	timer *time.Timer
}

// start begins to use a connection whose far end is named, and gives credit as it says.
func (c *conn) start(to, credit string) {
	c.mu.Lock()
	c.to, c.flow = to, newFlow(credit)
	c.mu.Unlock()
	go c.keepAlive()
}

func (c *conn) wakeLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// receive takes a frame. It must not block: it runs for all connections.
func (c *conn) receive(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		return
	}
	if len(frame) < frameHeader {
		c.failLocked(engram.Errorf(engram.Corrupt, string(c.remote), "a frame of %d bytes through the backbone", len(frame)), true)
		return
	}
	if n := binary.LittleEndian.Uint64(frame[1:]); n != c.seen {
		c.failLocked(engram.Errorf(engram.Unavailable, string(c.remote), "the backbone lost messages: frame %d came, not %d", n, c.seen), true)
		return
	}
	c.seen++
	c.heard = time.Now()
	body := frame[frameHeader:]
	switch frame[0] {
	case frameData:
		if c.waiting+c.taken+len(body) > window {
			c.failLocked(engram.Errorf(engram.Exhausted, string(c.remote), "the peer sent more than the %d bytes it had credit for", window), true)
			return
		}
		if len(body) == 0 {
			return
		}
		c.received = append(c.received, body)
		c.waiting += len(body)
	case frameCredit:
		if len(body) != 4 {
			c.failLocked(engram.Errorf(engram.Corrupt, string(c.remote), "a credit of %d bytes", len(body)), true)
			return
		}
		n := int(binary.LittleEndian.Uint32(body))
		c.credit = min(window, c.credit+n)
		c.flow.take(n, c.heard)
	case framePing:
		return
	case frameClose:
		c.failLocked(io.EOF, false)
		return
	default:
		c.failLocked(engram.Errorf(engram.Corrupt, string(c.remote), "a frame of unknown kind %d", frame[0]), true)
		return
	}
	c.wakeLocked()
}

// sendLocked sends a frame; its number and its place in the stream are one, so the
// lock is held. Publishing only copies into the connection's buffer.
func (c *conn) sendLocked(kind byte, body []byte) error {
	frame := make([]byte, frameHeader+len(body))
	frame[0] = kind
	binary.LittleEndian.PutUint64(frame[1:], c.sent)
	copy(frame[frameHeader:], body)
	if err := c.t.nc.Publish(c.to, frame); err != nil {
		err = engram.Errorf(engram.Unavailable, string(c.remote), "the backbone is away: %w", err)
		c.failLocked(err, false)
		return err
	}
	c.sent++
	c.spoke = time.Now()
	return nil
}

// failLocked ends the connection, and tells the far end so.
func (c *conn) failLocked(err error, tell bool) {
	if c.end != nil {
		return
	}
	c.end = err
	if tell && c.to != "" {
		_ = c.sendLocked(frameClose, []byte(err.Error()))
	}
	close(c.done)
	c.wakeLocked()
	c.t.drop(c)
}

// keepAlive tells the far end that this one lives, and ends the connection when
// the far end does not.
func (c *conn) keepAlive() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-c.done:
			return
		}
		c.mu.Lock()
		switch {
		case c.end != nil:
		case time.Since(c.heard) > deadAfter:
			c.failLocked(engram.Errorf(engram.Unavailable, string(c.remote), "nothing was heard through the backbone for %v", deadAfter), true)
		case time.Since(c.spoke) >= pingEvery/2:
			_ = c.sendLocked(framePing, nil) // an error ends the connection
		}
		c.mu.Unlock()
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if len(p) == 0 || len(c.received) > 0 {
			n := c.takeLocked(p)
			c.mu.Unlock()
			return n, nil
		}
		end, changed, expired := c.end, c.changed, c.read.expired()
		c.mu.Unlock()
		switch {
		case end != nil:
			return 0, end
		case expired:
			return 0, os.ErrDeadlineExceeded
		}
		<-changed
	}
}

func (c *conn) takeLocked(p []byte) (n int) {
	for n < len(p) && len(c.received) > 0 {
		k := copy(p[n:], c.received[0])
		n += k
		if c.received[0] = c.received[0][k:]; len(c.received[0]) == 0 {
			c.received[0] = nil
			c.received = c.received[1:]
		}
	}
	c.waiting -= n
	if c.taken += n; c.taken >= creditStep && c.end == nil {
		body := binary.LittleEndian.AppendUint32(nil, uint32(c.taken))
		c.taken = 0
		_ = c.sendLocked(frameCredit, body) // an error ends the connection
	}
	return n
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		c.mu.Lock()
		if c.end != nil {
			err = c.end
			if err == io.EOF {
				err = engram.Errorf(engram.Unavailable, string(c.remote), "the peer closed the connection")
			}
		} else if c.write.expired() {
			err = os.ErrDeadlineExceeded
		}
		if err != nil {
			c.mu.Unlock()
			return n, err
		}
		room := min(c.credit, c.flow.room())
		if room == 0 {
			changed := c.changed
			c.mu.Unlock()
			<-changed
			continue
		}
		k := min(len(p), room, maxData, int(c.t.nc.MaxPayload())-frameHeader)
		err = c.sendLocked(frameData, p[:k])
		c.credit -= k
		c.flow.send(k, c.spoke)
		c.mu.Unlock()
		if err != nil {
			return n, err
		}
		n += k
		p = p[k:]
	}
	return n, nil
}

// Close implements net.Conn. What was written before is delivered.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received, c.waiting = nil, 0
	c.failLocked(net.ErrClosed, true)
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.read, t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.write, t) }

func (c *conn) setDeadline(d *deadline, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.wakeLocked()
		})
	}
	c.wakeLocked()
	return nil
}

func (d *deadline) expired() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
