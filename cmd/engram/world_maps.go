package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

func newWorldMaps() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "maps [PLACE]",
		Short: "The maps that serve a place and that a robot can use, the best first, and why",
		Long: `Prints maps, the best first, with what speaks for each, then those that do not serve, with
what speaks against them. A map of a floor serves the rooms on it: maps of the place itself come
before those of places above it, these before those of places below it; then count what the
robot has, quality, resolution and age.`,
		Example: `  engram world maps kitchen --sensor laser2d --algorithm amcl
  engram world maps kitchen --sensor laser2d --first --save maps/`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeItems,
	}
	f := cmd.Flags()
	f.StringSlice("sensor", nil, "a sensor that the robot has, such as laser2d; may be repeated")
	f.StringSlice("algorithm", nil, "an algorithm that the robot has, such as amcl; may be repeated")
	f.String("kind", "", "only of this kind: "+strings.Join(world.MapKinds, ", "))
	f.Bool("first", false, "only the best")
	f.String("save", "", "write the data of the maps that serve into this folder, occupancy grids as YAML and image")
	_ = cmd.MarkFlagDirname("save")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(world.MapKinds, cobra.ShellCompDirectiveNoFileComp))
	addWorldReadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return chooseMaps(cmd, args) }
	return cmd
}

type mapJSON struct {
	Name       string         `json:"name"`
	Serves     bool           `json:"serves"`
	Why        []string       `json:"why"`
	Kind       string         `json:"kind"`
	Describes  []string       `json:"describes"`
	Frame      string         `json:"frame,omitempty"`
	Resolution float64        `json:"resolution,omitempty"`
	Format     string         `json:"format,omitempty"`
	URL        string         `json:"url,omitempty"`
	Link       string         `json:"link,omitempty"`
	SHA256     string         `json:"sha256,omitempty"`
	Sensors    []string       `json:"sensors,omitempty"`
	Algorithms []string       `json:"algorithms,omitempty"`
	Author     string         `json:"author,omitempty"`
	Created    *engram.Time   `json:"created,omitempty"`
	Quality    float64        `json:"quality,omitempty"`
	Provider   string         `json:"provider"`
	Time       engram.Time    `json:"time"`
	Properties map[string]any `json:"properties,omitempty"`
}

func mapObject(c *world.MapChoice, serves bool) mapJSON {
	m := c.Map
	o := mapJSON{
		Name: c.Name, Serves: serves, Why: c.Reasons, Kind: m.Kind.String(), Describes: m.Describes, Frame: m.Frame, Resolution: m.Resolution,
		Format: m.Format, URL: m.URL, SHA256: m.SHA256, Sensors: m.Sensors, Algorithms: m.Algorithms, Author: m.Author, Quality: m.Quality,
		Provider: c.Who(), Time: c.Time, Properties: valueObjects(m.Properties),
	}
	if m.Link != (engram.ID{}) {
		o.Link = m.Link.String()
	}
	if m.Created != 0 {
		o.Created = &m.Created
	}
	return o
}

func chooseMaps(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	var q world.MapQuery
	q.Sensors, _ = f.GetStringSlice("sensor")
	q.Algorithms, _ = f.GetStringSlice("algorithm")
	if word, _ := f.GetString("kind"); word != "" {
		i := slices.Index(world.MapKinds, word)
		if i < 0 {
			return usagef("--kind %s: %s", word, listed(world.MapKinds, "or"))
		}
		q.Kind = new(world.MapKind(i))
	}
	first, _ := f.GetBool("first")
	var chosen []world.MapChoice
	err := readWorld(cmd, func(format string, v *worldView) error {
		if len(args) > 0 {
			place, err := v.place(args[0])
			if err != nil {
				return err
			}
			q.Place = place.Name
		}
		serving, left, err := v.Maps().Choose(q)
		if err != nil {
			return err
		}
		if first {
			serving, left = serving[:min(len(serving), 1)], nil
		}
		chosen = serving
		out := &table{header: []string{"MAP", "SERVES", "KIND", "DESCRIBES", "WHY"}}
		var objects []mapJSON
		for i := range serving {
			objects = append(objects, mapObject(&serving[i], true))
		}
		for i := range left {
			objects = append(objects, mapObject(&left[i], false))
		}
		for _, o := range objects {
			serves := "no"
			if o.Serves {
				serves = "yes"
			}
			out.add(o.Name, serves, o.Kind, strings.Join(o.Describes, ", "), strings.Join(o.Why, "; "))
		}
		if len(objects) == 0 {
			cmd.PrintErrln("engram: there are no maps; 'engram world import --map YAML' states one")
		}
		return print(cmd.OutOrStdout(), format, out, objects)
	})
	dir, _ := f.GetString("save")
	if err != nil || dir == "" {
		return err
	}
	return saveMaps(cmd, dir, chosen)
}

// saveMaps writes the data of maps into a folder. Those of which there are none are told, and
// do not stop the others.
func saveMaps(cmd *cobra.Command, dir string, chosen []world.MapChoice) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return openWorld(cmd, world.Operator, func(_ *client.Client, w *world.Memory) error {
		var wrong []error
		for i := range chosen {
			written, err := saveMap(cmd, w, dir, &chosen[i])
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			cmd.PrintErrf("engram: written: %s\n", strings.Join(written, ", "))
		}
		return errors.Join(wrong...)
	})
}

// saveMap writes one map; its name becomes that of a file.
func saveMap(cmd *cobra.Command, w *world.Memory, dir string, c *world.MapChoice) (written []string, err error) {
	data, err := w.MapData(cmd.Context(), c.Name)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == 0 {
			return '_'
		}
		return r
	}, strings.TrimLeft(c.Name, ".")))
	write := func(name string, data []byte) {
		if err == nil {
			err = os.WriteFile(name, data, 0o644)
			written = append(written, name)
		}
	}
	if c.Map.Format != files.GridFormat {
		write(base+"."+strings.Trim(c.Map.Format, "./\\"), data)
		return written, err
	}
	g, err := files.GridOf(c.Name, c.Map, data)
	if err != nil {
		return nil, err
	}
	image := base + g.Extension()
	write(image, g.Data)
	write(base+".yaml", g.YAML(filepath.Base(image)))
	return written, err
}
