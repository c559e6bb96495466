package main

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/ops/systemd"
	"github.com/seed-301d4374/engram/internal/release"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/node"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a memory server with all memories",
		Long: `Runs a memory server in the foreground, until interrupted. It hosts the memories
RobotState, Object, Vision, Speech, Skill, Navigation, Grasp, World, Knowledge, SystemState,
Example and GeneralPurpose, and their name system. It listens on a Unix socket that only
this user can open, and on the loopback interface. Before you listen on more, give it
--credentials and --access: 'engram auth --help'.`,
		Example: `  engram serve
  engram serve --prior ./knowledge
  engram serve --data ~/engram
  engram serve --listen unix:/run/robot/engram.sock --listen 0.0.0.0:7411`,
		Args: positional(cobra.NoArgs),
	}
	addServeFlags(cmd)
	cmd.RunE = serve
	return cmd
}

// addServeFlags gives a command everything that a memory server can be told.
func addServeFlags(cmd *cobra.Command) {
	addConfigFlag(cmd)
	f := cmd.Flags()
	f.StringArray("listen", nil, "listen on unix:/path or host:port; may be repeated\n(default: "+strings.Join(rpc.DefaultAddresses(), " and ")+")")
	f.StringArray("prior", nil, "commit the prior knowledge in this folder at the start; may be repeated")
	f.StringArray("memory", nil, "host only this memory; may be repeated (default: all)")
	f.StringArray("plain-memory", nil, "host a memory of this name that has no segments of its own, and of the others only those of --memory;\nprograms add its segments; may be repeated")
	f.Duration("monitor", time.Second, "how often SystemState watches this computer; 0 is never")
	keep := memories.DefaultPoseRetention()
	f.Int64("pose-bytes", keep.MaxBytes, "keep so many bytes of each moving frame's or joint's history in the poses; 0 is no bound")
	f.Int("pose-samples", keep.MaxCount, "keep so many samples of it; 0 is no bound")
	f.Duration("pose-age", keep.MaxAge, "keep it so far back from its newest sample, such as 1h; 0 is no bound\n(of several bounds the tightest counts)")
	f.Int("max-payload", 0, "refuse payloads of more bytes (default 64 MiB)")
	f.Int("max-results", 0, "refuse to answer a query with more snapshots (default 1,000,000)")
	f.Int("max-queue", 0, "let at most so many updates wait for one subscriber (default 65,536)")
	f.Int("max-message", 0, "refuse messages of more bytes (default 128 MiB, and twice --max-payload)")
	f.Int("max-request", 0, "refuse requests without payloads of more bytes (default 4 MiB)")
	f.Int64("max-decoding", 0, "let all messages that are decoded at once take at most so many bytes, and one half of them\n(default 512 MiB, and four times --max-message)")
	f.Int("max-streams", 0, "refuse more streams on one connection (default 256)")
	f.Int("max-subscriptions", 0, "refuse more subscriptions in all (default 4096)")
	f.Int("max-pattern", 0, "refuse patterns of more bytes (default 8192)")
	f.Int("max-regex", 0, "refuse regular expressions of more bytes (default, and at most, 1024)")
	f.Int("max-query", 0, "refuse queries of more nodes, names and selectors (default 10,000)")
	f.String("robot", "", "name of this robot or base station, noted in what is recorded, and the backbone's domain")
	f.Duration("clock-offset", 0, "for tests: let the server's clock be ahead of this computer's by so much")
	_ = f.MarkHidden("clock-offset") // it is there
	addAheadFlag(cmd)
	addDataFlags(cmd)
	addBackboneFlags(cmd)
	addOperationsFlags(cmd)
	addCopyFlags(cmd)
	addSecurityFlags(cmd)
}

// settings are the flags of serve, checked.
type settings struct {
	node.Config
	log logSettings
}

// readSettings reads and checks the flags. The error has all mistakes, joined; each begins
// with the flag, if it is of one.
func readSettings(cmd *cobra.Command) (s settings, err error) {
	f := cmd.Flags()
	var wrong []error
	note := func(err error) { wrong = append(wrong, err) }
	var options []memories.Option
	folders, _ := f.GetStringArray("prior")
	for _, dir := range folders {
		if !isFolder(dir) {
			note(usagef("--prior %s: there is no such folder", dir))
			continue
		}
		options = append(options, memories.WithPriorKnowledge(os.DirFS(dir)))
	}
	keep, err := poseRetention(cmd)
	note(err)
	options = append(options, memories.WithPoseRetention(keep))
	for _, limit := range []struct {
		name string
		of   *int
	}{
		{"max-payload", &s.Limits.MaxPayload}, {"max-results", &s.Limits.MaxResults}, {"max-queue", &s.Limits.MaxQueue},
		{"max-message", &s.Edge.MaxMessage}, {"max-request", &s.Edge.MaxRequest}, {"max-streams", &s.Edge.MaxStreams}, {"max-subscriptions", &s.Edge.MaxSubscriptions},
		{"max-pattern", &s.Edge.MaxPattern}, {"max-regex", &s.Edge.MaxRegex}, {"max-query", &s.Edge.MaxQueryNodes},
	} {
		if *limit.of, _ = f.GetInt(limit.name); *limit.of < 0 {
			note(usagef("--%s %d: 0 or more", limit.name, *limit.of))
		}
	}
	if s.Edge.MaxDecoding, _ = f.GetInt64("max-decoding"); s.Edge.MaxDecoding < 0 {
		note(usagef("--max-decoding %d: 0 or more", s.Edge.MaxDecoding))
	}
	if s.Edge.MaxMessage == 0 && s.Limits.MaxPayload > 64<<20 {
		s.Edge.MaxMessage = min(2*s.Limits.MaxPayload, math.MaxInt32)
	}
	s.Limits.MaxQueryNodes = s.Edge.MaxQueryNodes
	every, _ := f.GetDuration("monitor")
	if every < 0 {
		note(usagef("--monitor %v: 0 or more", every))
	}
	if every > 0 {
		options = append(options, memories.WithSystemMonitor(every))
	}
	s.Memories, err = hosted(cmd, memories.All(options...))
	note(err)
	note(setAhead(cmd, s.Memories))
	if s.Listen, _ = f.GetStringArray("listen"); len(s.Listen) == 0 {
		s.Listen = rpc.DefaultAddresses()
	}
	note(readBackboneSettings(cmd, &s.Config))
	s.Copies, err = readCopySettings(cmd)
	note(err)
	s.Recovery, err = readRecovery(cmd)
	note(err)
	s.Security, err = readSecuritySettings(cmd)
	note(err)
	if offset, _ := f.GetDuration("clock-offset"); offset != 0 {
		s.Now = func() engram.Time { return engram.Now().Add(offset) }
	}
	s.NoPage, _ = f.GetBool("no-page")
	s.Assets, _ = f.GetStringArray("assets")
	for _, dir := range s.Assets {
		if !isFolder(dir) {
			note(usagef("--assets %s: there is no such folder", dir))
		}
	}
	s.Operations, err = readOperationsSettings(cmd)
	note(err)
	s.log, err = readLogSettings(cmd)
	note(err)
	s.Operations.Log = s.log.logger()
	s.Data, err = readDataSettings(cmd)
	note(err)
	return s, errors.Join(apart(errors.Join(wrong...))...)
}

// effective returns, by their flags, what the server runs with where that may be other than
// the flags' values.
func (s settings) effective() map[string]string {
	var data ltm.Options
	if s.Data != nil {
		data = *s.Data
	}
	limits, edge, data := s.Limits.WithDefaults(), s.Edge.WithDefaults(), data.WithDefaults()
	out := map[string]string{"episode-age": data.SealAge.String(), "max-decoding": strconv.FormatInt(edge.MaxDecoding, 10)}
	for name, n := range map[string]int{
		"max-payload": limits.MaxPayload, "max-results": limits.MaxResults, "max-queue": limits.MaxQueue,
		"max-message": edge.MaxMessage, "max-request": edge.MaxRequest, "max-streams": edge.MaxStreams, "max-subscriptions": edge.MaxSubscriptions,
		"max-pattern": edge.MaxPattern, "max-regex": edge.MaxRegex, "max-query": edge.MaxQueryNodes,
	} {
		out[name] = strconv.Itoa(n)
	}
	return out
}

// hosted returns those of all memories that --memory names.
func hosted(cmd *cobra.Command, all []server.Memory) ([]server.Memory, error) {
	names, _ := cmd.Flags().GetStringArray("memory")
	plain, _ := cmd.Flags().GetStringArray("plain-memory")
	if len(names)+len(plain) == 0 {
		return all, nil
	}
	var out []server.Memory
	var wrong []error
	for _, name := range plain {
		if err := engram.CheckName(name); err != nil {
			wrong = append(wrong, usagef("--plain-memory: %w", err))
		} else if strings.Contains(name, ":") {
			wrong = append(wrong, usagef("--plain-memory %s: a name with a colon is that of another robot's memory; take one without", name))
		} else if slices.ContainsFunc(slices.Concat(all, out), func(m server.Memory) bool { return m.Name == name }) {
			wrong = append(wrong, usagef("--plain-memory %s: there is a memory of this name already", name))
		}
		out = append(out, server.Memory{Name: name})
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(m server.Memory) bool { return m.Name == name })
		if i < 0 {
			var known []string
			for _, m := range all {
				known = append(known, m.Name)
			}
			hint := "there are " + listed(known, "and")
			if near := spelling.Nearest(name, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			wrong = append(wrong, usagef("--memory %s: there is no such memory; %s", name, hint))
			continue
		}
		out = append(out, all[i])
	}
	return out, errors.Join(wrong...)
}

func serve(cmd *cobra.Command, _ []string) error {
	s, _, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	server.TuneRuntime()
	defer server.CollectAfterBursts()()
	slog.SetDefault(s.Operations.Log)
	n, err := node.New(cmd.Context(), s.Config)
	if err != nil {
		return listenError(err)
	}
	announce(cmd, n, s)
	defer context.AfterFunc(cmd.Context(), func() { _ = systemd.Notify(systemd.Stopping) })() // it sees the end anyway
	return ended(n.Serve(cmd.Context()))
}

// ended is the error of a server that ended, with its exit code.
func ended(err error) error {
	if loss, ok := errors.AsType[*node.LossError](err); ok {
		return &lossError{loss.Reason}
	}
	return err
}

// announce says that a node is ready, to people as text, else as a log record, and to the
// service manager.
func announce(cmd *cobra.Command, n *node.Node, s settings) {
	memories, addresses := n.Server().Memories(), n.Addresses()
	if err := systemd.Notify(systemd.Ready, systemd.Status(countOf(uint64(len(memories)), "memory")+" ready at "+strings.Join(addresses, " "))); err != nil {
		slog.Warn("systemd", "error", err)
	}
	if every := systemd.WatchdogInterval(); every > 0 {
		go systemd.Watch(cmd.Context(), every, n.Live) // until the process ends
	}
	if s.log.json {
		slog.Info("ready", "server", n.Name(), "version", release.Current().Version, "memories", memories, "addresses", addresses)
		return
	}
	if store := n.Store(); store != nil {
		found := store.Opened()
		cmd.PrintErrf("engram: recording in %s, which has %s\n", store.Dir(), countOf(uint64(found.Episodes), "episode"))
		for _, what := range found.Problems {
			cmd.PrintErrf("  damaged: %s\n", what)
		}
	}
	are := " are"
	if len(memories) == 1 {
		are = " is"
	}
	cmd.PrintErrf("engram: %s%s ready at\n", countOf(uint64(len(memories)), "memory"), are)
	listeners := n.Listeners()
	for i, a := range addresses {
		cmd.PrintErrf("  %s%s\n", a, exposure(listeners[i]))
	}
	describeBackbone(cmd, n, s)
	cmd.PrintErrln("Try 'engram import RECORDING' or 'engram ls --all' in another terminal; ^C ends this one.")
}

// poseRetention returns how much history of poses is to be kept.
func poseRetention(cmd *cobra.Command) (keep pose.Retention, err error) {
	f := cmd.Flags()
	keep.MaxBytes, _ = f.GetInt64("pose-bytes")
	keep.MaxCount, _ = f.GetInt("pose-samples")
	keep.MaxAge, _ = f.GetDuration("pose-age")
	if keep.MaxBytes < 0 || keep.MaxCount < 0 || keep.MaxAge < 0 {
		err = usagef("--pose-bytes %d --pose-samples %d --pose-age %v: 0 or more", keep.MaxBytes, keep.MaxCount, keep.MaxAge)
	}
	return keep, err
}

// listenError says what to do about an address at which no server can listen; of other
// errors it returns what they are.
func listenError(err error) error {
	_, listening := errors.AsType[*node.ListenError](err)
	e, ok := errors.AsType[*engram.Error](err)
	switch {
	case !ok || !listening:
		return err
	case e.Code == engram.AlreadyExists:
		what, _, _ := strings.Cut(e.Msg, ";")
		do := "use that one"
		if !strings.Contains(what, "memory server") {
			do = "if it is a memory server use that one"
		}
		return engram.Errorf(e.Code, e.Thing, "%s; %s, or listen elsewhere with --listen 127.0.0.1:7412", what, do)
	case e.Code == engram.Invalid, e.Code == engram.Unsupported, strings.Contains(e.Msg, "invalid port"):
		return usagef("--listen: %w", err)
	}
	return err
}

// exposure says who can reach a listener, where that deserves a warning.
func exposure(l net.Listener) string {
	a, ok := l.Addr().(*net.TCPAddr)
	return exposureOf(secure.SecureListener(l), ok && !a.IP.IsLoopback())
}

func exposureOf(secured, outside bool) string {
	switch {
	case secured:
		return "   (TLS: who connects needs credentials)"
	case outside:
		return "   (WARNING: everyone on the network can read and write; see --credentials)"
	}
	return ""
}
