package foxglove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// session is one viewer's connection. mu guards all below it, and that what is sent of a
// channel is in order: it is held while the viewer's messages and updates are dealt with.
// What takes long (services, assets, the transform tree) runs beside, without it.
type session struct {
	door *Door
	conn *websocket.Conn
	asked
	end   context.CancelCauseFunc
	tasks sync.WaitGroup
	slots chan struct{} // of calls that run beside

	mu          sync.Mutex
	out         []byte // reused for each binary message
	channels    map[uint32]*channel
	lastChannel uint32 // number; none is used twice
	entities    map[channelKey]*channel
	topics      map[string]*channel
	subs        map[uint32]*channel // by the viewer's number
	published   map[uint32]protocol.Channel
	parameters  map[string]bool // whose changes the viewer wants
	graph       bool            // whether it wants the connection graph
	full        int             // whether channels are left out: allFit, leftOut, leftOutTold
	told        engram.Time     // the newest time that a live viewer was told
	slow        time.Time       // when it was last told that it is too slow; zero if it is not
	playback    *playback       // nil in a live session
	tree        *tree
	scene       *scene
}

// signal wakes a part of a session; make it with room for one.
type signal chan struct{}

func (w signal) give() {
	select {
	case w <- struct{}{}:
	default: // it is about to wake
	}
}

// maxBeside bounds the calls of a session that run at once.
const maxBeside = 8

func newSession(d *Door, conn *websocket.Conn, a asked, end context.CancelCauseFunc) *session {
	s := &session{
		door: d, conn: conn, asked: a, end: end, slots: make(chan struct{}, maxBeside),
		channels: map[uint32]*channel{}, entities: map[channelKey]*channel{}, topics: map[string]*channel{},
		subs: map[uint32]*channel{}, published: map[uint32]protocol.Channel{}, parameters: map[string]bool{},
	}
	s.tree, s.scene = newTree(s), newScene(s)
	if a.history {
		s.playback = newPlayback(s)
	}
	return s
}

// run greets the viewer, and serves it until it leaves.
func (s *session) run(ctx context.Context) error {
	defer s.tasks.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follow := func(ctx context.Context) error { return s.playback.run(ctx) }
	if s.playback == nil {
		// Before the greeting, which has what came before: so nothing is missed between both.
		stream, err := s.door.svc.Subscribe(ctx, engram.Subscription{Patterns: s.patterns, WithData: true})
		if err != nil {
			return err
		}
		defer stream.Close()
		follow = func(ctx context.Context) error { return s.follow(ctx, stream) }
	}
	if err := s.greet(ctx); err != nil {
		return err
	}
	s.beside(ctx, follow)
	if s.playback == nil {
		s.beside(ctx, s.removals)
	}
	s.beside(ctx, s.tree.run)
	s.beside(ctx, s.scene.run)
	for {
		kind, b, err := s.conn.Read(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if kind == websocket.MessageText {
			err = s.text(ctx, b)
		} else {
			err = s.binary(ctx, b)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// beside runs a part of the session, whose error ends it.
func (s *session) beside(ctx context.Context, f func(context.Context) error) {
	s.tasks.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				s.door.o.Log.Error("a viewer's session panicked", "cause", cause, "stack", string(debug.Stack()))
				s.end(engram.Errorf(engram.Internal, "", "the session ended by a defect of the memory server: %v", cause))
			}
		}()
		if err := f(ctx); err != nil && ctx.Err() == nil {
			s.end(err)
		}
	})
}

// greet says what the server is and has.
func (s *session) greet(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := protocol.ServerInfo{
		Op: "serverInfo", Name: s.door.o.Name, SupportedEncodings: []string{"json", "protobuf"},
		Capabilities: []string{"time", "parameters", "parametersSubscribe", "services", "connectionGraph", "assets"},
		Metadata:     map[string]string{}, SessionID: fmt.Sprintf("%x", s.door.svc.Epoch()),
	}
	if s.playback == nil {
		info.Capabilities = append(info.Capabilities, "clientPublish")
	} else {
		info.SessionID += fmt.Sprintf("-%d-%d", int64(s.Start), int64(s.End))
		info.DataStartTime, info.DataEndTime = protocol.TimeOf(s.Start), protocol.TimeOf(s.End)
		if s.conn.Subprotocol() == protocol.SDK {
			info.Capabilities = append(info.Capabilities, "playbackControl")
		}
	}
	if err := s.send(ctx, info); err != nil {
		return err
	}
	if err := s.discover(ctx); err != nil {
		return err
	}
	return s.send(ctx, protocol.AdvertiseServices{Op: "advertiseServices", Services: s.door.services()})
}

// follow sends updates.
func (s *session) follow(ctx context.Context, stream engram.UpdateStream) error {
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		err = s.updates(ctx, updates)
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// updates sends what the viewer wants of updates.
func (s *session) updates(ctx context.Context, updates []engram.Update) error {
	timed := false
	for i := range updates {
		u := &updates[i]
		if err := s.tellSlow(ctx, u.Dropped); err != nil {
			return err
		}
		if u.Snapshot == nil {
			continue
		}
		item := engram.Item{ID: u.ID, Snapshot: u.Snapshot}
		added, err := s.seen(ctx, item)
		if err == nil && added {
			err = s.tellGraph(ctx, false)
		}
		if err == nil {
			err = s.deliver(ctx, item, &timed)
		}
		if err == nil {
			err = s.parameterChanged(ctx, item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// How often a viewer is told that it is too slow, and for how long it must not have been
// before that is taken back.
const (
	tellSlowEvery = time.Second
	slowFor       = 5 * time.Second
)

const slowStatus = "slow"

func (s *session) tellSlow(ctx context.Context, dropped uint64) error {
	if dropped == 0 && s.slow.IsZero() {
		return nil
	}
	since := time.Since(s.slow)
	switch {
	case dropped > 0 && since >= tellSlowEvery:
		s.slow = time.Now()
		return s.send(ctx, protocol.Status{Op: "status", Level: protocol.LevelWarning, Message: fmt.Sprintf("this viewer is too slow: %d updates were left out just now; subscribe to less, or narrow the address with ?pattern=…", dropped), ID: slowStatus})
	case dropped == 0 && since >= slowFor:
		s.slow = time.Time{}
		return s.send(ctx, protocol.RemoveStatus{Op: "removeStatus", IDs: []string{slowStatus}})
	}
	return nil
}

// send sends a text message.
func (s *session) send(ctx context.Context, m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(ctx, websocket.MessageText, b)
}

// write sends a message. It is safe for concurrent use.
func (s *session) write(ctx context.Context, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.door.o.StallTimeout, errStalled)
	defer cancel()
	err := s.conn.Write(ctx, kind, b)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

var errStalled = engram.Errorf(engram.Exhausted, "", "the viewer takes nothing of what it is sent")

// message sends a datum of a subscription. timed says whether the viewer was told the time
// of this batch.
func (s *session) message(ctx context.Context, subscription uint32, t engram.Time, payload []byte, timed *bool) error {
	if !*timed {
		*timed = true
		if err := s.tellTime(ctx, s.now()); err != nil {
			return err
		}
	}
	s.out = protocol.AppendMessage(s.out[:0], subscription, t, payload)
	return s.write(ctx, websocket.MessageBinary, s.out)
}

// now is the time that the viewer shows.
func (s *session) now() engram.Time {
	if s.playback != nil {
		return s.playback.now
	}
	return s.door.o.Now()
}

// tellTime tells the viewer the time, which goes back only where a playback seeks: viewers
// forget what they have seen then, even if only the computer's clock was set. It does not use
// s.out: it is sent before a message that does.
func (s *session) tellTime(ctx context.Context, t engram.Time) error {
	if s.playback == nil {
		t = max(t, s.told)
		s.told = t
	}
	var b [9]byte
	return s.write(ctx, websocket.MessageBinary, protocol.AppendTime(b[:0], t))
}

func (s *session) complain(ctx context.Context, level int, format string, args ...any) error {
	return s.send(ctx, protocol.Status{Op: "status", Level: level, Message: fmt.Sprintf(format, args...)})
}

// text deals with a text message of the viewer. Its error ends the session.
func (s *session) text(ctx context.Context, b []byte) error {
	var r protocol.Request
	if err := json.Unmarshal(b, &r); err != nil {
		return s.complain(ctx, protocol.LevelError, "this is no message of the protocol: %v", err)
	}
	switch r.Op {
	case "subscribe":
		return s.subscribe(ctx, &r)
	case "unsubscribe":
		return s.unsubscribe(ctx, &r)
	case "advertise":
		return s.advertised(ctx, &r)
	case "unadvertise":
		for _, id := range r.ChannelIDs {
			delete(s.published, id)
		}
		return nil
	case "getParameters":
		return s.getParameters(ctx, &r)
	case "setParameters":
		return s.complain(ctx, protocol.LevelError, "parameters are read only; commit a description of the robot to RobotState/Description instead")
	case "subscribeParameterUpdates":
		for _, name := range r.ParameterNames {
			if len(s.parameters) < maxNames {
				s.parameters[name] = true
			}
		}
		return nil
	case "unsubscribeParameterUpdates":
		for _, name := range r.ParameterNames {
			delete(s.parameters, name)
		}
		return nil
	case "subscribeConnectionGraph":
		s.graph = true
		return s.tellGraph(ctx, true)
	case "unsubscribeConnectionGraph":
		s.graph = false
		return nil
	case "fetchAsset":
		return s.call(ctx, func(context.Context) (bool, []byte) {
			data, err := ReadAsset(s.door.o.Assets, r.URI)
			return false, protocol.AppendAsset(nil, r.RequestID, data, err)
		})
	}
	return s.complain(ctx, protocol.LevelWarning, "this server does not know the operation %.64q", r.Op)
}

// maxNames bounds what a viewer may name: parameters, channels of its own.
const maxNames = 1000

// binary deals with a binary message of the viewer.
func (s *session) binary(ctx context.Context, b []byte) error {
	f := protocol.Fields{B: b}
	switch op := f.U8(); op {
	case protocol.OpPublish:
		id := f.U32()
		if f.Short {
			break
		}
		return s.publish(ctx, id, f.B)
	case protocol.OpServiceCall:
		service, call, encoding := f.U32(), f.U32(), f.Text()
		if f.Short {
			break
		}
		return s.callService(ctx, service, call, encoding, f.B)
	case protocol.OpPlaybackControl:
		c := control{command: f.U8(), speed: f.F32(), seeks: f.U8() != 0, to: engram.Time(f.U64()), request: f.Text()}
		if f.Short {
			break
		}
		if s.playback == nil {
			return s.complain(ctx, protocol.LevelError, "this session is live; history has an address of its own: ?from=…&to=…")
		}
		return s.playback.control(ctx, c)
	default:
		return s.complain(ctx, protocol.LevelError, "this server does not know the binary operation %d", op)
	}
	return s.complain(ctx, protocol.LevelError, "a binary message of %d bytes is cut off", len(b))
}

// call runs what takes long beside the session, and sends the message, of text or not, that
// comes of it. A viewer that calls faster than is answered waits.
func (s *session) call(ctx context.Context, f func(context.Context) (text bool, b []byte)) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.beside(ctx, func(ctx context.Context) error {
		defer func() { <-s.slots }()
		kind := websocket.MessageBinary
		text, b := f(ctx)
		if text {
			kind = websocket.MessageText
		}
		return s.write(ctx, kind, b)
	})
	return nil
}
