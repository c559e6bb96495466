package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// Options of a [Source]. Zero members mean the defaults.
type Options struct {
	// Wanted says which channels are subscribed to, by topic and message type; nil is all.
	Wanted func(topic, typ string) bool
	// QueueBytes bounds what waits to be read; default 64 MiB. Beyond it the oldest messages
	// are dropped, and counted.
	QueueBytes int
	// Described is called with each description of a robot (URDF) among the server's
	// parameters, and again when it has changed; nil asks for none. Calls come one after the
	// other and hold up nothing else.
	Described func(parameter, urdf string)
	// Tell is called with news for the operator: the connection broke or is back, complaints of
	// the server, messages that cannot be read. It must not block; nil tells nobody.
	Tell func(text string)
	// Now is this computer's clock; nil means [engram.Now].
	Now func() engram.Time
}

// Source is a running robot as a recording.Reader. Next and Close are for one goroutine at a
// time, the other methods for any.
type Source struct {
	address string // as it may be shown
	url     string
	o       Options
	queue   *queue
	end     context.CancelFunc
	tasks   sync.WaitGroup

	connected atomic.Bool
	channels  atomic.Int64 // subscribed to
	messages  atomic.Uint64
	bytes     atomic.Uint64

	descriptions chan description
	described    map[string]string // what was told last, by parameter; used by the connection

	// What is known of channels for as long as the source lives, so that a channel that comes
	// again is the same; used by the connection.
	streams map[streamKey]*stream
	schemas int // bytes
	seed    maphash.Seed

	mu         sync.Mutex
	told       map[string]bool // faults of frames
	faults     uint64
	fault      string // the first
	complained string // what the server complained of last
	gaps       []recording.Loss
}

type description struct{ parameter, urdf string }

const (
	dialTimeout = 10 * time.Second
	maxFrame    = 256 << 20 // bytes
	defaultLen  = 64 << 20  // bytes of the queue

	backoffFirst = 500 * time.Millisecond
	backoffMost  = 15 * time.Second

	// A server that answers no ping for pingTimeout is gone.
	pingEvery   = 15 * time.Second
	pingTimeout = 30 * time.Second

	maxGaps = 100 // that are told each
)

// Dial connects to a server, such as ws://robot:8765, and reads it until ctx ends. The error
// is Invalid for an address that is none or a server that speaks something else, Forbidden
// for one that admits nobody of ours, and Unavailable if it cannot be reached. Later the
// connection is made again as often as it breaks.
func Dial(ctx context.Context, address string, o Options) (*Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
		return nil, engram.Errorf(engram.Invalid, address, "is no address of a server; write it like ws://robot:8765, or wss:// with TLS")
	}
	o.QueueBytes = cmp.Or(o.QueueBytes, defaultLen)
	if o.Wanted == nil {
		o.Wanted = func(string, string) bool { return true }
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	if o.Now == nil {
		o.Now = engram.Now
	}
	s := newSource(u, o)
	conn, info, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, s.end = context.WithCancel(ctx)
	s.tasks.Go(func() { s.run(ctx, conn, info) })
	s.tasks.Go(func() { s.describe(ctx) })
	return s, nil
}

func newSource(u *url.URL, o Options) *Source {
	shown := *u
	shown.User, shown.RawQuery = nil, "" // there may be secrets in them
	return &Source{
		address: shown.String(), url: u.String(), o: o, queue: newQueue(o.QueueBytes),
		descriptions: make(chan description, 8), described: map[string]string{},
		streams: map[streamKey]*stream{}, seed: maphash.MakeSeed(), told: map[string]bool{},
	}
}

// connect makes a connection and hears its greeting.
func (s *Source) connect(ctx context.Context) (*websocket.Conn, *protocol.Announcement, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, s.url, &websocket.DialOptions{Subprotocols: protocol.Subprotocols})
	if err != nil {
		code, hint := engram.Unavailable, "is foxglove_bridge running there?"
		if short, ok := errors.AsType[*net.OpError](err); ok {
			err = short // without what was to be sent
		}
		if response != nil {
			switch response.StatusCode {
			case http.StatusUnauthorized, http.StatusForbidden:
				code, hint = engram.Forbidden, "the server admits only others"
			case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
				hint = "it is there, and cannot serve now"
			default:
				code, hint = engram.Invalid, "something else than a server of Foxglove's protocol is there"
			}
		}
		return nil, nil, engram.Errorf(code, s.address, "cannot be connected to (%s): %w", hint, err)
	}
	conn.SetReadLimit(maxFrame)
	fail := func(format string, args ...any) (*websocket.Conn, *protocol.Announcement, error) {
		_ = conn.Close(websocket.StatusPolicyViolation, "") // it is given up
		return nil, nil, engram.Errorf(engram.Invalid, s.address, format, args...)
	}
	if conn.Subprotocol() == "" {
		return fail("a WebSocket server is there that speaks neither %s nor %s; rosbridge is another protocol: start foxglove_bridge", protocol.SDK, protocol.Legacy)
	}
	kind, b, err := conn.Read(ctx)
	if err != nil {
		conn.CloseNow()
		return nil, nil, engram.Errorf(engram.Unavailable, s.address, "accepts the connection and says nothing: %w", err)
	}
	var info protocol.Announcement
	if kind != websocket.MessageText || json.Unmarshal(b, &info) != nil || info.Op != "serverInfo" {
		return fail("does not greet as servers of Foxglove's protocol do, by serverInfo")
	}
	return conn, &info, nil
}

// run serves connection after connection until ctx ends.
func (s *Source) run(ctx context.Context, conn *websocket.Conn, info *protocol.Announcement) {
	defer s.queue.close()
	for conn != nil {
		err := s.serve(ctx, conn, info)
		s.connected.Store(false)
		s.channels.Store(0)
		if ctx.Err() != nil {
			return
		}
		since := s.o.Now()
		s.o.Tell(fmt.Sprintf("the connection broke (%s); trying again", whyOf(err)))
		if conn, info = s.again(ctx); conn == nil {
			return
		}
		until := s.o.Now()
		s.gap(engram.Interval{Start: since, End: max(until, since.Add(1))})
		s.o.Tell(fmt.Sprintf("connected again after %v", until.Sub(since).Round(100*time.Millisecond)))
	}
}

// whyOf says why a connection ended.
func whyOf(err error) string {
	if e, ok := errors.AsType[websocket.CloseError](err); ok {
		if e.Reason == "" {
			return "the server closed it: " + e.Code.String()
		}
		return "the server closed it: " + e.Reason
	}
	return err.Error()
}

// again connects anew, however long it takes; nil once ctx has ended.
func (s *Source) again(ctx context.Context) (*websocket.Conn, *protocol.Announcement) {
	said := ""
	for pause := backoffFirst; ; pause = min(2*pause, backoffMost) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, nil
		}
		conn, info, err := s.connect(ctx)
		if err == nil {
			return conn, info
		}
		if why := err.Error(); why != said && ctx.Err() == nil {
			said = why
			s.o.Tell(why)
		}
	}
}

// serve reads a connection until it ends, and returns why.
func (s *Source) serve(ctx context.Context, conn *websocket.Conn, info *protocol.Announcement) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel(nil)
	defer conn.CloseNow()
	beside.Go(func() { cancel(alive(ctx, conn)) })
	c := newConnection(s, func(ctx context.Context, message any) error {
		b, err := json.Marshal(message)
		if err != nil {
			return err
		}
		return conn.Write(ctx, websocket.MessageText, b)
	})
	s.connected.Store(true)
	err := c.greeted(ctx, info)
	for err == nil {
		var kind websocket.MessageType
		var b []byte
		if kind, b, err = conn.Read(ctx); err != nil {
			break
		}
		if kind == websocket.MessageText {
			err = c.text(ctx, b)
		} else {
			c.binary(b)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err
}

// alive returns once the server answers no ping.
func alive(ctx context.Context, conn *websocket.Conn) error {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		within, cancel := context.WithTimeout(ctx, pingTimeout)
		err := conn.Ping(within)
		cancel()
		if err != nil {
			return engram.Errorf(engram.Unavailable, "", "it answers nothing: %w", err)
		}
	}
}

// describe tells descriptions.
func (s *Source) describe(ctx context.Context) {
	for {
		select {
		case d := <-s.descriptions:
			s.o.Described(d.parameter, d.urdf)
		case <-ctx.Done():
			return
		}
	}
}

// gap notes a time without a connection.
func (s *Source) gap(span engram.Interval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := recording.Loss{File: s.address, Span: span, HasSpan: true, Reason: "there was no connection"}
	if n := len(s.gaps); n == maxGaps {
		s.gaps[n-1].Span.End = span.End
		s.gaps[n-1].Reason = "the connection broke again and again"
		return
	}
	s.gaps = append(s.gaps, l)
}

// maxFaults bounds the different faults that are told.
const maxFaults = 32

// badFrame notes a message of the server that cannot be understood.
func (s *Source) badFrame(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	if s.faults++; s.fault == "" {
		s.fault = text
	}
	tell := !s.told[text] && len(s.told) < maxFaults
	if tell {
		s.told[text] = true
	}
	s.mu.Unlock()
	if tell {
		s.o.Tell(text)
	}
}

// Next returns the next message, waiting for it, and io.EOF once the context of [Dial] has
// ended and all that had come was read.
func (s *Source) Next() (recording.Message, error) {
	m, ok := s.queue.take()
	if !ok {
		return m, io.EOF
	}
	return m, nil
}

// Buffered returns how many messages can be read without waiting.
func (s *Source) Buffered() int { return s.queue.len() }

// Progress returns how many bytes of messages have come; there is no total.
func (s *Source) Progress() (done, total int64) { return int64(s.bytes.Load()), 0 }

// Span is empty: it is not known beforehand.
func (s *Source) Span() engram.Interval { return engram.Interval{} }

// Loss returns what is known to be lost so far.
func (s *Source) Loss() []recording.Loss {
	var all []recording.Loss
	if l, any := s.queue.loss(); any {
		l.File = s.address
		all = append(all, l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all = append(all, s.gaps...)
	if s.faults > 0 {
		all = append(all, recording.Loss{File: s.address, Messages: s.faults, Reason: "not understood, the first since " + s.fault})
	}
	return all
}

// Close ends the connection and waits for all that belongs to it.
func (s *Source) Close() error {
	s.end()
	s.tasks.Wait()
	return nil
}

// Address returns the server's address without what may be secret in it.
func (s *Source) Address() string { return s.address }

// Figures are what has come so far.
type Figures struct {
	Connected bool
	Channels  int    // that are subscribed to
	Messages  uint64 // that came
	Bytes     uint64 // of them
	Dropped   uint64 // of them, for want of room
	Waiting   int    // of them, to be read
}

// Figures returns what has come so far.
func (s *Source) Figures() Figures {
	return Figures{s.connected.Load(), int(s.channels.Load()), s.messages.Load(), s.bytes.Load(), s.queue.drops(), s.queue.len()}
}
