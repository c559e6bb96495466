package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/backbone/updates"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/mns/fleet"
	"github.com/seed-301d4374/engram/mns/kv"
	"github.com/seed-301d4374/engram/transport/rpc"
	"github.com/seed-301d4374/engram/transport/secure"
)

// backboneSettings say what the server's backbone is and does.
type backboneSettings struct {
	on       bool
	url      string // "" means embedded
	embedded embedded.Options
	data     []engram.Pattern // each has a matcher
	name     string           // of this server
	standby  bool
	// advertise lists the addresses to register beside those that are listened on.
	advertise []string
	lease     time.Duration
	// For an existing NATS cluster:
	ca, creds, nkey string
}

func addBackboneFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("backbone", "", "connect several servers: 'embedded' runs a NATS server inside,\nnats://host:port uses an existing one (default: none, this server is alone)")
	f.String("name", "", "name of this server, unique on the backbone (default: robot, host name and first address)")
	f.StringArray("advertise", nil, "register this address too, as http://host:port; may be repeated")
	f.Bool("standby", false, "wait while other servers host the same memories, and take over when they are gone")
	f.Duration("lease", kv.DefaultTTL, "how soon a server that died is gone from the names, where this one makes the backbone's registry")
	f.StringArray("publish-data", nil, "publish the data of updates that match this pattern on the backbone, not only IDs, where the segment's policy\ndoes not say what is published; may be repeated")
	f.String("backbone-dir", "", "where the embedded backbone keeps its files (default: a temporary folder)")
	f.String("backbone-listen", "", "let other computers' servers connect to the embedded backbone at host:port")
	f.String("leaf-listen", "", "let other robots connect to the embedded backbone as leaf nodes at host:port")
	f.StringArray("leaf-of", nil, "make the embedded backbone a leaf node of this one, nats-leaf://host:port; may be repeated")
	f.String("backbone-ca", "", "with tls://: the certificates (PEM) of the authorities of an existing NATS cluster\n(default: that of --credentials, or the system's)")
	f.String("backbone-creds", "", "connect to an existing NATS cluster with the user's JWT and seed in this file")
	f.String("backbone-nkey", "", "connect to an existing NATS cluster with the nkey whose seed is in this file")
	f.String("cluster", "", "listen at host:port for the other servers of a NATS cluster")
	f.StringArray("route", nil, "nats://host:port of another server of the cluster; may be repeated")
}

// readBackboneSettings reads and checks the flags.
func readBackboneSettings(cmd *cobra.Command) (s backboneSettings, err error) {
	f := cmd.Flags()
	text := func(name string) string { v, _ := f.GetString(name); return v }
	list := func(name string) []string { v, _ := f.GetStringArray(name); return v }
	s.name = text("name")
	s.advertise = list("advertise")
	s.standby, _ = f.GetBool("standby")
	s.ca, s.creds, s.nkey = text("backbone-ca"), text("backbone-creds"), text("backbone-nkey")
	var wrong []error
	note := func(err error) { wrong = append(wrong, err) }
	s.lease, _ = f.GetDuration("lease")
	if s.lease < time.Second || s.lease > time.Hour {
		note(usagef("--lease %v: from 1s to 1h", s.lease))
	}
	for _, address := range s.advertise {
		if err := rpc.CheckAddress(address); err != nil {
			note(usagef("--advertise: %w", err))
		}
	}
	s.embedded = embedded.Options{
		Robot: text("robot"), Dir: text("backbone-dir"), Listen: text("backbone-listen"),
		LeafListen: text("leaf-listen"), LeafOf: list("leaf-of"), Cluster: text("cluster"), Routes: list("route"),
	}
	for _, name := range []string{"backbone-listen", "leaf-listen", "cluster"} {
		if address := text(name); address != "" {
			note(checkHostPort(name, address))
		}
	}
	for _, u := range s.embedded.LeafOf {
		if !embedded.IsLeafURL(u) {
			note(notURL("leaf-of", u, "nats-leaf://host:port"))
		}
	}
	for _, u := range s.embedded.Routes {
		if !embedded.IsRouteURL(u) {
			note(notURL("route", u, "nats://host:port"))
		}
	}
	for _, text := range list("publish-data") {
		pattern, err := engram.ParsePattern(text)
		if err == nil {
			_, err = pattern.Matcher()
		}
		if err != nil {
			note(usagef("--publish-data: %w", err))
		}
		s.data = append(s.data, pattern)
	}
	if err := s.embedded.Check(); err != nil {
		about := "robot"
		switch {
		case s.embedded.Robot == "" && len(s.embedded.LeafOf) > 0:
			about = "leaf-of"
		case s.embedded.Cluster == "" && len(s.embedded.Routes) > 0:
			about = "route"
		}
		note(usagef("--%s: %w", about, err))
	}
	switch mode := text("backbone"); {
	case mode == "":
		note(needs(cmd, "a --backbone", "standby", "publish-data", "backbone-ca", "backbone-creds", "backbone-nkey", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route", "lease"))
	case mode == "embedded":
		s.on = true
		note(needs(cmd, "--backbone nats://…; an embedded one goes by --credentials", "backbone-ca", "backbone-creds", "backbone-nkey"))
	case backbone.AreURLs(mode):
		s.on, s.url = true, mode
		for name, o := range map[string]backbone.Options{"backbone-ca": {CAFile: s.ca}, "backbone-creds": {CredsFile: s.creds}, "backbone-nkey": {NKeyFile: s.nkey}} {
			if err := o.CheckFiles(); err != nil {
				note(usagef("--%s: %w", name, err))
			}
		}
		note(needs(cmd, "--backbone embedded; an existing one has a configuration of its own", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route"))
	default:
		note(notURL("backbone", mode, "'embedded' or nats://host:port"))
	}
	return s, errors.Join(wrong...)
}

// notURL is the usage error of a flag whose value is no URL, or not of URLs.
func notURL(flag, value, example string) error {
	if strings.Contains(value, "@") || strings.Contains(value, "://") { // there may be a password, or a part of one
		return usagef("--%s: write %s, and what is special in a password as in %%40", flag, example)
	}
	return usagef("--%s %s: write %s", flag, value, example)
}

// redacted are a setting's values as they may be shown.
func redacted(values []string) []string {
	out := slices.Clone(values)
	for i, v := range out {
		if strings.Contains(v, "://") {
			out[i] = backbone.Redacted(v)
		}
	}
	return out
}

// hostBackbone is the backbone of a host.
type hostBackbone struct {
	settings backboneSettings
	fabric   *embedded.Server // nil if the backbone is another's
	*backbone.Backbone
	domain     string       // of its JetStream
	robot      string       // its name; that of the domain if it has none of its own, "" if that has none
	names      *fleet.Fleet // nil until it is joined
	listener   net.Listener
	publishing sync.WaitGroup
	stop       context.CancelFunc
}

// startBackbone connects to the backbone, which it embeds if that is asked for.
func startBackbone(ctx context.Context, s backboneSettings, security secure.Options) (b *hostBackbone, err error) {
	s.embedded.Secure = security
	b = &hostBackbone{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
			b = nil
		}
	}()
	o := backbone.Options{URL: s.url, Robot: s.embedded.Robot, Credentials: security.Credentials, CAFile: s.ca, CredsFile: s.creds, NKeyFile: s.nkey}
	if s.url == "" {
		if b.fabric, err = embedded.Start(ctx, s.embedded); err != nil {
			return b, err
		}
		o.InProcess = b.fabric
	}
	if b.Backbone, err = backbone.Connect(ctx, o); err != nil {
		if engram.CodeOf(err) == engram.Forbidden && o.Credentials == nil && o.CredsFile == "" && o.NKeyFile == "" {
			err = fmt.Errorf("%w; give some with --credentials, or with --backbone-creds or --backbone-nkey those of an existing NATS cluster", err)
		}
		return b, err
	}
	if b.domain, err = b.Domain(ctx); err != nil {
		return b, err
	}
	b.robot = s.embedded.Robot
	if b.robot == "" && backbone.CheckRobot(b.domain) == nil {
		b.robot = b.domain
	}
	return b, nil
}

// join joins the name system, and listens for who dials this server by its name.
func (b *hostBackbone) join(ctx context.Context, server string) error {
	own, err := b.own(ctx)
	if err != nil {
		return err
	}
	lives := func(ctx context.Context, server string, addresses []string) error {
		c, err := reach(ctx, addresses, rpc.DialOptions{Server: server, Backbone: b.Dial, Credentials: b.settings.embedded.Secure.Credentials})
		if err != nil {
			return err
		}
		return c.Close()
	}
	if b.names, err = fleet.Join(b.Conn(), own, fleet.Options{Robot: b.robot, Lives: lives}); err != nil {
		return err
	}
	if err = b.Settle(ctx); err != nil {
		return err
	}
	b.listener, err = b.Listen(server)
	return err
}

// own opens the robot's own name system.
func (b *hostBackbone) own(ctx context.Context) (names *kv.Registry, err error) {
	of := b.robot
	if of == b.domain {
		of = ""
	}
	err = b.Names(ctx, func(ctx context.Context) (err error) {
		names, err = kv.OpenOf(ctx, b.JetStream(), of, b.settings.lease)
		return err
	})
	return names, err
}

// withData returns what says of which entities updates are published with their data: the
// segment's policy, and where that says nothing or there is no store the flags. It is nil if
// none ever are.
func (s backboneSettings) withData(store *ltm.Store) func(engram.ID) bool {
	if store == nil && s.data == nil {
		return nil
	}
	matchers := make([]*engram.PatternMatcher, len(s.data))
	for i, p := range s.data {
		matchers[i], _ = p.Matcher() // readBackboneSettings has compiled it once
	}
	return func(entity engram.ID) bool {
		if store != nil {
			if p := store.Policy(entity).Publish; p != "" {
				return p == policy.PublishData
			}
		}
		return slices.ContainsFunc(matchers, func(m *engram.PatternMatcher) bool { return m.Match(entity) })
	}
}

// publish tells of the server's updates until the backbone is closed, with data where
// withData says so.
func (b *hostBackbone) publish(svc updates.Service, server string, withData func(engram.ID) bool) {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.publishing.Go(func() {
		if err := updates.Publish(ctx, b.Backbone, svc, updates.Options{Robot: b.robot, Server: server, Data: withData}); err != nil {
			slog.Error("updates are no longer published on the backbone", "error", err)
		}
	})
}

// describe prints how others reach the backbone.
func (b *hostBackbone) describe(cmd *cobra.Command) {
	if b == nil {
		return
	}
	cmd.PrintErrln("and on the backbone at")
	cmd.PrintErrf("  %s\n", rpc.AddressOf(b.listener))
	if b.fabric == nil {
		return
	}
	if url := b.fabric.ClientURL(); url != "" {
		cmd.PrintErrf("  %s for other computers of this robot%s\n", url, b.exposure())
	}
	if url := b.fabric.LeafURL(); url != "" {
		if host, _, err := net.SplitHostPort(b.settings.embedded.LeafListen); err == nil && net.ParseIP(host).IsUnspecified() {
			url = "nats-leaf://" + b.settings.embedded.LeafListen // 127.0.0.1 is no address for them
		}
		cmd.PrintErrf("  %s for other robots%s\n", url, b.exposure())
	}
}

// rest ends what the host does on the backbone by itself.
func (b *hostBackbone) rest() {
	if b != nil && b.stop != nil {
		b.stop()
		b.publishing.Wait()
	}
}

// exposure says who can reach the fabric.
func (b *hostBackbone) exposure() string {
	if b.settings.embedded.Secure.Credentials != nil {
		return "   (TLS: who connects needs credentials)"
	}
	return "   (WARNING: everyone on the network can read and write; see --credentials)"
}

func (b *hostBackbone) close() error {
	if b == nil {
		return nil
	}
	b.rest()
	var errs []error
	if b.names != nil {
		errs = append(errs, b.names.Close())
	}
	if b.listener != nil {
		if err := b.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if b.Backbone != nil {
		errs = append(errs, b.Backbone.Close())
	}
	if b.fabric != nil {
		errs = append(errs, b.fabric.Close())
	}
	return errors.Join(errs...)
}
