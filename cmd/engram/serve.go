package main

import (
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
	"github.com/seed-301d4374/engram/wm"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a memory server with all memories",
		Long: `Runs a memory server in the foreground, until interrupted. It hosts the memories
RobotState, Object, Vision, Speech, Skill, Navigation, Grasp, SystemState, Example
and GeneralPurpose, and their name system. It listens on a Unix socket that only
this user can open, and on the loopback interface; there is no access control yet,
so think before you listen on more.`,
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
	f.Duration("monitor", time.Second, "how often SystemState watches this computer; 0 is never")
	keep := memories.DefaultPoseRetention()
	f.Int64("pose-bytes", keep.MaxBytes, "keep so many bytes of each moving frame's or joint's history in the poses; 0 is no bound")
	f.Int("pose-samples", keep.MaxCount, "keep so many samples of it; 0 is no bound")
	f.Duration("pose-age", keep.MaxAge, "keep it so far back from its newest sample, such as 1h; 0 is no bound\n(of several bounds the tightest counts)")
	f.Int("max-payload", 0, "refuse payloads of more bytes (default 64 MiB)")
	f.Int("max-results", 0, "refuse to answer a query with more snapshots (default 1,000,000)")
	f.Int("max-queue", 0, "let at most so many updates wait for one subscriber (default 65,536)")
	f.Int("max-message", 0, "refuse messages of more bytes (default 128 MiB, and twice --max-payload)")
	f.Int("max-streams", 0, "refuse more streams on one connection (default 256)")
	f.Int("max-subscriptions", 0, "refuse more subscriptions in all (default 4096)")
	f.Int("max-pattern", 0, "refuse patterns of more bytes (default 8192)")
	f.Int("max-regex", 0, "refuse regular expressions of more bytes (default, and at most, 1024)")
	f.Int("max-query", 0, "refuse queries of more nodes, names and selectors (default 10,000)")
	f.String("robot", "", "name of this robot or base station, noted in what is recorded, and the backbone's domain")
	addDataFlags(cmd)
	addBackboneFlags(cmd)
}

// settings are the flags of serve, checked.
type settings struct {
	memories  []server.Memory
	limits    wm.Limits
	edge      rpc.Options
	addresses []string
	backbone  backboneSettings
	data      *ltm.Options // nil without a long-term memory
}

// readSettings reads and checks the flags.
func readSettings(cmd *cobra.Command) (s settings, err error) {
	f := cmd.Flags()
	var options []memories.Option
	folders, _ := f.GetStringArray("prior")
	for _, dir := range folders {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return s, usagef("--prior %s: there is no such folder", dir)
		}
		options = append(options, memories.WithPriorKnowledge(os.DirFS(dir)))
	}
	keep, err := poseRetention(cmd)
	if err != nil {
		return s, err
	}
	options = append(options, memories.WithPoseRetention(keep))
	for name, limit := range map[string]*int{
		"max-payload": &s.limits.MaxPayload, "max-results": &s.limits.MaxResults, "max-queue": &s.limits.MaxQueue,
		"max-message": &s.edge.MaxMessage, "max-streams": &s.edge.MaxStreams, "max-subscriptions": &s.edge.MaxSubscriptions,
		"max-pattern": &s.edge.MaxPattern, "max-regex": &s.edge.MaxRegex, "max-query": &s.edge.MaxQueryNodes,
	} {
		if *limit, _ = f.GetInt(name); *limit < 0 {
			return s, usagef("--%s %d: 0 or more", name, *limit)
		}
	}
	if s.edge.MaxMessage == 0 && s.limits.MaxPayload > 64<<20 {
		s.edge.MaxMessage = min(2*s.limits.MaxPayload, math.MaxInt32)
	}
	s.limits.MaxQueryNodes = s.edge.MaxQueryNodes
	every, _ := f.GetDuration("monitor")
	if every < 0 {
		return s, usagef("--monitor %v: 0 or more", every)
	}
	if every > 0 {
		options = append(options, memories.WithSystemMonitor(every))
	}
	if s.memories, err = hosted(cmd, memories.All(options...)); err != nil {
		return s, err
	}
	if s.addresses, _ = f.GetStringArray("listen"); len(s.addresses) == 0 {
		s.addresses = rpc.DefaultAddresses()
	}
	if s.backbone, err = readBackboneSettings(cmd); err != nil {
		return s, err
	}
	s.data, err = readDataSettings(cmd)
	return s, err
}

// hosted returns those of all memories that --memory names.
func hosted(cmd *cobra.Command, all []server.Memory) ([]server.Memory, error) {
	names, _ := cmd.Flags().GetStringArray("memory")
	if len(names) == 0 {
		return all, nil
	}
	var out []server.Memory
	for _, name := range names {
		i := slices.IndexFunc(all, func(m server.Memory) bool { return m.Name == name })
		if i < 0 {
			var known []string
			for _, m := range all {
				known = append(known, m.Name)
			}
			return nil, usagef("--memory %s: there is %s", name, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

func serve(cmd *cobra.Command, _ []string) error {
	if _, err := loadConfig(cmd); err != nil {
		return err
	}
	s, err := readSettings(cmd)
	if err != nil {
		return err
	}
	server.TuneRuntime()
	h, err := startHost(cmd.Context(), s)
	if err != nil {
		return err
	}
	if h.store != nil {
		found := h.store.Opened()
		cmd.PrintErrf("engram: recording in %s, which has %s\n", h.store.Dir(), countOf(uint64(found.Episodes), "episode"))
		for _, what := range found.Problems {
			cmd.PrintErrf("  cannot be read: %s\n", what)
		}
	}
	cmd.PrintErrf("engram: %d memories are ready at\n", len(h.Memories()))
	for i, a := range h.addresses {
		cmd.PrintErrf("  %s%s\n", a, exposure(h.endpoint.Listeners()[i]))
	}
	h.backbone.describe(cmd)
	cmd.PrintErrln("Try 'engram import RECORDING' or 'engram ls --all' in another terminal; ^C ends this one.")
	return h.serve(cmd.Context())
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

// listenError says what to do about an address at which no server can listen.
func listenError(err error) error {
	e, ok := errors.AsType[*engram.Error](err)
	switch {
	case !ok:
		return err
	case e.Code == engram.AlreadyExists:
		what, _, _ := strings.Cut(e.Msg, ";")
		return engram.Errorf(e.Code, e.Thing, "%s; if it is a memory server use that one, or listen elsewhere with --listen 127.0.0.1:7412", what)
	case e.Code == engram.Invalid, e.Code == engram.Unsupported, strings.Contains(e.Msg, "invalid port"):
		return usagef("--listen: %w", err)
	}
	return err
}

// exposure says who can reach a listener, where that deserves a warning.
func exposure(l net.Listener) string {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		return "   (WARNING: everyone on the network can read and write)"
	}
	return ""
}
