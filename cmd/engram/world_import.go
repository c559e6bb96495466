package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/files"
	"github.com/seed-301d4374/engram/mind/world/view"
)

func newWorldImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [FILE…]",
		Short: "State the items of files: YAML or JSON, robot descriptions, occupancy grids",
		Long: `States what files say, while the server runs: all of them, or nothing if anything in them
is wrong. A FILE is YAML or JSON, a list of items with name, kinds, parent, pose and more, flat or with
children inside their parents; 'engram world export' writes such files and docs/world.md lists the
members. What a file does not say of an item stays as it is.

--urdf reads a robot description (of a robot or a piece of furniture): links become items
NAME/link, joints articulations NAME/joint, and each value that was not carried over is named.
--map reads an occupancy grid as ROS's map_server has it, the image beside it.`,
		Example: `  engram world import kitchen.yaml
  engram world import --urdf cupboard.urdf --parent kitchen --dry-run
  engram world import --map floor3.yaml --describes floor3`,
		Args: positional(cobra.ArbitraryArgs),
	}
	f := cmd.Flags()
	f.StringArray("urdf", nil, "a robot description; may be repeated")
	f.StringArray("map", nil, "the YAML file of an occupancy grid; may be repeated")
	f.String("name", "", "with one --urdf or --map: its name, instead of that in the file or of the file")
	f.String("parent", "", "with --urdf: the item that it stands in")
	f.Bool("robot", false, "with --urdf: it is a robot and its links are components; else they are objects")
	f.StringSlice("describes", nil, "with --map: the items that it describes, such as a floor or a room")
	f.String("frame", "", "with --map: the item in whose frame it is (default: the first that it describes, else map)")
	f.Float64("quality", 0, "with --map: how good it is, from 0 to 1")
	f.String("source", "prior", "where it comes from: prior, operator (which counts before what is perceived) or perception")
	f.Bool("dry-run", false, "only say what would be stated, and what is wrong")
	_ = cmd.MarkFlagFilename("urdf", "urdf", "xml")
	_ = cmd.MarkFlagFilename("map", "yaml", "yml")
	_ = cmd.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"prior", "operator", "perception"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("parent", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("describes", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("frame", completeItems)
	printing(cmd, importWorld)
	return cmd
}

// importedJSON is how much was imported.
type importedJSON struct {
	Items         int       `json:"items"`
	Articulations int       `json:"articulations"`
	States        int       `json:"states"`
	Maps          int       `json:"maps"`
	Components    int       `json:"components"`
	LeftOut       []leftOut `json:"left_out,omitempty"` // values that were not carried over
	Notes         []string  `json:"notes,omitempty"`
	DryRun        bool      `json:"dry_run,omitempty"`
	Mark          string    `json:"mark,omitempty"`
}

type leftOut struct {
	File  string   `json:"file"`
	What  string   `json:"what"`
	Where []string `json:"where"`
}

func importWorld(cmd *cobra.Command, args []string, format string) error {
	word, _ := cmd.Flags().GetString("source")
	source, err := parseSource(word)
	if err != nil {
		return err
	}
	c, left, err := readWorldFiles(cmd, args)
	if err != nil {
		return err
	}
	c.SetSource(source)
	dry, _ := cmd.Flags().GetBool("dry-run")
	return writeWorld(cmd, source, func(w *worldWriter) error {
		codec, err := w.codec()
		if err != nil {
			return err
		}
		s := answer.Stating{Content: true, DryRun: dry}
		if s.Things, err = view.Things(codec, c); err != nil {
			return refusedWhole(cmd, err, "nothing was stated")
		}
		stated, err := w.State(cmd.Context(), w.by, s)
		if err == nil {
			err = files.RefusedFor(stated.Failed)
		}
		if len(stated.Stated) > 0 {
			err = &files.Partly{Stated: stated.Stated, Err: err}
		}
		if err != nil {
			return refusedContent(cmd, err, dry)
		}
		o := importedJSON{
			Items: len(c.Items), Articulations: len(c.Joints), States: len(c.States), Maps: len(c.Maps), Components: len(c.Components),
			LeftOut: left, Notes: slices.Concat(c.Notes, stated.Notes, missingMeshes(cmd.Context(), c.Items)), DryRun: dry,
		}
		if stated.Mark != (answer.Mark{}) {
			o.Mark = world.Mark(stated.Mark).String()
		}
		if format != "table" {
			t := &table{header: []string{"ITEMS", "ARTICULATIONS", "STATES", "MAPS", "COMPONENTS", "MARK"}}
			t.add(o.Items, o.Articulations, o.States, o.Maps, o.Components, o.Mark)
			return print(cmd.OutOrStdout(), format, t, []importedJSON{o})
		}
		o.tell(cmd)
		return nil
	})
}

// tell says what was imported, and what not.
func (o *importedJSON) tell(cmd *cobra.Command) {
	for _, note := range o.Notes {
		cmd.PrintErrln("note:", visible(note))
	}
	for _, l := range o.LeftOut {
		counted := map[string]bool{}
		var where []string
		for _, w := range l.Where {
			if !counted[w] {
				counted[w] = true
				where = append(where, w)
			}
		}
		more := ""
		if len(where) > 4 {
			more = fmt.Sprintf(" and %d more", len(where)-4)
			where = where[:4]
		}
		cmd.PrintErrf("not carried over: %s, %s: %s%s\n", visible(l.What), countOf(uint64(len(l.Where)), "value"), visible(strings.Join(where, ", ")), more)
	}
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{o.Items, "item"}, {o.Articulations, "articulation"}, {o.States, "state"}, {o.Maps, "map"}, {o.Components, "component"}} {
		if p.n > 0 {
			parts = append(parts, countOf(uint64(p.n), p.noun))
		}
	}
	what := "nothing"
	if len(parts) > 0 {
		what = listed(parts, "and")
	}
	if o.DryRun {
		cmd.Printf("%s would be stated; nothing was, for --dry-run\n", what)
		return
	}
	cmd.Printf("%s stated\n", what)
	if o.Mark != "" {
		cmd.Printf("mark %s\n", o.Mark)
	}
}

// refusedContent tells what of a content was not stated, and what was, by name.
func refusedContent(cmd *cobra.Command, err error, dry bool) error {
	partly, is := errors.AsType[*files.Partly](err)
	switch code := engram.CodeOf(err); {
	case is:
		for _, what := range partly.Stated {
			cmd.PrintErrln("stated:", visible(what))
		}
		return refusedWhole(cmd, partly.Err, fmt.Sprintf("the %s that are named above were stated all the same", countOf(uint64(len(partly.Stated)), "statement")))
	case !dry && (code == engram.Unavailable || code == engram.Canceled):
		return refusedWhole(cmd, err, "whether it was stated is not known; import it again, which changes nothing that was")
	}
	return refusedWhole(cmd, err, "nothing was stated")
}

// refusedWhole tells errors in files, a line each, and what follows from them.
func refusedWhole(cmd *cobra.Command, err error, so string) error {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) == 1 {
		return engram.Errorf(engram.CodeOf(err), "", "%w; %s", err, so)
	}
	for _, line := range lines {
		cmd.PrintErrln("engram:", visible(line))
	}
	return engram.Errorf(engram.CodeOf(err), "", "%s, for these %d errors", so, len(lines))
}

// readWorldFiles reads all files of the command. Where several are wrong, all of these are told.
func readWorldFiles(cmd *cobra.Command, args []string) (*files.Content, []leftOut, error) {
	f := cmd.Flags()
	urdfs, _ := f.GetStringArray("urdf")
	grids, _ := f.GetStringArray("map")
	name, _ := f.GetString("name")
	if len(args)+len(urdfs)+len(grids) == 0 {
		return nil, nil, usagef("no file: name one of items, or one with --urdf or --map")
	}
	if name != "" && len(urdfs)+len(grids) != 1 {
		return nil, nil, usagef("--name is that of one --urdf or --map, and %d are given", len(urdfs)+len(grids))
	}
	c := &files.Content{}
	var left []leftOut
	var wrong []error
	add := func(more *files.Content, err error) {
		if err != nil {
			wrong = append(wrong, err)
			return
		}
		c.Add(more)
	}
	for _, file := range args {
		text, err := os.ReadFile(file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		more, err := files.Read(text, file)
		if err != nil {
			switch {
			case strings.HasSuffix(file, ".urdf"), strings.Contains(string(text[:min(len(text), 1000)]), "<robot"):
				err = usagef("%s is a robot description: --urdf %s", file, file)
			case strings.Contains("\n"+string(text), "\nresolution:") && strings.Contains("\n"+string(text), "\nimage:"): // a map in a list is indented
				err = usagef("%s is an occupancy grid: --map %s", file, file)
			}
		}
		add(more, err)
	}
	for _, file := range urdfs {
		text, err := os.ReadFile(file)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		d := files.Description{Name: name}
		d.Parent, _ = f.GetString("parent")
		d.Robot, _ = f.GetBool("robot")
		more, without, err := files.ReadURDF(text, file, d)
		for _, l := range without {
			left = append(left, leftOut{file, l.What, l.Where})
		}
		add(more, err)
	}
	for _, file := range grids {
		add(readGrid(cmd, file, name))
	}
	if len(wrong) > 0 {
		return nil, nil, refusedFiles(cmd, wrong)
	}
	return c, left, nil
}

// refusedFiles says of errors of several files that nothing was stated; one that says how the
// command is used stands alone.
func refusedFiles(cmd *cobra.Command, wrong []error) error {
	for _, err := range wrong {
		if usage, ok := errors.AsType[*usageError](err); ok {
			return usage
		}
	}
	return refusedWhole(cmd, errors.Join(wrong...), "nothing was stated")
}

// readGridFile reads an occupancy grid with its image.
func readGridFile(file string) (*files.Grid, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return files.ReadGrid(text, file, func(path string) ([]byte, error) {
		image, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer image.Close()
		return files.ReadImage(image, path)
	})
}

// readGrid reads an occupancy grid as a map.
func readGrid(cmd *cobra.Command, file, name string) (*files.Content, error) {
	f := cmd.Flags()
	g, err := readGridFile(file)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = files.MapName(file)
	}
	describes, _ := f.GetStringSlice("describes")
	frame, _ := f.GetString("frame")
	switch {
	case frame != "":
	case len(describes) > 0:
		frame = describes[0]
	default:
		frame = "map"
	}
	m := files.Map{Name: name, Map: g.Map(describes, frame), Data: g.Data, At: file}
	m.Author = worldProvider(cmd)
	m.Quality, _ = f.GetFloat64("quality")
	if info, err := os.Stat(file); err == nil {
		m.Created = engram.Time(info.ModTime().UnixNano())
	}
	free, occupied, unknown := g.Count()
	c := &files.Content{Maps: []files.Map{m}, Notes: g.Notes}
	c.Notes = append(c.Notes, fmt.Sprintf("%s: %d x %d cells of %g m: %s free, %s occupied, %s unknown",
		file, g.Width, g.Height, g.Resolution, words.Count(free), words.Count(occupied), words.Count(unknown)))
	if len(describes) == 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s: the map %s describes no item, so no query for a place finds it; name one with --describes", file, name))
	}
	return c, nil
}

// meshTimeout bounds how long the meshes of items are looked for.
const meshTimeout = 3 * time.Second

// missingMeshes says which meshes are not where the items say.
func missingMeshes(ctx context.Context, items []files.Item) (notes []string) {
	ctx, cancel := context.WithTimeout(ctx, meshTimeout)
	defer cancel()
	type mesh struct{ at, item, path string }
	var packages, remote []mesh
	for i := range items {
		it := &items[i]
		d := it.Description
		if d == nil || d.Shape == nil || d.Shape.Mesh == "" {
			continue
		}
		m := mesh{it.At, it.Name, d.Shape.Mesh}
		u, err := url.Parse(m.path)
		switch {
		case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
			remote = append(remote, m)
		case err == nil && len(u.Scheme) > 1 && u.Scheme != "file":
			packages = append(packages, m)
		default:
			path := m.path
			if err == nil && u.Scheme == "file" {
				path = u.Path
			}
			if file, _, _ := strings.Cut(m.at, ":"); !filepath.IsAbs(path) {
				path = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(path); err != nil {
				notes = append(notes, fmt.Sprintf("%s: the mesh of %s, %s, is not there", m.at, m.item, m.path))
			}
		}
	}
	if len(packages) > 0 {
		notes = append(notes, fmt.Sprintf("%s by a URL that only ROS resolves, such as %s, and not looked for", meshesNamed(len(packages)), packages[0].path))
	}
	found := make([]string, len(remote))
	var wait sync.WaitGroup
	few := make(chan struct{}, 8)
	for i, m := range remote {
		wait.Go(func() {
			few <- struct{}{}
			defer func() { <-few }()
			if why := unreachable(ctx, m.path); why != "" {
				found[i] = fmt.Sprintf("%s: the mesh of %s, %s, leads nowhere: %s", m.at, m.item, m.path, why)
			}
		})
	}
	wait.Wait()
	return append(notes, slices.DeleteFunc(found, func(s string) bool { return s == "" })...)
}

func meshesNamed(n int) string {
	if n == 1 {
		return "1 mesh is named"
	}
	return words.Count(n) + " meshes are named"
}

// unreachable says why there is nothing at a URL; "" if there is.
func unreachable(ctx context.Context, at string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, at, nil)
	if err != nil {
		return err.Error()
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err
		}
		return err.Error()
	}
	_ = answer.Body.Close() // it has none
	if answer.StatusCode >= 400 {
		return answer.Status
	}
	return ""
}
