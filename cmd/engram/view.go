package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/internal/rerun"
	"github.com/seed-301d4374/engram/ltm/service"
)

func newView() *cobra.Command {
	cmd := &cobra.Command{Use: "view", Short: "Show a part of the memory in another viewer"}
	cmd.AddCommand(newViewRerun())
	return cmd
}

func newViewRerun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rerun [PATTERN…|EPISODE.mcap]",
		Short: "Show what is remembered, or an episode, in Rerun",
		Long: `Exports what the memory holds of the entities that a pattern matches, all without one,
as 'engram export' does, and opens it in Rerun: images, transforms, point clouds and what
was said as pictures, all else by its members. What Rerun cannot draw is said. An episode
is named as 'engram episode ls' does, or is a file, which is opened as it is.

The program 'rerun' is used if there is one. Else it is Rerun's viewer for browsers, which is
served at 127.0.0.1 until ^C: out of the folder --viewer, or out of a cache that --install
fills once from npm. It is not part of Engram, and asks nobody but this computer.`,
		Example: `  engram view rerun --range now-1m.. --install
  engram view rerun 'Vision/*' RobotState World --range 14:00..14:05
  engram view rerun 2026-11-20T12-51-46Z-000123.mcap`,
		ValidArgsFunction: completeIDs,
	}
	addSpanFlag(cmd, "only what is of A..B, and what was in force at A; either may be left out")
	addServerFlag(cmd)
	f := cmd.Flags()
	f.String("viewer", "", "the folder of npm's @rerun-io/web-viewer, or one where npm has installed it")
	f.Bool("install", false, "install "+rerun.Package+" ("+byteSize(rerun.Size).String()+") from npm's registry, if it is not there")
	f.Bool("no-open", false, "print the page's address only")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return viewRerun(cmd, args) }
	return cmd
}

func viewRerun(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	show, err := rerunViewer(cmd)
	if err != nil {
		return err
	}
	var file string
	if len(args) == 1 && strings.HasSuffix(args[0], ".mcap") && !isFolder(args[0]) {
		if _, err := os.Stat(args[0]); err == nil {
			file = args[0]
		}
	}
	if file == "" {
		dir, err := os.MkdirTemp("", "engram-rerun-")
		if err != nil {
			return engram.Errorf(engram.Unavailable, os.TempDir(), "there is no room for what is to be shown: %w", err)
		}
		defer os.RemoveAll(dir)
		file = filepath.Join(dir, "engram.mcap")
		if err := exportToView(cmd, args, file); err != nil {
			return err
		}
	}
	shown, err := rerun.ShownOf(file)
	if err != nil {
		return err
	}
	cmd.PrintErrf("Rerun understands %s (images, video, transforms, points, logs), and shows the members of %s\n", countOf(uint64(len(shown.Drawn)), "topic"), countOf(uint64(len(shown.Members)), "other"))
	if len(shown.Not) > 0 {
		cmd.PrintErrf("Rerun cannot draw, and shows by members only: %s\n", strings.Join(shown.Not, ", "))
	}
	if n := len(shown.Coded); n > 0 {
		cmd.PrintErrf("Rerun does not read %s that the episode codes in columns; to see them, ask the server for the episode by its name, or export it\n", countOf(uint64(n), "topic"))
	}
	return show(ctx, file)
}

// exportToView exports what the arguments ask for: patterns, or an episode.
func exportToView(cmd *cobra.Command, args []string, file string) (err error) {
	var o ingest.ExportOptions
	if o.Span, err = spanFlag(cmd); err != nil {
		return err
	}
	return useMemories(cmd, func(m engram.Service, store service.Service) error {
		if len(args) == 1 && strings.HasSuffix(args[0], ".mcap") {
			e, _, err := store.Episode(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.Span, o.Target = e.Recorded, engram.TargetLTM
		} else if o.Patterns, err = parsePatterns(args); err != nil {
			return err
		}
		derive, done, err := newDeriver(cmd.Context(), m)
		if err != nil {
			return err
		}
		defer done()
		o.Derive = derive
		bar := newProgress(cmd, "exporting", true)
		o.Progress = bar.set
		report, err := ingest.Export(cmd.Context(), m, file, o)
		bar.finish()
		if o.Patterns != nil {
			sayWhyNothing(cmd, m, args)
		}
		if err == nil {
			tellMissing(cmd, "what is shown", report.Missing)
		}
		return err
	})
}

// rerunViewer returns what shows a file until the context ends or the viewer is closed.
func rerunViewer(cmd *cobra.Command) (show func(ctx context.Context, file string) error, err error) {
	dir, _ := cmd.Flags().GetString("viewer")
	install, _ := cmd.Flags().GetBool("install")
	if program, err := exec.LookPath("rerun"); err == nil && dir == "" && !install {
		return func(ctx context.Context, file string) error {
			c := exec.CommandContext(ctx, program, file)
			c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return c.Run()
		}, nil
	}
	if dir == "" {
		if dir, err = rerun.Cache(); err != nil {
			return nil, err
		}
	}
	viewer, err := rerun.Find(dir)
	switch {
	case err == nil:
	case install:
		cmd.PrintErrf("npm installs %s, %v, from its registry into %s; nothing else is fetched\n", rerun.Package, byteSize(rerun.Size), dir)
		if err = rerun.Install(cmd.Context(), dir); err == nil {
			viewer, err = rerun.Find(dir)
		}
	default:
		err = engram.Errorf(engram.NotFound, dir, "Rerun's viewer is not there, nor is the program rerun: --install has npm put %s (%v) there, --viewer DIR uses another folder", rerun.Package, byteSize(rerun.Size))
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, file string) error {
		s, err := rerun.Listen(viewer, file)
		if err != nil {
			return err
		}
		cmd.Println(s.Address())
		if no, _ := cmd.Flags().GetBool("no-open"); !no {
			if err := openBrowser(s.Address()); err != nil {
				cmd.PrintErrln(err)
			}
		}
		cmd.PrintErrln("^C ends it.")
		return s.Serve(ctx)
	}, nil
}
