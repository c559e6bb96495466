// Package embedded runs the message fabric inside this process: a NATS server with
// JetStream for the name system, alone, in a cluster, or as a leaf node of a base
// station.
//
// It is a package of its own so that programs that only connect to a backbone need
// not carry a server.
package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
	"github.com/seed-301d4374/engram/internal/tempdir"
)

// Options configure a server.
type Options struct {
	// Robot names the robot, or the base station, of letters, digits, "-" and "_". It
	// is the JetStream domain; robots that meet have different names.
	Robot string
	// Dir is where the server keeps its files; empty means in a temporary folder that
	// is removed at the end, or if the process is killed when the next one starts.
	Dir        string
	Listen     string   // host:port for other processes; empty means this process only
	LeafListen string   // host:port for the leaf nodes of other robots
	LeafOf     []string // URLs of the base station's leaf listener, "nats-leaf://host:port"
	Cluster    string   // host:port for the other servers of a cluster
	Routes     []string // URLs of those, "nats://host:port"
	// Secure says by what those who connect are told; with credentials all is mutual TLS.
	Secure secure.Options
	Log    *slog.Logger // nil means slog.Default()
}

// Check returns an Invalid error that names the wrong option.
func (o Options) Check() error {
	switch {
	case len(o.LeafOf) > 0 && o.Robot == "":
		return engram.Errorf(engram.Invalid, backbone.Redacted(o.LeafOf[0]), "a leaf node needs its robot's name, so that it can be told from the others")
	case o.Cluster != "" && o.Listen == "":
		return engram.Errorf(engram.Invalid, o.Cluster, "a server of a cluster needs an address at which clients connect, too (--backbone-listen)")
	case len(o.Routes) > 0 && o.Cluster == "":
		return engram.Errorf(engram.Invalid, backbone.Redacted(o.Routes[0]), "routes to a cluster need an address at which this server listens for it")
	case o.Robot != "":
		return backbone.CheckRobot(o.Robot)
	}
	return nil
}

// Server is a running NATS server.
type Server struct {
	o   Options
	s   running
	tmp *tempdir.Dir // a folder to be removed at the end; nil if it was given one

	leafURL string             // "" if it listens for no leaf nodes
	asks    *backbone.Backbone // hands on what JetStream is asked; nil without credentials
}

// running is a *server.Server. Who imports this package would otherwise compile the generics
// of NATS, too.
type running interface {
	InProcessConn() (net.Conn, error)
	ClientURL() string
	NumClients() int
	NumLeafNodes() int
	NumRoutes() int
	Shutdown()
	WaitForShutdown()
}

// maxMessage is the largest message.
const maxMessage = 8 << 20

// A connection over which so many pings are not answered is dead, and a leaf node
// connects again: after 16 s, so that a robot that was out of reach is back soon,
// but a link that loses every third packet is not given up.
const (
	pingEvery = 4 * time.Second
	pingsOut  = 3
)

// startTimeout bounds how long a server may take to be ready: it starts in 33 ms on
// a quiet machine.
const startTimeout = 20 * time.Second

// Start starts a server. The error is Invalid for options that make no sense and
// Conflict if an address is taken. ctx bounds the call only.
func Start(ctx context.Context, o Options) (_ *Server, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	e := &Server{o: o}
	defer func() {
		if err != nil {
			_ = e.Close() // err says more
		}
	}()
	dir := o.Dir
	if dir == "" {
		if e.tmp, err = tempdir.Make("engram-backbone-"); err != nil {
			return nil, engram.Errorf(engram.Unavailable, os.TempDir(), "a folder for the backbone: %w", err)
		}
		dir = e.tmp.Path
	}
	opts, err := serverOptions(o, dir)
	var a *admission
	if err == nil {
		a, err = secured(o, opts)
	}
	if err == nil {
		err = makeStore(opts.StoreDir)
	}
	if err != nil {
		return nil, err
	}
	for _, address := range []string{o.Listen, o.LeafListen, o.Cluster} {
		if err := free(address); err != nil { // the server itself would end the process
			return nil, err
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, o.Listen, "the backbone cannot be embedded: %w", err)
	}
	e.s = s
	s.SetLogger(&natsLog{o.Log, a}, false, false)
	if a != nil {
		a.disconnect = s.DisconnectClientByID
		for from, to := range turned {
			if err := s.GlobalAccount().AddMapping(from, to); err != nil {
				return nil, engram.Errorf(engram.Internal, from, "the embedded backbone does not turn it into %s: %w", to, err)
			}
		}
	}
	s.Start()
	wait := startTimeout
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline))
	}
	if !s.ReadyForConnections(max(wait, time.Millisecond)) {
		return nil, engram.Errorf(engram.Unavailable, o.Listen, "the embedded backbone was not ready within %v", wait.Round(time.Millisecond))
	}
	if a != nil {
		if err := e.handOn(ctx); err != nil {
			return nil, err
		}
	}
	if o.LeafListen != "" {
		e.leafURL = leafURL(s)
	}
	return e, nil
}

// makeStore makes the folder of the server's files, of which it would itself say little if
// something else stands in its place.
func makeStore(dir string) error {
	files := filepath.Join(dir, server.JetStreamStoreDir)
	if err := os.MkdirAll(files, 0o700); err != nil {
		return engram.Errorf(engram.Unavailable, files, "the folder of the embedded backbone cannot be made; move away what stands in its place, or give another with --backbone-dir: %w", err)
	}
	return nil
}

// serverOptions returns the server's own options.
func serverOptions(o Options, dir string) (opts *server.Options, err error) {
	opts = &server.Options{
		ServerName:      o.serverName(),
		DontListen:      o.Listen == "",
		NoSigs:          true,
		JetStream:       true,
		StoreDir:        filepath.Join(dir, "nats"),
		JetStreamDomain: o.Robot,
		// Names and configuration only: data is in the memories' own log.
		JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore:  256 << 20,
		MaxPayload:         maxMessage,
		PingInterval:       pingEvery,
		MaxPingsOut:        pingsOut,
		// A robot may be away from its base station for days: it is told at first, and then
		// every few minutes.
		ReconnectErrorReports: 120,
	}
	if opts.Host, opts.Port, err = hostPort(o.Listen, server.DEFAULT_PORT); err != nil {
		return nil, err
	}
	if o.LeafListen != "" {
		if opts.LeafNode.Host, opts.LeafNode.Port, err = hostPort(o.LeafListen, server.DEFAULT_LEAFNODE_PORT); err != nil {
			return nil, err
		}
	}
	// Radio links are short and slow: NATS would compress only from 10 ms of round trip on.
	opts.LeafNode.Compression.Mode = server.CompressionS2Fast
	// Leaf nodes come back to the address that they were given: others of this server's
	// need not be valid where they are.
	opts.LeafNode.NoAdvertise = o.Cluster == ""
	if len(o.LeafOf) > 0 {
		remote := &server.RemoteLeafOpts{Compression: opts.LeafNode.Compression}
		if remote.URLs, err = parseURLs(o.LeafOf, IsLeafURL, "nats-leaf://host:port"); err != nil {
			return nil, err
		}
		opts.LeafNode.Remotes = []*server.RemoteLeafOpts{remote}
		opts.LeafNode.ReconnectInterval = 500 * time.Millisecond
	}
	if o.Cluster != "" {
		opts.Cluster.Name = "engram"
		if opts.Cluster.Host, opts.Cluster.Port, err = hostPort(o.Cluster, 6222); err != nil {
			return nil, err
		}
		if opts.Routes, err = parseURLs(o.Routes, IsRouteURL, "nats://host:port"); err != nil {
			return nil, err
		}
	}
	return opts, nil
}

// InProcessConn connects to the server without a socket; see backbone.Options.
func (e *Server) InProcessConn() (net.Conn, error) { return e.s.InProcessConn() }

// ClientURL returns the URL at which other processes reach the server, or "" if it
// listens for none.
func (e *Server) ClientURL() string {
	if e.o.Listen == "" {
		return ""
	}
	return e.s.ClientURL()
}

// LeafURL returns the URL at which leaf nodes on this host reach the server, or ""
// if it listens for none.
func (e *Server) LeafURL() string { return e.leafURL }

func leafURL(s *server.Server) string {
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

// Close ends the server.
func (e *Server) Close() (err error) {
	if e.asks != nil {
		err = e.asks.Close()
	}
	if e.s != nil {
		e.s.Shutdown()
		e.s.WaitForShutdown()
	}
	if e.tmp != nil {
		err = errors.Join(err, e.tmp.Remove())
	}
	return err
}

// serverName returns a name that no other server has: of two leaf nodes of one name
// the base station would drop one. In a cluster it stays the same after a restart: the
// servers know each other by it, and one of a new name would count beside the old one when
// they look for a majority.
func (o Options) serverName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	name := subject.Token(o.Robot) + "-" + subject.Token(host)
	if o.Cluster != "" {
		return name + "-" + subject.Token(o.Cluster)
	}
	return fmt.Sprintf("%s-%d-%s", name, os.Getpid(), rand.Text()[:8])
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
		port = server.RANDOM_PORT
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

// IsLeafURL reports whether a text can be of Options.LeafOf.
func IsLeafURL(text string) bool { return backbone.IsURL(text, "nats-leaf", "nats", "tls") }

// IsRouteURL reports whether a text can be of Options.Routes.
func IsRouteURL(text string) bool { return backbone.IsURL(text, "nats-route", "nats", "tls") }

func parseURLs(texts []string, is func(string) bool, example string) ([]*url.URL, error) {
	var urls []*url.URL
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil || !is(text) {
			return nil, engram.Errorf(engram.Invalid, backbone.Redacted(text), "not the URL of a NATS server; write %s", example)
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// natsLog hands the server's messages to slog.
type natsLog struct {
	log       *slog.Logger
	admission *admission // nil where nobody is asked who connects
}

func (l *natsLog) Noticef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l *natsLog) Warnf(format string, v ...any) {
	if strings.Contains(format, "TLS certificate chain and hostname of solicited") {
		return // hosts' names are not: secure.go has it verified that a server of the deployment answers
	}
	l.write(slog.LevelWarn, format, v)
}
func (l *natsLog) Errorf(format string, v ...any) {
	level := slog.LevelError
	if l.admission != nil && l.admission.denied(fmt.Sprintf(format, v...)) {
		level = slog.LevelDebug // the audit has it, and not each time
	}
	l.write(level, format, v)
}
func (l *natsLog) Fatalf(format string, v ...any) { l.write(slog.LevelError, format, v) }
func (l *natsLog) Debugf(format string, v ...any) { l.write(slog.LevelDebug, format, v) }
func (l *natsLog) Tracef(format string, v ...any) { l.write(slog.LevelDebug, format, v) }

func (l *natsLog) write(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "nats: "+fmt.Sprintf(format, v...))
	}
}
