package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
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

func mapObject(m *answer.Map) mapJSON {
	o := mapJSON{
		Name: m.Name, Serves: m.Serves, Why: m.Why, Kind: m.Kind, Describes: m.Describes, Frame: m.Frame, Resolution: m.Resolution,
		Format: m.Format, URL: m.URL, Link: m.Link, SHA256: m.SHA256, Sensors: m.Sensors, Algorithms: m.Algorithms, Author: m.Author, Quality: m.Quality,
		Provider: m.SaidBy, Time: m.Time, Properties: propertyObjects(m.Properties),
	}
	if m.Created != 0 {
		o.Created = &m.Created
	}
	return o
}

func chooseMaps(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	var of answer.Maps
	of.Sensors, _ = f.GetStringSlice("sensor")
	of.Algorithms, _ = f.GetStringSlice("algorithm")
	if of.Kind, _ = f.GetString("kind"); of.Kind != "" && !slices.Contains(world.MapKinds, of.Kind) {
		return usagef("--kind %s: %s", of.Kind, listed(world.MapKinds, "or"))
	}
	if len(args) > 0 {
		of.Place = args[0]
	}
	first, _ := f.GetBool("first")
	dir, _ := f.GetString("save")
	return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error {
		maps, err := s.Maps(cmd.Context(), q, of)
		if err != nil {
			return err
		}
		serving := maps
		if i := slices.IndexFunc(maps, func(m answer.Map) bool { return !m.Serves }); i >= 0 {
			serving = maps[:i]
		}
		if first {
			serving = serving[:min(len(serving), 1)]
			maps = serving
		}
		out := &table{header: []string{"MAP", "SERVES", "KIND", "DESCRIBES", "WHY"}}
		var objects []mapJSON
		for i := range maps {
			objects = append(objects, mapObject(&maps[i]))
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
		if err := print(cmd.OutOrStdout(), format, out, objects); err != nil || dir == "" {
			return err
		}
		return saveMaps(cmd, s, q, dir, serving)
	})
}

// saveMaps writes the data of maps into a folder. Those of which there are none are told, and
// do not stop the others.
func saveMaps(cmd *cobra.Command, s answer.Service, q answer.Question, dir string, chosen []answer.Map) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var wrong []error
	for i := range chosen {
		data, err := s.MapData(cmd.Context(), q, chosen[i].Name)
		var written []string
		if err == nil {
			written, err = saveMap(dir, &chosen[i], data)
		}
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		cmd.PrintErrf("engram: written: %s\n", strings.Join(written, ", "))
	}
	return errors.Join(wrong...)
}

// saveMap writes one map; its name becomes that of a file.
func saveMap(dir string, c *answer.Map, data []byte) (written []string, err error) {
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
	if c.Format != files.GridFormat {
		write(base+"."+strings.Trim(c.Format, "./\\"), data)
		return written, err
	}
	m := world.Map{Format: c.Format, Resolution: c.Resolution}
	if m.Properties, err = propertyValues(c.Properties); err != nil {
		return nil, err
	}
	g, err := files.GridOf(c.Name, &m, data)
	if err != nil {
		return nil, err
	}
	image := base + g.Extension()
	write(image, g.Data)
	write(base+".yaml", g.YAML(filepath.Base(image)))
	return written, err
}

// propertyValues returns values as package idf decodes them.
func propertyValues(properties []answer.Property) (map[string]any, error) {
	t, _ := idf.NewRegistry().Get(engram.ValueType)
	values := map[string]any{}
	for _, p := range properties {
		b, err := t.FromJSON(p.Value)
		if err != nil {
			return nil, err
		}
		if values[p.Name], err = idf.DecodeValue(b); err != nil {
			return nil, err
		}
	}
	return values, nil
}
