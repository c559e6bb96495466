package backbone

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-301d4374/engram"
)

// Backbone is a connection to the message fabric, with the server if it is embedded.
// Safe for concurrent use.
type Backbone struct {
	o        Options
	conn     *nats.Conn
	js       jetstream.JetStream
	embedded *natsserver.Server // nil if the backbone is an existing one
	tmp      string             // a folder to be removed at the end
	tunnels  *tunnels
}

// Start embeds a server, or connects to one. The error is Invalid for options that
// make no sense, Unavailable if nothing answers at the URL, Conflict if an address
// is taken. ctx bounds the call only.
func Start(ctx context.Context, o Options) (*Backbone, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	b := &Backbone{o: o}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backbone) start(ctx context.Context) error {
	url := b.o.URL
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
			b.o.Log.Warn("backbone", "subject", subject, "error", err)
		}),
	}
	if url == "" {
		if err := b.embed(ctx); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(b.embedded))
	}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(max(time.Until(deadline), time.Millisecond)))
	}
	var err error
	if b.conn, err = nats.Connect(url, options...); err != nil {
		return engram.Errorf(engram.Unavailable, redacted(url), "the backbone cannot be reached; is a NATS server running there? %w", err)
	}
	if b.js, err = jetstream.New(b.conn); err != nil {
		return engram.Errorf(engram.Internal, redacted(url), "JetStream: %w", err)
	}
	b.tunnels, err = newTunnels(b.conn)
	return err
}

// Conn returns the connection.
func (b *Backbone) Conn() *nats.Conn { return b.conn }

// JetStream returns the JetStream of the robot's own domain.
func (b *Backbone) JetStream() jetstream.JetStream { return b.js }

// JetStreamOf returns the JetStream of another robot's domain, which can be reached
// while the leaf nodes between are connected.
func (b *Backbone) JetStreamOf(robot string) (jetstream.JetStream, error) {
	if !robotName.MatchString(robot) {
		return nil, engram.Errorf(engram.Invalid, robot, "not the name of a robot: letters, digits, \"-\" and \"_\"")
	}
	js, err := jetstream.NewWithDomain(b.conn, robot)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, robot, "JetStream: %w", err)
	}
	return js, nil
}

// Robot returns the robot's name, "" if it has none.
func (b *Backbone) Robot() string { return b.o.Robot }

// ClientURL returns the URL at which other processes reach an embedded server that
// listens for them, or else "".
func (b *Backbone) ClientURL() string {
	if b.embedded == nil || b.o.Listen == "" {
		return ""
	}
	return b.embedded.ClientURL()
}

// LeafURL returns the URL at which leaf nodes reach an embedded server that listens
// for them, or else "".
func (b *Backbone) LeafURL() string {
	if b.embedded == nil || b.o.LeafListen == "" {
		return ""
	}
	return leafURL(b.embedded)
}

// Close ends the connection, and the embedded server.
func (b *Backbone) Close() error {
	if b.tunnels != nil {
		b.tunnels.close()
		_ = b.conn.FlushTimeout(time.Second) // the far ends find out by themselves
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.embedded != nil {
		b.embedded.Shutdown()
		b.embedded.WaitForShutdown()
	}
	if b.tmp != "" {
		return os.RemoveAll(b.tmp)
	}
	return nil
}
