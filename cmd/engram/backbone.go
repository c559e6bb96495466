package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone"
	"github.com/seed-301d4374/engram/backbone/embedded"
	"github.com/seed-301d4374/engram/backbone/updates"
	"github.com/seed-301d4374/engram/mns/kv"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// backboneSettings say what the server's backbone is and does.
type backboneSettings struct {
	on       bool
	url      string // "" means embedded
	embedded embedded.Options
	data     []engram.Pattern
	name     string // of this server
	standby  bool
	// advertise lists the addresses to register beside those that are listened on.
	advertise []string
	lease     time.Duration
}

func addBackboneFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("backbone", "", "connect several servers: 'embedded' runs a NATS server inside,\nnats://host:port uses an existing one (default: none, this server is alone)")
	f.String("name", "", "name of this server, unique on the backbone (default: host name and first address)")
	f.StringArray("advertise", nil, "register this address too, as http://host:port; may be repeated")
	f.Bool("standby", false, "wait while other servers host the same memories, and take over when they are gone")
	f.Duration("lease", kv.DefaultTTL, "how soon a server that died is gone from the names, where this one makes the backbone's registry")
	f.StringArray("publish-data", nil, "publish the data of updates that match this pattern on the backbone, not only IDs; may be repeated")
	f.String("backbone-dir", "", "where the embedded backbone keeps its files (default: a temporary folder)")
	f.String("backbone-listen", "", "let other computers' servers connect to the embedded backbone at host:port")
	f.String("leaf-listen", "", "let other robots connect to the embedded backbone as leaf nodes at host:port")
	f.StringArray("leaf-of", nil, "make the embedded backbone a leaf node of this one, nats-leaf://host:port; may be repeated")
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
	s.lease, _ = f.GetDuration("lease")
	if s.lease < time.Second || s.lease > time.Hour {
		return s, usagef("--lease %v: from 1s to 1h", s.lease)
	}
	s.embedded = embedded.Options{
		Robot: text("robot"), Dir: text("backbone-dir"), Listen: text("backbone-listen"),
		LeafListen: text("leaf-listen"), LeafOf: list("leaf-of"), Cluster: text("cluster"), Routes: list("route"),
	}
	if s.data, err = parsePatterns(list("publish-data")); err != nil {
		return s, usagef("--publish-data: %w", err)
	}
	if err := s.embedded.Check(); err != nil {
		return s, usagef("%w", err)
	}
	switch mode := text("backbone"); {
	case mode == "":
		return s, needs(cmd, "a --backbone", "standby", "publish-data", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route", "lease")
	case mode == "embedded":
		s.on = true
	case strings.Contains(mode, "://"):
		s.on, s.url = true, mode
		return s, needs(cmd, "--backbone embedded; an existing one has a configuration of its own", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route")
	default:
		return s, usagef("--backbone %s: say 'embedded' or nats://host:port", mode)
	}
	return s, nil
}

// settingText is a setting's value as it may be shown.
func settingText(flag *pflag.Flag) string {
	values := []string{flag.Value.String()}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	for i, v := range values {
		if strings.Contains(v, "://") {
			values[i] = backbone.Redacted(v)
		}
	}
	return strings.Join(values, " ")
}

// hostBackbone is the backbone of a host.
type hostBackbone struct {
	settings backboneSettings
	fabric   *embedded.Server // nil if the backbone is another's
	*backbone.Backbone
	names      *kv.Registry
	listener   net.Listener
	publishing sync.WaitGroup
	stop       context.CancelFunc
}

// startBackbone connects to the backbone, which it embeds if that is asked for.
func startBackbone(ctx context.Context, s backboneSettings, server string) (b *hostBackbone, err error) {
	b = &hostBackbone{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
			b = nil
		}
	}()
	o := backbone.Options{URL: s.url, Robot: s.embedded.Robot}
	if s.url == "" {
		if b.fabric, err = embedded.Start(ctx, s.embedded); err != nil {
			return b, err
		}
		o.InProcess = b.fabric
	}
	if b.Backbone, err = backbone.Connect(ctx, o); err != nil {
		return b, err
	}
	if b.names, err = kv.Open(ctx, b.JetStream(), s.lease); err != nil {
		return b, err
	}
	b.listener, err = b.Listen(server)
	return b, err
}

// publish tells of the server's updates until the backbone is closed.
func (b *hostBackbone) publish(svc updates.Service, server string) {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.publishing.Go(func() {
		if err := updates.Publish(ctx, b.Backbone, svc, updates.Options{Server: server, Data: b.settings.data}); err != nil {
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
		cmd.PrintErrf("  %s for other computers of this robot   (WARNING: there is no access control yet)\n", url)
	}
	if url := b.fabric.LeafURL(); url != "" {
		cmd.PrintErrf("  %s for other robots   (WARNING: there is no access control yet)\n", url)
	}
}

func (b *hostBackbone) close() error {
	if b == nil {
		return nil
	}
	var errs []error
	if b.stop != nil {
		b.stop()
		b.publishing.Wait()
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
