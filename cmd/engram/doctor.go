package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/release"
	"github.com/seed-301d4374/engram/node/doctor"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find the usual mistakes, and say what to do",
		Long: `Looks for what usually goes wrong, and says what to do about it.

Without flags, or with --address, it looks at a running server: whether it answers, and
if not why; its release, clock and health; the other servers that it knows; and at this
computer. With the --address of a backbone it looks at that, and all servers on it. With --config it looks at what 'engram serve --config FILE' needs before it is
started: addresses, the data folder, the backbone, the base station. With --data it looks
at a data folder.

Nothing is changed, but for a small file that is written to the data folder and removed.
The exit code is 1 if there is a problem; a warning is something that works and should
not stay so.`,
		Example: `  engram doctor
  engram doctor --address http://10.0.0.2:7411
  engram doctor --config /etc/engram/robot.yaml
  engram doctor --data /var/lib/engram -o json`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.String("config", "", "look at what this configuration of a server needs")
	f.String("data", "", "look at this data folder")
	f.Duration("timeout", 3*time.Second, "how long to wait for each answer")
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) (err error) {
		o := doctor.Options{Version: release.Current().Version}
		if o.Dial, err = dialOptions(cmd); err != nil {
			return err
		}
		if o.Timeout, _ = f.GetDuration("timeout"); o.Timeout <= 0 {
			return usagef("--timeout %v: more than 0", o.Timeout)
		}
		found, err := examine(cmd, o)
		if err != nil {
			return err
		}
		if err := printFindings(cmd, format, found); err != nil {
			return err
		}
		if n := found.Problems(); n > 0 {
			return engram.Errorf(engram.Unavailable, "", "%s found", countOf(uint64(n), "problem"))
		}
		return nil
	})
	return cmd
}

// examine looks at what the flags name.
func examine(cmd *cobra.Command, o doctor.Options) (found doctor.Findings, err error) {
	f := cmd.Flags()
	config, _ := f.GetString("config")
	data, _ := f.GetString("data")
	here := doctor.ThisHost(cmd.Context())
	switch {
	case config != "":
		if found, err = examineConfig(cmd.Context(), config, o); err != nil {
			return nil, err
		}
	case data == "":
		found = examineServer(cmd, here, o)
	}
	if data != "" {
		found = append(found, doctor.Folder(data)...)
	}
	return append(found, here.Look(config != "" || data != "")...), nil
}

func printFindings(cmd *cobra.Command, format string, found doctor.Findings) error {
	out := &table{header: []string{"LEVEL", "CHECK", "WHAT", "DO"}}
	for i := range found {
		x := &found[i]
		x.What, x.Do = withoutSecrets(x.What), withoutSecrets(x.Do)
		out.add(state(x.Level), x.Check, visible(x.What), visible(x.Do))
	}
	if format != "table" {
		return print(cmd.OutOrStdout(), format, out, []doctor.Finding(found))
	}
	for _, x := range found {
		level := state(x.Level)
		head := []span{{level.looks().style, fmt.Sprintf("%-8s", level.raw)}, {text: fmt.Sprintf(" %-9s ", x.Check)}}
		if err := printFolded(cmd.OutOrStdout(), head, span{text: x.What}); err != nil {
			return err
		}
		if x.Do != "" {
			if err := printFolded(cmd.OutOrStdout(), []span{{text: fmt.Sprintf("%18s → ", "")}}, span{text: x.Do}); err != nil {
				return err
			}
		}
	}
	return nil
}

// examineServer looks at a running server and those that it knows.
func examineServer(cmd *cobra.Command, here doctor.Host, o doctor.Options) (found doctor.Findings) {
	ctx, address := cmd.Context(), namedAddress(cmd)
	if onBackbone(address) {
		return examineBackbone(ctx, address, o)
	}
	for _, a := range placesOf(address) {
		one, c := doctor.Address(ctx, a, o)
		if c == nil {
			found = append(found, one...)
			continue
		}
		defer c.Close()
		found = one // what did not answer before does not matter
		ask := func(ctx context.Context) (health.Report, error) { return healthAt(ctx, a, o.Dial) }
		found = append(found, doctor.Server(ctx, c, ask, o)...)
		found = append(found, doctor.Servers(ctx, c, o)...)
		if strings.HasPrefix(a, "unix:") {
			found = append(found, here.Holds(ctx, c, o)...)
		}
		return found
	}
	return found
}

// examineBackbone looks at a backbone and the servers on it.
func examineBackbone(ctx context.Context, address string, o doctor.Options) doctor.Findings {
	var fabric *backbone.Backbone
	var m *client.Client
	found := doctor.Backbone(ctx, address, func(ctx context.Context) (err error) {
		if fabric, err = backbone.Connect(ctx, backbone.Options{URL: address, Credentials: o.Dial.Credentials}); err != nil {
			return err
		}
		m, err = client.Connect(ctx, client.Options{Address: address, Dial: o.Dial})
		return err
	}, o)
	if fabric != nil {
		defer fabric.Close()
	}
	if m == nil {
		return found
	}
	defer m.Close()
	o.Dial.Backbone = fabric.Dial
	return append(found, doctor.OnBackbone(ctx, m.Names(), o)...)
}

// examineConfig looks at what a configuration needs.
func examineConfig(ctx context.Context, file string, o doctor.Options) (found doctor.Findings, err error) {
	serve := newServe()
	serve.SetContext(ctx)
	if err := serve.Flags().Set("config", file); err != nil {
		return nil, err
	}
	s, _, err := loadSettings(serve)
	for _, mistake := range apart(err) {
		found = append(found, doctor.Finding{Level: doctor.Problem, Check: "config", What: oneLine(mistake.Error()), Do: "mend it; 'engram config check " + file + "' says whether all is right"})
	}
	if err != nil {
		return found, nil
	}
	found = doctor.Findings{{Level: doctor.OK, Check: "config", What: file + " can be read"}}
	tcp := append([]string{s.Operations.Listen}, s.embeddedAddresses()...)
	for _, a := range append(slices.Clone(s.Listen), tcp...) {
		if a != "" {
			found = append(found, doctor.Listen(ctx, a, o)...)
		}
	}
	if s.Data != nil {
		found = append(found, doctor.Folder(s.Data.Dir)...)
	}
	if s.Backbone != nil && s.Backbone.URL != "" {
		found = append(found, doctor.Backbone(ctx, s.Backbone.URL, s.connectBackbone, o)...)
	}
	if s.Backbone != nil {
		for _, u := range s.Backbone.Embedded.LeafOf {
			found = append(found, doctor.Leaf(ctx, u, o)...)
		}
	}
	if s.Backbone != nil && s.Robot == "" && s.Backbone.Embedded.LeafListen != "" {
		found = append(found, doctor.Finding{Level: doctor.Warn, Check: "robot", What: "a base station without a name", Do: "name it with --robot, so that robots can ask it by name"})
	}
	return found, nil
}

// embeddedAddresses returns where the embedded backbone is to listen.
func (s settings) embeddedAddresses() (out []string) {
	if s.Backbone == nil {
		return nil
	}
	e := s.Backbone.Embedded
	for _, a := range []string{e.Listen, e.LeafListen, e.Cluster} {
		if a != "" && !strings.HasSuffix(a, ":0") {
			out = append(out, a)
		}
	}
	return out
}

// connectBackbone connects to the backbone that the settings name, and looks whether its
// JetStream, where the names are, answers.
func (s settings) connectBackbone(ctx context.Context) error {
	o := backbone.Options{URL: s.Backbone.URL, Robot: s.Robot, CAFile: s.Backbone.CAFile, CredsFile: s.Backbone.CredsFile, NKeyFile: s.Backbone.NKeyFile}
	if s.Security.Credentials != "" {
		var err error
		if o.Credentials, err = credentials.Load(s.Security.Credentials, nil); err != nil {
			return err
		}
	}
	b, err := backbone.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	if _, err := b.JetStream().AccountInfo(ctx); err != nil {
		return fmt.Errorf("JetStream: %w", err)
	}
	return nil
}
