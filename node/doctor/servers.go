package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
)

// Server looks at a server that answers: its release, its clock, and its health, which ask
// tells.
func Server(ctx context.Context, c *rpc.Client, ask func(context.Context) (health.Report, error), o Options) (found Findings) {
	o = o.withDefaults()
	info := c.Server()
	found.version(fmt.Sprintf("server %q", info.Server), info.Version, "this program", o.Version)
	found.clockOf(ctx, info.Server, c, o)
	askCtx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	report, err := ask(askCtx)
	if err != nil && askCtx.Err() != nil {
		found.problem("health", fmt.Sprintf("server %q does not say within %v how it is", info.Server, o.Timeout), doHangs)
		return found
	}
	if err != nil {
		found.warn("health", fmt.Sprintf("server %q does not tell its health", info.Server), "it is of an earlier release, or you may not ask; bring it to the release of this program")
		return found
	}
	for _, f := range report.Checks {
		switch f.Status {
		case health.OK:
		case health.Degraded:
			found.warn("health", fmt.Sprintf("%s: %s", f.Check, f.Reason), "as it says; 'engram health' shows whether it is over")
		default:
			found.problem("health", fmt.Sprintf("%s: %s", f.Check, f.Reason), "as it says; 'engram health' shows whether it is over")
		}
	}
	switch {
	case report.Status == health.OK && len(report.Checks) == 0:
		found.ok("health", fmt.Sprintf("server %q is ready; what it checks is for those who may read everything", info.Server))
	case report.Status == health.OK:
		found.ok("health", fmt.Sprintf("server %q is ready; all of its %d checks pass", info.Server, len(report.Checks)))
	}
	return found
}

const doHangs = "it hangs, or has more to do than it can; look whether its process takes all of a core, and restart it if it stays so"

func (f *Findings) version(a, va, b, vb string) {
	if va != vb {
		f.warn("version", fmt.Sprintf("%s is of release %s, %s of %s", a, orUnknown(va), b, orUnknown(vb)), "bring all to one release; what both know works meanwhile")
		return
	}
	f.ok("version", fmt.Sprintf("%s is of release %s, as is %s", a, orUnknown(va), b))
}

func orUnknown(version string) string {
	if version == "" {
		return "(unknown)"
	}
	return version
}

func (f *Findings) clockOf(ctx context.Context, server string, c *rpc.Client, o Options) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	s, err := clock.Measure(ctx, o.Now, 8, func(ctx context.Context) (received, sent engram.Time, err error) {
		info, err := c.Info(ctx)
		return info.Received, info.Sent, err
	})
	if err != nil {
		f.warn("clock", fmt.Sprintf("how far the clock of server %q is cannot be measured: %s", server, cause(err)), "bring it to the release of this program")
		return
	}
	f.skew(fmt.Sprintf("the clock of server %q", server), "this computer's", s)
}

// skew judges a measured skew, less what the measurement may be wrong by.
func (f *Findings) skew(whose, than string, s clock.Sample) {
	what := fmt.Sprintf("%s is %v ± %v %s %s", whose, s.Offset.Abs().Round(10*time.Microsecond), s.Uncertainty().Round(10*time.Microsecond), s.Side(), than)
	do := "set the clocks of all computers by NTP or PTP ('chronyc tracking', 'timedatectl'); Engram changes no times, so what is seen at one moment has times that differ by as much"
	switch least := s.Least(); {
	case least > clock.Far:
		f.problem("clock", what, do)
	case least > clock.Apart:
		f.warn("clock", what, do)
	default:
		f.ok("clock", what)
	}
}

// maxServers is how many of the servers that the name system knows are looked at.
const maxServers = 100

// vantage is from where servers are looked at: a server, or the backbone.
type vantage struct {
	where   string // as a sentence names it
	names   mns.Registry
	server  string // its name; "" on the backbone
	release string // "server X" or "this program"
	version string
	address string // by which servers are reached that are on the backbone; "" on it
}

// Servers looks at all servers that the name system of one knows: whether they can be
// reached from here, are of one release, have clocks that agree, and names of their own.
func Servers(ctx context.Context, home *rpc.Client, o Options) Findings {
	info := home.Server()
	name := fmt.Sprintf("server %q", info.Server)
	return servers(ctx, vantage{where: name, names: home.Names(), server: info.Server, release: name, version: info.Version, address: home.Address()}, o)
}

// OnBackbone is [Servers] for a program on the backbone itself, whose names it is given.
// The options' Dial.Backbone reaches servers through it.
func OnBackbone(ctx context.Context, names mns.Registry, o Options) Findings {
	return servers(ctx, vantage{where: "the backbone", names: names, release: "this program", version: o.Version}, o)
}

func servers(ctx context.Context, from vantage, o Options) (found Findings) {
	o = o.withDefaults()
	listCtx, cancel := context.WithTimeout(ctx, o.Timeout)
	entries, err := from.names.List(listCtx)
	cancel()
	if err != nil {
		found.problem("names", fmt.Sprintf("the name system of %s does not answer: %s", from.where, cause(err)), "look at the backbone: 'engram health'")
		return found
	}
	all := serversOf(entries)
	what := fmt.Sprintf("%s on %s", count(len(entries), "memory", "memories"), count(len(all), "server", "servers"))
	if last := lastKnown(entries); last != 0 {
		found.warn("names", fmt.Sprintf("the name system of %s is away; when it was there last, at %v, it knew %s", from.where, last, what),
			"look at the backbone: 'engram health'; those who host these memories are looked at where they were then")
	} else {
		found.ok("names", "registered: "+what)
	}
	if len(all) > maxServers {
		found.warn("names", fmt.Sprintf("the first %d of them are looked at", maxServers), "run the doctor on the other robots as well")
		all = all[:maxServers]
	}
	for _, e := range entries {
		if e.Server == "" {
			found.warn("names", fmt.Sprintf("%s is not within reach; copies at %s answer", e.Memory, strings.Join(e.Holders(), ", ")), "look at the link to the robot, and whether its server runs there, if it should be within reach")
		}
	}
	for _, s := range all {
		if s.name != from.server {
			found.server(ctx, s, from, o)
		}
	}
	return found
}

// lastKnown returns when the name system that told the entries was there last, if it is
// away; else 0.
func lastKnown(entries []mns.Entry) engram.Time {
	for _, e := range entries {
		if e.LastKnown != 0 {
			return e.LastKnown
		}
	}
	return 0
}

func count(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

type server struct {
	name      string
	addresses []string
}

func serversOf(entries []mns.Entry) (out []server) {
	for _, e := range entries {
		if e.Server == "" { // there are only copies of it
			continue
		}
		if !slices.ContainsFunc(out, func(s server) bool { return s.name == e.Server }) {
			out = append(out, server{e.Server, e.Addresses})
		}
	}
	return out
}

// server looks at one of the servers, at all of its addresses.
func (f *Findings) server(ctx context.Context, s server, from vantage, o Options) {
	lives := map[uint64]string{} // addresses by the epochs of who answers there under its name
	judged := false
	judge := func(c *rpc.Client, address string) {
		lives[c.Server().Epoch] = address
		if judged {
			return
		}
		judged = true
		f.version(fmt.Sprintf("server %q", s.name), c.Server().Version, from.release, from.version)
		f.clockOf(ctx, s.name, c, o)
	}
	for _, address := range s.addresses {
		dial := o.Dial
		dial.Server = s.name
		if transport.IsLocal(address) {
			continue
		}
		at := address
		if strings.HasPrefix(address, rpc.BackboneScheme) && dial.Backbone == nil {
			at, dial.Via = from.address, s.name
		}
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		if c, err := rpc.Dial(ctx, at, dial); err == nil {
			judge(c, address)
			c.Close()
		}
		cancel()
	}
	switch {
	case len(lives) > 1:
		f.problem("names", fmt.Sprintf("two servers call themselves %q, at %s", s.name, strings.Join(values(lives), " and ")), "give each its own --name; they take the memories' names from each other")
	case len(lives) == 0:
		f.problem("names", fmt.Sprintf("server %q is registered, and does not answer at %s", s.name, strings.Join(s.addresses, ", ")),
			"if it ended just now, its names are gone within its lease; else look whether it runs, and which address others reach it at (--advertise)")
	default:
		f.ok("names", fmt.Sprintf("server %q answers", s.name))
	}
}

func values(m map[uint64]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}
