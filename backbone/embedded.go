package backbone

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram"
)

// maxMessage is the largest message of an embedded server.
const maxMessage = 8 << 20

// startTimeout bounds how long an embedded server may take to be ready: it starts
// in 33 ms on a quiet machine.
const startTimeout = 20 * time.Second

// embed starts a NATS server in this process.
func (b *Backbone) embed(ctx context.Context) error {
	o := b.o
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "engram-backbone-"); err != nil {
			return engram.Errorf(engram.Unavailable, os.TempDir(), "a folder for the backbone: %w", err)
		}
		b.tmp = dir
	}
	opts := &natsserver.Options{
		ServerName:      serverName(o.Robot),
		DontListen:      o.Listen == "",
		NoSigs:          true,
		JetStream:       true,
		StoreDir:        filepath.Join(dir, "nats"),
		JetStreamDomain: o.Robot,
		// Names and configuration only: data is in the memories' own log.
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  256 << 20,
		MaxPayload:         maxMessage,
	}
	var err error
	if opts.Host, opts.Port, err = hostPort(o.Listen, natsserver.DEFAULT_PORT); err != nil {
		return err
	}
	if o.LeafListen != "" {
		if opts.LeafNode.Host, opts.LeafNode.Port, err = hostPort(o.LeafListen, natsserver.DEFAULT_LEAFNODE_PORT); err != nil {
			return err
		}
	}
	if len(o.LeafOf) > 0 {
		remote := &natsserver.RemoteLeafOpts{}
		if remote.URLs, err = parseURLs(o.LeafOf); err != nil {
			return err
		}
		opts.LeafNode.Remotes = []*natsserver.RemoteLeafOpts{remote}
		opts.LeafNode.ReconnectInterval = 500 * time.Millisecond
	}
	if o.Cluster != "" {
		opts.Cluster.Name = "engram"
		if opts.Cluster.Host, opts.Cluster.Port, err = hostPort(o.Cluster, 6222); err != nil {
			return err
		}
		if opts.Routes, err = parseURLs(o.Routes); err != nil {
			return err
		}
	}
	s, err := natsserver.NewServer(opts)
	if err != nil {
		return engram.Errorf(engram.Invalid, o.Listen, "the backbone cannot be embedded: %w", err)
	}
	b.embedded = s
	s.SetLogger(&natsLog{o.Log}, false, false)
	for _, address := range []string{o.Listen, o.LeafListen, o.Cluster} {
		if err := free(address); err != nil { // the server itself would end the process
			return err
		}
	}
	s.Start()
	wait := startTimeout
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	if !s.ReadyForConnections(max(wait, time.Millisecond)) {
		return engram.Errorf(engram.Unavailable, o.Listen, "the embedded backbone was not ready within %v", wait.Round(time.Millisecond))
	}
	return nil
}

func serverName(robot string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%s-%s-%d", Token(robot), Token(host), os.Getpid())
}

func hostPort(address string, port int) (string, int, error) {
	if address == "" {
		return "127.0.0.1", port, nil
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, engram.Errorf(engram.Invalid, address, "not an address to listen at; write host:port: %w", err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, engram.Errorf(engram.Invalid, address, "%q is not a port", text)
	}
	if port == 0 {
		port = natsserver.RANDOM_PORT
	}
	return host, port, nil
}

// free reports an address at which another program listens.
func free(address string) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return engram.Errorf(engram.Conflict, address, "the backbone cannot listen there; end the program that does, or take another port: %w", err)
	}
	return l.Close()
}

func parseURLs(texts []string) ([]*url.URL, error) {
	var urls []*url.URL
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, engram.Errorf(engram.Invalid, redacted(text), "not the URL of a NATS server; write nats://host:port")
		}
		urls = append(urls, u)
	}
	return urls, nil
}

func leafURL(s *natsserver.Server) string {
	v, err := s.Varz(nil)
	if err != nil {
		return ""
	}
	host := v.LeafNode.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "nats-leaf://" + net.JoinHostPort(host, strconv.Itoa(v.LeafNode.Port))
}

// natsLog hands the server's messages to slog.
type natsLog struct{ log *slog.Logger }

func (l *natsLog) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l *natsLog) Warnf(format string, v ...any)   { l.write(slog.LevelWarn, format, v) }
func (l *natsLog) Errorf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l *natsLog) Fatalf(format string, v ...any)  { l.write(slog.LevelError, format, v) }
func (l *natsLog) Debugf(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }
func (l *natsLog) Tracef(format string, v ...any)  { l.write(slog.LevelDebug, format, v) }

func (l *natsLog) write(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "nats: "+fmt.Sprintf(format, v...))
	}
}
