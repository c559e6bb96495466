package backbone

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-301d4374/engram"
)

// Options configure a connection.
type Options struct {
	// URL of a NATS server, "nats://host:port" or "tls://host:port"; several of one
	// cluster are separated by commas.
	URL string
	// InProcess takes the place of the URL for a server in this process.
	InProcess interface{ InProcessConn() (net.Conn, error) }
	// Robot names the robot, or the base station, whose domain this is.
	Robot string
	Log   *slog.Logger // nil means slog.Default()
}

var robotName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckRobot returns an Invalid error if a name cannot be that of a robot.
func CheckRobot(name string) error {
	if !robotName.MatchString(name) {
		return engram.Errorf(engram.Invalid, name, "a robot's name has 1 to 64 letters, digits, \"-\" and \"_\"")
	}
	return nil
}

// Backbone is a connection to the message fabric. It is made again when it breaks;
// what is sent meanwhile fails as Unavailable. Safe for concurrent use.
type Backbone struct {
	o       Options
	conn    *nats.Conn
	js      jetstream.JetStream
	tunnels *tunnels
}

// Connect connects to a NATS server. The error is Unavailable if none answers. ctx
// bounds the call only.
func Connect(ctx context.Context, o Options) (*Backbone, error) {
	if o.Robot != "" {
		if err := CheckRobot(o.Robot); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b := &Backbone{o: o}
	options := []nats.Option{
		nats.Name("engram"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent now fails now
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			subject := ""
			if s != nil {
				subject = s.Subject
			}
			o.Log.Warn("backbone", "subject", subject, "error", err)
		}),
	}
	if o.InProcess != nil {
		options = append(options, nats.InProcessServer(o.InProcess))
	}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(max(time.Until(deadline), time.Millisecond)))
	}
	var err error
	if b.conn, err = nats.Connect(o.URL, options...); err != nil {
		return nil, engram.Errorf(engram.Unavailable, Redacted(o.URL), "the backbone cannot be reached; is a NATS server running there? %w", err)
	}
	if b.js, err = jetstream.New(b.conn); err == nil {
		b.tunnels, err = newTunnels(b.conn)
	}
	if err != nil {
		b.conn.Close()
		return nil, engram.Errorf(engram.CodeOf(err), Redacted(o.URL), "the backbone cannot be used: %w", err)
	}
	return b, nil
}

// Conn returns the connection.
func (b *Backbone) Conn() *nats.Conn { return b.conn }

// JetStream returns the JetStream of the robot's own domain.
func (b *Backbone) JetStream() jetstream.JetStream { return b.js }

// JetStreamOf returns the JetStream of another robot's domain, which can be reached
// while the leaf nodes between are connected.
func (b *Backbone) JetStreamOf(robot string) (jetstream.JetStream, error) {
	if err := CheckRobot(robot); err != nil {
		return nil, err
	}
	js, err := jetstream.NewWithDomain(b.conn, robot)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, robot, "JetStream: %w", err)
	}
	return js, nil
}

// Robot returns the robot's name, "" if it has none.
func (b *Backbone) Robot() string { return b.o.Robot }

// Close ends the connections through the backbone, and the one to it.
func (b *Backbone) Close() error {
	b.tunnels.close()
	_ = b.conn.FlushTimeout(time.Second) // the far ends find out by themselves
	b.conn.Close()
	return nil
}

// Redacted returns the text of URLs without passwords and tokens.
func Redacted(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			out = append(out, "(not a URL)")
			continue
		}
		if _, secret := u.User.Password(); !secret && u.User != nil {
			u.User = url.User("xxxxx") // a name without a password is a token
		}
		out = append(out, u.Redacted())
	}
	return strings.Join(out, ",")
}
