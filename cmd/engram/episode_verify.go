package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// keeper is what checks and repairs episodes: a server, or a folder without one.
type keeper interface {
	names(ctx context.Context) ([]string, error)
	verify(ctx context.Context, name string) ([]episode.Problem, error)
	repair(ctx context.Context, name string) (episode.Info, []episode.Problem, error)
}

// withKeeper calls f with the folder of --data, or with the server.
func withKeeper(cmd *cobra.Command, f func(k keeper) error) error {
	dir, _ := cmd.Flags().GetString("data")
	if !cmd.Flags().Changed("data") {
		return withLongTerm(cmd, func(_ string, store admin.Service) error { return f(servedEpisodes{store}) })
	}
	if dir == "" {
		return usagef("--data: give a folder")
	}
	folder, err := ltm.OpenFolder(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return f(folderEpisodes{folder})
}

func addFolderFlag(cmd *cobra.Command) {
	cmd.Flags().String("data", "", "work on this folder, which no server has open, instead of asking a server")
}

type servedEpisodes struct{ store admin.Service }

func (s servedEpisodes) names(ctx context.Context) ([]string, error) {
	list, err := s.store.Episodes(ctx, engram.Always())
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list {
		if list[i].Sealed {
			names = append(names, list[i].Name)
		}
	}
	damaged, err := s.store.Damaged(ctx)
	for _, d := range damaged {
		names = append(names, d.Name)
	}
	return names, err
}

func (s servedEpisodes) verify(ctx context.Context, name string) ([]episode.Problem, error) {
	problems, err := s.store.Verify(ctx, name)
	if engram.CodeOf(err) != engram.NotFound {
		return problems, err
	}
	damaged, damagedErr := s.store.Damaged(ctx)
	for _, d := range damaged {
		if d.Name == name {
			return []episode.Problem{{What: d.Why}}, nil
		}
	}
	if damagedErr != nil {
		return nil, damagedErr
	}
	return nil, err
}

func (s servedEpisodes) repair(ctx context.Context, name string) (episode.Info, []episode.Problem, error) {
	info, lost, err := s.store.Repair(ctx, name)
	return info.Info, lost, err
}

type folderEpisodes struct{ *ltm.Folder }

func (f folderEpisodes) names(context.Context) ([]string, error) { return f.Episodes() }

func (f folderEpisodes) verify(ctx context.Context, name string) ([]episode.Problem, error) {
	problems, err := f.Verify(ctx, name)
	if engram.CodeOf(err) == engram.Corrupt { // so damaged that there is no telling more
		return append(problems, episode.Problem{What: err.Error()}), nil
	}
	return problems, err
}

func (f folderEpisodes) repair(ctx context.Context, name string) (episode.Info, []episode.Problem, error) {
	return f.Repair(ctx, name)
}

// chosen returns the episodes that the arguments name, all without any.
func chosen(ctx context.Context, k keeper, args []string) ([]string, error) {
	names, err := k.names(ctx)
	if err != nil || len(args) == 0 {
		return names, err
	}
	var list []string
	for _, arg := range args {
		name, err := oneNamed(arg, names)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// problemJSON is a problem as 'episode verify' and 'ltm repair' print it.
type problemJSON struct {
	Episode string `json:"episode"`
	Offset  int64  `json:"offset,string"`
	What    string `json:"what"`
}

// problemTable is a table of problems.
func problemTable(problems []problemJSON) *table {
	out := &table{header: []string{"EPISODE", "OFFSET", "PROBLEM"}, right: []bool{1: true}}
	for _, p := range problems {
		out.add(p.Episode, p.Offset, p.What)
	}
	return out
}

func toProblemsJSON(name string, problems []episode.Problem) []problemJSON {
	var out []problemJSON
	for _, p := range problems {
		out = append(out, problemJSON{name, p.Offset, p.What})
	}
	return out
}

// printProblems prints problems; a table of none is not printed.
func printProblems(cmd *cobra.Command, format string, problems []problemJSON) error {
	if format == "table" && len(problems) == 0 {
		return nil
	}
	return print(cmd.OutOrStdout(), format, problemTable(problems), problems)
}

func newEpisodeVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [EPISODE…]",
		Short: "Check every CRC, count and reference of episodes",
		Long: `Reads sealed episodes, all without an argument, and checks every CRC, count and
reference in them. If something is wrong the exit code is 1; 'engram ltm repair' saves
what can be saved. With --data the folder needs no server, and must not have one.`,
		Example:           "  engram episode verify\n  engram episode verify 000017\n  engram episode verify --data ~/engram",
		ValidArgsFunction: completeEpisodes,
	}
	addFolderFlag(cmd)
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		return withKeeper(cmd, func(k keeper) error { return verify(cmd, k, format, args) })
	})
	return cmd
}

func verify(cmd *cobra.Command, k keeper, format string, args []string) error {
	names, err := chosen(cmd.Context(), k, args)
	if err != nil {
		return err
	}
	var problems []problemJSON
	bad, checked := 0, 0
	bar := newProgress(cmd, "verify", true)
	for i, name := range names {
		bar.set(int64(i), int64(len(names)))
		found, err := k.verify(cmd.Context(), name)
		if err != nil {
			now, gone := k.names(cmd.Context())
			if gone != nil || cmd.Context().Err() != nil {
				bar.finish()
				return err
			}
			if !slices.Contains(now, name) {
				continue // it was dropped, or taken together with others
			}
			found = append(found, episode.Problem{What: oneLine(err.Error())}) // its file may be missing; the others are checked all the same
		}
		checked++
		if len(found) > 0 {
			bad++
		}
		problems = append(problems, toProblemsJSON(name, found)...)
	}
	bar.finish()
	if err := printProblems(cmd, format, problems); err != nil {
		return err
	}
	if bad > 0 {
		return engram.Errorf(engram.Corrupt, "", "%s in %d of %s; 'engram ltm repair' saves what can be saved",
			countOf(uint64(len(problems)), "problem"), bad, countOf(uint64(checked), "episode"))
	}
	cmd.PrintErrf("%s, nothing is wrong\n", countOf(uint64(checked), "episode"))
	return nil
}
