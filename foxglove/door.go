package foxglove

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/poses"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/pose/service"
)

// Options configures a [Door]. Zero members mean the defaults.
type Options struct {
	// Name is the server's, as viewers show it; default "Engram".
	Name string
	// Assets are folders below which viewers may fetch files: package://arm/meshes/hand.stl
	// is arm/meshes/hand.stl in the first of them that has it. Nothing else can be fetched.
	Assets []string
	// API makes the calls that viewers make as services; nil offers none.
	API API
	// Admit is asked before a session begins, and release called when it has ended; nil
	// admits all. Its error is what the viewer is told.
	Admit func() (release func(), err error)
	// MaxChannels bounds the channels of one session; default 5,000.
	MaxChannels int
	// StallTimeout is how long a viewer may take nothing of what it is sent before its
	// session ends; default 10 s.
	StallTimeout time.Duration
	// Now is the server's clock; nil means [engram.Now].
	Now func() engram.Time
	Log *slog.Logger // nil means slog.Default()
}

// Door serves viewers. Make one with [New]. Safe for concurrent use.
type Door struct {
	svc   feature.Server
	poses service.Service
	o     Options
	types *Types
}

// New returns a door to a memory server, which must be behind its access rules.
func New(svc feature.Server, o Options) *Door {
	o.Name = cmp.Or(o.Name, "Engram")
	o.MaxChannels = cmp.Or(o.MaxChannels, 5000)
	o.StallTimeout = cmp.Or(o.StallTimeout, 10*time.Second)
	if o.Now == nil {
		o.Now = engram.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Door{svc: svc, poses: poses.NewClient(feature.Within(svc)), o: o, types: NewTypes(svc)}
}

// maxRequest bounds a message of a viewer, in bytes.
const maxRequest = 16 << 20

// ServeHTTP serves a session until the viewer leaves, its connection breaks or the
// request's context ends. The caller has looked where the request comes from (Origin, Host)
// and who makes it (access.WithIdentity).
//
// The address may say more:
//
//	ws://robot:7411/?pattern=Vision/*          only what these patterns match (repeated: a union)
//	ws://robot:7411/?from=2026-11-26T14:00:00Z&to=2026-11-26T15:00:00Z   plays history
//	ws://robot:7411/?encoding=cdr              entities as ROS 2 messages in CDR instead of protobuf
//
// Times are as [engram.ParseTime] reads them; "to" is now if it is not said.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := d.asked(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	release := func() {}
	if d.o.Admit != nil {
		if release, err = d.o.Admit(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	defer release()
	// Whoever serves the door has checked the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: protocol.Subprotocols, InsecureSkipVerify: true})
	if err != nil {
		return // the viewer was told
	}
	defer conn.CloseNow()
	if conn.Subprotocol() == "" {
		// It fails only if the viewer has gone.
		_ = conn.Close(websocket.StatusPolicyViolation, "this server speaks "+protocol.Subprotocols[0]+" and "+protocol.Subprotocols[1])
		return
	}
	conn.SetReadLimit(maxRequest)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	s := newSession(d, conn, q, cancel)
	err = s.run(ctx)
	if ctx.Err() != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusNormalClosure && code != websocket.StatusGoingAway {
		d.o.Log.Debug("a viewer's session ended", "reason", err)
	}
	_ = conn.Close(websocket.StatusGoingAway, reason(err)) // likewise
}

// reason is what a viewer is told of the end of its session, as short as the protocol wants
// it.
func reason(err error) string {
	text := "the session ended"
	if err != nil {
		text = err.Error()
	}
	return text[:min(len(text), 120)]
}

// asked is what the address of a session asks for.
type asked struct {
	patterns []engram.Pattern
	cdr      bool // entities as ROS 2 has messages
	history  bool
	engram.Interval
}

func (d *Door) asked(v url.Values) (asked, error) {
	var a asked
	for _, text := range v["pattern"] {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return a, err
		}
		a.patterns = append(a.patterns, p)
	}
	switch encoding := v.Get("encoding"); encoding {
	case "", "protobuf":
	case "cdr":
		a.cdr = true
	default:
		return a, engram.Errorf(engram.Invalid, "encoding="+strconv.Quote(encoding), "messages are sent as protobuf or cdr")
	}
	from, to := v.Get("from"), v.Get("to")
	if from == "" && to == "" {
		return a, nil
	}
	a.history = true
	a.Interval = engram.Interval{Start: engram.MinTime, End: d.o.Now()}
	var err error
	if from != "" {
		a.Start, err = engram.ParseTime(from)
	}
	if to != "" && err == nil {
		a.End, err = engram.ParseTime(to)
	}
	if err != nil {
		return a, err
	}
	if from == "" || a.Empty() {
		return a, engram.Errorf(engram.Invalid, "from="+strconv.Quote(from), "history needs a beginning, and an end after it: ?from=2026-11-26T14:00:00Z&to=2026-11-26T15:00:00Z")
	}
	return a, nil
}
