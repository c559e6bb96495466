package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/knowledge/swrl"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// addImportWorldFlags adds the flags of what an import states in the world.
func addImportWorldFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Bool("no-world", false, "state no items: files are kept as facts only")
	f.Bool("join", false, "make one item of places with the same address, in files and in the world")
	f.String("frame", "", "the frame of poses that are in no map (default: map)")
}

// worldImported is what of a file became a part of the world.
type worldImported struct {
	Items         int      `json:"items"`
	Articulations int      `json:"articulations"`
	Maps          int      `json:"maps"`
	States        int      `json:"states"`
	Components    int      `json:"components"`
	Poses         int      `json:"poses"` // perceptions, of all times
	Withdrawn     int      `json:"withdrawn"`
	Notes         []string `json:"notes,omitempty"`
}

// importIntoWorld states what a file has of things, places, joints and maps; nil if that is nothing, or if there
// is no memory World.
func importIntoWorld(cmd *cobra.Command, m *client.Client, classes *knowledge.Graph, file *rdfFile, o base.WorldOptions) (*worldImported, error) {
	f := cmd.Flags()
	if no, _ := f.GetBool("no-world"); no {
		return nil, nil
	}
	o.Join, _ = f.GetBool("join")
	o.Frame, _ = f.GetString("frame")
	g := classes.Fork()
	g.AddAll(file.triples)
	sum, err := base.ImportWorld(cmd.Context(), m, g, o)
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if sum.Items+sum.Joints+sum.Maps+sum.Components+sum.Withdrawn == 0 {
		return nil, nil
	}
	w := &worldImported{sum.Items, sum.Joints, sum.Maps, sum.States, sum.Components, sum.Poses, sum.Withdrawn, nil}
	for _, n := range sum.Notes {
		if !strings.HasPrefix(n.Text, n.IRI) {
			n.Text = n.IRI + ": " + n.Text
		}
		w.Notes = append(w.Notes, n.Text)
	}
	return w, nil
}

// tell says it on the error stream.
func (w *worldImported) tell(cmd *cobra.Command, provider string) {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{w.Items, "items"}, {w.Articulations, "articulations"}, {w.Maps, "maps"}, {w.States, "states"}, {w.Components, "components"}, {w.Poses, "poses"}, {w.Withdrawn, "withdrawn"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprint(p.n, " ", p.what))
		}
	}
	cmd.PrintErrf("world: %s: %s\n", visible(provider), strings.Join(parts, ", "))
	const most = 3
	for i, n := range w.Notes {
		if i == most {
			cmd.PrintErrf("note: … and %d more; -o json lists them\n", len(w.Notes)-most)
			break
		}
		cmd.PrintErrf("note: %s\n", visible(n))
	}
}

// classesOf returns what is known of classes and properties, by the memory and by files; nothing if no items are to be
// stated, which alone need it.
func classesOf(cmd *cobra.Command, m *client.Client, c *record.Codec, files []*rdfFile) (*knowledge.Graph, error) {
	g := knowledge.NewGraph()
	if no, _ := cmd.Flags().GetBool("no-world"); no {
		return g, nil
	}
	for _, s := range []record.Kind{record.Class, record.Property} {
		said, _, err := c.Read(cmd.Context(), m, []engram.Pattern{engram.MustPattern(record.Memory + "/" + s.String())}, engram.Now(), nil)
		if err != nil {
			return nil, err
		}
		for i := range said {
			g.AddAll(said[i].Triples)
		}
	}
	for _, file := range files {
		for _, r := range record.Records(file.triples, file.ontology(), record.Document{}) {
			if r.Kind != record.Class && r.Kind != record.Property {
				continue
			}
			g.AddAll(r.Triples)
		}
	}
	return g, nil
}

// refusedRules says which rules of SWRL in a file are not supported.
func refusedRules(file *rdfFile) error {
	g := knowledge.NewGraph()
	g.AddAll(file.triples)
	_, err := swrl.Rules(g)
	return err
}

// exportSemanticMap returns a part of the world as a semantic map.
func exportSemanticMap(cmd *cobra.Command, item string) (rdf.Document, []rdf.Triple, error) {
	doc := rdf.Document{Prefixes: knowledge.NewPrefixes().All()}
	var triples []rdf.Triple
	past, _ := cmd.Flags().GetBool("past")
	at, known, err := worldTimeFlags(cmd)
	if err != nil {
		return doc, nil, err
	}
	err = withWorld(cmd, func(w *world.Memory) error {
		f, err := w.View(cmd.Context())
		if err == nil && (known != nil || cmd.Flags().Changed("at")) {
			f, err = w.Past(cmd.Context(), at, known)
		}
		if err != nil {
			return err
		}
		if item != "" && !f.Has(item) {
			return view.Unknown(f, item)
		}
		o := semmap.WriteOptions{Root: item, Names: semmap.NewNames(w.Robot())}
		o.Names.Learn(f)
		if past {
			o.Past = func(item string) []world.Edge {
				track, trackErr := w.Track(cmd.Context(), f, item, engram.MinTime)
				if err == nil {
					err = trackErr
				}
				return track
			}
		}
		written, writeErr := semmap.Write(f, o)
		triples = written
		return errors.Join(err, writeErr)
	})
	return doc, triples, err
}
