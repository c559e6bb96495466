package main

import (
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/node"
)

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

// readBackboneSettings reads and checks the flags, and sets what they say of a node.
func readBackboneSettings(cmd *cobra.Command, c *node.Config) error {
	f := cmd.Flags()
	text := func(name string) string { v, _ := f.GetString(name); return v }
	list := func(name string) []string { v, _ := f.GetStringArray(name); return v }
	c.Name, c.Robot, c.Advertise = text("name"), text("robot"), list("advertise")
	c.Standby, _ = f.GetBool("standby")
	b := &node.Backbone{CAFile: text("backbone-ca"), CredsFile: text("backbone-creds"), NKeyFile: text("backbone-nkey")}
	var wrong []error
	note := func(err error) { wrong = append(wrong, err) }
	b.Lease, _ = f.GetDuration("lease")
	if b.Lease < time.Second || b.Lease > time.Hour {
		note(usagef("--lease %v: from 1s to 1h", b.Lease))
	}
	for _, address := range c.Advertise {
		if err := rpc.CheckAddress(address); err != nil {
			note(usagef("--advertise: %w", err))
		}
	}
	b.Embedded = embedded.Options{
		Robot: text("robot"), Dir: text("backbone-dir"), Listen: text("backbone-listen"),
		LeafListen: text("leaf-listen"), LeafOf: list("leaf-of"), Cluster: text("cluster"), Routes: list("route"),
	}
	for _, name := range []string{"backbone-listen", "leaf-listen", "cluster"} {
		if address := text(name); address != "" {
			note(checkHostPort(name, address))
		}
	}
	for _, u := range b.Embedded.LeafOf {
		if !embedded.IsLeafURL(u) {
			note(notURL("leaf-of", u, "nats-leaf://host:port"))
		}
	}
	for _, u := range b.Embedded.Routes {
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
		b.PublishData = append(b.PublishData, pattern)
	}
	if err := b.Embedded.Check(); err != nil {
		about := "robot"
		switch {
		case b.Embedded.Robot == "" && len(b.Embedded.LeafOf) > 0:
			about = "leaf-of"
		case b.Embedded.Cluster != "" && b.Embedded.Listen == "":
			about = "cluster"
		case b.Embedded.Cluster == "" && len(b.Embedded.Routes) > 0:
			about = "route"
		}
		note(usagef("--%s: %w", about, err))
	}
	switch mode := text("backbone"); {
	case mode == "":
		note(needs(cmd, "a --backbone", "standby", "publish-data", "backbone-ca", "backbone-creds", "backbone-nkey", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route", "lease"))
	case mode == "embedded":
		c.Backbone = b
		note(needs(cmd, "--backbone nats://…; an embedded one goes by --credentials", "backbone-ca", "backbone-creds", "backbone-nkey"))
	case backbone.AreURLs(mode):
		b.URL = mode
		c.Backbone = b
		for name, o := range map[string]backbone.Options{"backbone-ca": {CAFile: b.CAFile}, "backbone-creds": {CredsFile: b.CredsFile}, "backbone-nkey": {NKeyFile: b.NKeyFile}} {
			if err := o.CheckFiles(); err != nil {
				note(usagef("--%s: %w", name, err))
			}
		}
		note(needs(cmd, "--backbone embedded; an existing one has a configuration of its own", "backbone-dir", "backbone-listen", "leaf-listen", "leaf-of", "cluster", "route"))
	default:
		note(notURL("backbone", mode, "'embedded' or nats://host:port"))
	}
	return errors.Join(wrong...)
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

// describeBackbone prints how others reach a node's backbone.
func describeBackbone(cmd *cobra.Command, n *node.Node, s settings) {
	at, ok := n.Backbone()
	if !ok {
		return
	}
	cmd.PrintErrln("and on the backbone at")
	cmd.PrintErrf("  %s\n", at.Server)
	listen, leafs := s.Backbone.Embedded.Listen, s.Backbone.Embedded.LeafListen
	secured := s.Security.Credentials != ""
	if at.Clients != "" {
		cmd.PrintErrf("  %s for %s%s\n", at.Clients, reachedFrom(listen), exposureOf(secured, !onLoopback(listen)))
	}
	if at.Leafs != "" {
		if host, _, err := net.SplitHostPort(leafs); err == nil && net.ParseIP(host).IsUnspecified() {
			at.Leafs = "nats-leaf://" + leafs // 127.0.0.1 is no address for them
		}
		cmd.PrintErrf("  %s for other robots%s\n", at.Leafs, exposureOf(secured, !onLoopback(leafs)))
	}
}

// reachedFrom says for whom the embedded backbone listens at an address.
func reachedFrom(listen string) string {
	if onLoopback(listen) {
		return "other programs on this computer"
	}
	return "other computers of this robot"
}

// onLoopback reports whether only this computer reaches what listens there.
func onLoopback(listen string) bool {
	host, _, _ := net.SplitHostPort(listen) // it is listened at
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
