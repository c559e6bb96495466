package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

func newWorldPut() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "put ITEM",
		Short: "State an item, or something more of one",
		Long: `States an item, or something more of one that there is: what no flag names stays as it
is. Lengths are metres and angles radians. A parent that does not exist may come
later; the item waits for it. What is typed is an operator's statement, which counts before
what is perceived until 'engram world withdraw'.`,
		Example: `  engram world put kitchen --kind map --place-level room --number 3006
  engram world put table --kind object,furniture --parent kitchen --pose 0,2,0 --size 1.6,0.8,0.75@0,0,0.375
  engram world put cup --kind object --class cup --parent table --pose 0.2,0.1,0.75,0,0,1.57 --sigma 0.01,0.05
  engram world put fridge --kind object,map --state open=false --prop power_w=120`,
		Args:              positional(cobra.ExactArgs(1)),
		ValidArgsFunction: completeItems,
	}
	f := cmd.Flags()
	f.StringSlice("kind", nil, "map (a place), object, component, robot or another; several with commas")
	f.String("parent", "", "the item that it is in, on or part of; '' is none")
	addPoseFlags(cmd)
	f.String("frame", "", "the item in whose frame the pose is, instead of the parent")
	f.String("label", "", "what to call it in a display")
	f.StringArray("spoken-name", nil, "what people call it; may be repeated, the usual name first; --called is the same")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "called" || name == "spoken-names" {
			name = "spoken-name"
		}
		return pflag.NormalizedName(name)
	})
	f.String("class", "", "its class: the name of an entity of Object/Class, or an ID")
	f.String("size", "", "edge lengths of its bounding box x,y,z, about its origin or with @x,y,z about another point")
	f.String("shape", "", "its form: box:x,y,z, cylinder:DIAMETER,HEIGHT, sphere:DIAMETER, mesh:URL, or\npolygon:x,y;x,y;… of a floor plan")
	f.String("place-level", "", "of a place: country, city, street, building, floor, room, site, area or another")
	f.String("number", "", "of a place: its number")
	f.StringArray("tag", nil, "the ID of a tag that it is recognised by; may be repeated")
	f.String("maintainer", "", "who looks after it")
	f.StringArray("prop", nil, "a property NAME=VALUE, where VALUE is JSON or text; NAME= takes it back; may be repeated")
	f.StringArray("state", nil, "a state NAME=VALUE, such as open=true; NAME= takes it back; may be repeated")
	f.Float64("confidence", 1, "how sure states are, from 0 to 1")
	f.Duration("half-life", 0, "after which states are half as sure; 0 is never")
	f.String("source", "operator", "where it comes from: operator, prior or perception")
	_ = cmd.RegisterFlagCompletionFunc("parent", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("frame", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("source", cobra.FixedCompletions([]string{"operator", "prior", "perception"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{world.KindMap, world.KindObject, world.KindComponent, world.KindRobot}, cobra.ShellCompDirectiveNoFileComp))
	printing(cmd, putItem)
	return cmd
}

func putItem(cmd *cobra.Command, args []string, format string) error {
	s, err := readStatement(cmd, args[0])
	if err != nil {
		return err
	}
	return writeWorld(cmd, world.Operator, func(w *worldWriter) error {
		ctx := cmd.Context()
		c, err := w.codec()
		if err != nil {
			return err
		}
		names := []string{s.name}
		if s.parent != nil && *s.parent != "" {
			names = append(names, *s.parent)
		}
		known, err := w.known(c, names...)
		if err != nil {
			return err
		}
		if err := s.complete(ctx, w, &known[0]); err != nil {
			return err
		}
		said, old := world.NamedItem{Name: s.name, Item: s.item}, known[0].item
		if world.PlacesOther(said, w.by.Name, w.client.Robot()) && (s.item.Is(world.KindRobot) || known[0].robot) {
			return engram.Errorf(engram.Conflict, s.name, "where a robot is counts from itself only; --provider %s says it in its name, and --kind robot alone states the robot", s.name)
		}
		all := []world.Stated{{Name: s.name, What: s.item}}
		for _, state := range s.states {
			all = append(all, world.Stated{What: state, Confidence: s.confidence})
		}
		failed, mark, err := w.state(c, all...)
		if err = cmp.Or(err, cmp.Or(failed...)); err != nil {
			if mark != (world.Mark{}) {
				s.tellStated(cmd, failed)
			}
			return err
		}
		if parent := known[len(known)-1]; len(known) > 1 && parent.item == nil {
			cmd.PrintErrf("engram: %s; %s waits for it\n", visible(parent.missing), visible(s.name))
		}
		if old != nil && world.Unlike(old.Description, s.item.Description) {
			cmd.PrintErrf("engram: %s was of the kind %s, and is %s now; if these are two things, give one another name\n",
				visible(s.name), visible(strings.Join(old.Description.Kinds, ", ")), visible(strings.Join(s.item.Description.Kinds, ", ")))
		}
		if cmd.Flags().Changed("shape") {
			for _, note := range missingMeshes(ctx, []files.Item{{NamedItem: said, At: "--shape"}}) {
				cmd.PrintErrln("engram:", visible(note))
			}
		}
		return printMark(cmd, format, s.name, mark)
	})
}

// tellStated names what was stated, the item and then its states, where the server refused the rest.
func (s *stated) tellStated(cmd *cobra.Command, failed []error) {
	for i, err := range failed {
		switch {
		case err != nil:
		case i == 0:
			cmd.PrintErrln("stated: item", visible(s.name))
		default:
			cmd.PrintErrln("stated: state", visible(s.name+"/"+s.states[i-1].Name))
		}
	}
}

type writtenJSON struct {
	Item string `json:"item"`
	Mark string `json:"mark"`
}

// printMark prints what a write has returned.
func printMark(cmd *cobra.Command, format, item string, mark world.Mark) error {
	if format == "table" {
		cmd.Printf("mark %v\n", mark)
		return nil
	}
	t := &table{header: []string{"ITEM", "MARK"}}
	t.add(item, mark)
	return print(cmd.OutOrStdout(), format, t, []writtenJSON{{item, mark.String()}})
}

// stated is what put has been told to state.
type stated struct {
	name       string
	item       world.Item
	change     func(*world.Description) // nil if nothing of it is said
	class      string
	place      bool // what a place is in an address is said
	parent     *string
	states     []world.State
	confidence float64
}

// complete fills in what depends on the world as it is. What no flag names stays as the provider itself has
// stated it; what others say is not said again.
func (s *stated) complete(ctx context.Context, w *worldWriter, is *known) error {
	old, own, parent := is.item, is.own, ""
	if old != nil && old.Structure != nil {
		parent = old.Structure.Parent
	}
	switch p := s.item.Placement; {
	case s.parent != nil:
		s.item.Structure = &world.Structure{Parent: *s.parent}
		if p != nil || *s.parent == s.name { // itself is for [world.Item.Check]
			break
		}
		if err := s.keepPlace(old, own, parent); err != nil {
			return err
		}
	case old == nil:
		s.item.Structure = &world.Structure{}
	case p != nil && p.Frame == "":
		p.Frame = parent // whoever says so
	}
	if s.class != "" {
		class, err := classID(ctx, w.client, s.class, w.by.Name)
		if err != nil {
			return err
		}
		s.change = also(s.change, func(d *world.Description) { d.Class = &class })
	}
	if s.change == nil && old == nil {
		s.change = func(*world.Description) {}
	}
	if s.change != nil {
		d := world.Description{}
		if own.Description != nil {
			d = *own.Description
		}
		d.Time = 0
		s.change(&d)
		if s.place && !slices.Contains(d.Kinds, world.KindMap) && (old == nil || len(d.Kinds) > 0 || !old.Is(world.KindMap)) {
			if len(d.Kinds) == 0 && old != nil && old.Description != nil {
				d.Kinds = old.Description.Kinds
			}
			d.Kinds = append(slices.Clone(d.Kinds), world.KindMap) // what has such is a place
		}
		s.item.Description = &d
	}
	return nil
}

// keepPlace has an item stay where it is that is given a parent and no pose; an error if that cannot be.
func (s *stated) keepPlace(old *world.Item, own world.Item, parent string) error {
	keep := func(p world.Placement, in string) {
		if p.Frame == "" && in != *s.parent {
			p.Frame, s.item.Placement = in, &p
		}
	}
	posed := old != nil && old.Placement != nil
	switch {
	case !posed:
	case *s.parent == parent: // what others say already, the provider's own pose may be in another one
		if own.Placement != nil && own.Structure != nil {
			keep(*own.Placement, own.Structure.Parent)
		}
	case *s.parent != "":
		return engram.Errorf(engram.Conflict, s.name,
			"it has a place already; 'engram world mv' gives it another parent where it is, --pose says where it is in %q", *s.parent)
	default: // it stays where it is, by itself
		keep(*old.Placement, parent)
	}
	return nil
}

// also returns a function that does both.
func also(first, then func(*world.Description)) func(*world.Description) {
	return func(d *world.Description) {
		if first != nil {
			first(d)
		}
		then(d)
	}
}

// classID returns the class of a name: the one that there is, or of the provider.
func classID(ctx context.Context, m *client.Client, text, provider string) (engram.ID, error) {
	if strings.Contains(text, "/") {
		id, err := parseOneID(text)
		if err == nil && id.Level() != engram.LevelEntity {
			err = usagef("--class %s: it is a %s; a class is an entity of Object/Class", text, id.Level())
		}
		return id, err
	}
	id, err := engram.NewID("Object", "Class", provider, text)
	if err != nil {
		return id, usagef("--class: %w", err)
	}
	found, err := m.Stats(ctx, engram.MustPattern("Object/Class/*"), engram.LevelEntity)
	if err != nil && engram.CodeOf(err) != engram.NotFound {
		return id, err
	}
	for _, s := range found {
		if s.ID.Entity() == text {
			return s.ID, nil
		}
	}
	return id, nil
}

// readStatement reads what the flags say.
func readStatement(cmd *cobra.Command, name string) (*stated, error) {
	f := cmd.Flags()
	text := func(flag string) string { t, _ := f.GetString(flag); return t }
	s := &stated{name: name, class: text("class")}
	if err := engram.CheckName(name); err != nil {
		return nil, &usageError{err}
	}
	var err error
	if s.item.Source, err = parseSource(text("source")); err != nil {
		return nil, err
	}
	if f.Changed("parent") {
		parent := text("parent")
		s.parent = &parent
	}
	if s.item.Placement, err = readPlacement(cmd); err != nil {
		return nil, err
	}
	if err := s.readDescription(cmd); err != nil {
		return nil, err
	}
	return s, s.readStates(cmd)
}

func parseSource(text string) (world.Source, error) {
	switch text {
	case "operator":
		return world.Operator, nil
	case "prior":
		return world.PriorKnowledge, nil
	case "perception":
		return world.Perception, nil
	}
	return 0, usagef("--source %s: operator, prior or perception", text)
}

// addPoseFlags gives a command the flags that say where an item is.
func addPoseFlags(cmd *cobra.Command) {
	cmd.Flags().String("pose", "", "x,y,z in the parent, with roll,pitch,yaw or the quaternion qx,qy,qz,qw if it is turned")
	cmd.Flags().String("sigma", "", "how sure the pose is: standard deviations of position and rotation,\nsuch as 0.01,0.05, or unknown; 0 is exact (default: exact, of perception unknown)")
}

// readPlacement returns what --pose, --frame and --sigma say; nil without a pose.
func readPlacement(cmd *cobra.Command) (*world.Placement, error) {
	f := cmd.Flags()
	frame, _ := f.GetString("frame")
	sigma, _ := f.GetString("sigma")
	if !f.Changed("pose") {
		for _, flag := range []string{"frame", "sigma"} {
			if f.Changed(flag) {
				return nil, usagef("--%s is of a pose; say --pose, too", flag)
			}
		}
		return nil, nil
	}
	text, _ := f.GetString("pose")
	p, err := parsePose("--pose", text)
	if err != nil {
		return nil, err
	}
	if sigma == "" {
		sigma = "0"
		if source, err := f.GetString("source"); err == nil && source == "perception" {
			sigma = "unknown" // nothing that is perceived is exact
		}
	}
	cov, err := parseSigma(sigma)
	return &world.Placement{Frame: frame, Pose: p, Cov: cov}, err
}

// parsePose reads x,y,z, with roll, pitch and yaw or a quaternion.
func parsePose(flag, text string) (p pose.Pose, err error) {
	n, err := parseNumbers(flag, text, "x,y,z, x,y,z,roll,pitch,yaw or x,y,z,qx,qy,qz,qw", 3, 6, 7)
	if err != nil {
		return p, err
	}
	p = pose.Translation(n[0], n[1], n[2])
	switch len(n) {
	case 6:
		p.R = pose.RPY(n[3], n[4], n[5])
	case 7:
		length := math.Sqrt(n[3]*n[3] + n[4]*n[4] + n[5]*n[5] + n[6]*n[6])
		if !(math.Abs(length-1) < 1e-2) {
			return p, usagef("%s %s: the quaternion qx,qy,qz,qw has length %.3g; it must be 1", flag, text, length)
		}
		p.R = pose.Quat{W: n[6] / length, X: n[3] / length, Y: n[4] / length, Z: n[5] / length}
	}
	return p, nil
}

// parseNumbers reads numbers with commas between, as many as one of counts says.
func parseNumbers(flag, text, want string, counts ...int) (numbers []float64, err error) {
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, usagef("%s %s: %q is no finite number; write %s", flag, text, word, want)
		}
		numbers = append(numbers, v)
	}
	for _, n := range counts {
		if len(numbers) == n {
			return numbers, nil
		}
	}
	return nil, usagef("%s %s: it has %s; write %s", flag, text, countOf(uint64(len(numbers)), "number"), want)
}

// parseSigma reads standard deviations of position and rotation.
func parseSigma(text string) (pose.Cov, error) {
	if text == "unknown" {
		return pose.Cov{}, nil
	}
	n, err := parseNumbers("--sigma", text, "metres, or metres,radians, or unknown", 1, 2)
	if err != nil {
		return pose.Cov{}, err
	}
	n = append(n, 0)
	if n[0] < 0 || n[1] < 0 {
		return pose.Cov{}, usagef("--sigma %s: 0 or more", text)
	}
	if n[0] == 0 && n[1] == 0 {
		return pose.ExactCov(), nil
	}
	return pose.DiagonalCov(n[0], n[1]), nil
}

// readDescription has change be what the flags say of what the item is.
func (s *stated) readDescription(cmd *cobra.Command) error {
	f := cmd.Flags()
	text := func(flag string) string { t, _ := f.GetString(flag); return t }
	set := func(flag string, change func(*world.Description)) {
		if f.Changed(flag) {
			s.change = also(s.change, change)
		}
	}
	kinds, _ := f.GetStringSlice("kind")
	for i := range kinds {
		kinds[i] = strings.TrimSpace(kinds[i])
	}
	spoken, _ := f.GetStringArray("spoken-name")
	tags, _ := f.GetStringArray("tag")
	set("kind", func(d *world.Description) { d.Kinds = kinds })
	set("label", func(d *world.Description) { d.Label = text("label") })
	set("spoken-name", func(d *world.Description) { d.SpokenNames = spoken })
	set("maintainer", func(d *world.Description) { d.Maintainer = text("maintainer") })
	set("place-level", func(d *world.Description) { setPlace(d, func(p *world.Place) { p.Level = text("place-level") }) })
	set("number", func(d *world.Description) { setPlace(d, func(p *world.Place) { p.Number = text("number") }) })
	set("tag", func(d *world.Description) { d.Detection = withTags(d.Detection, tags) })
	s.place = f.Changed("place-level") || f.Changed("number")
	if f.Changed("size") {
		box, err := parseSize(text("size"))
		if err != nil {
			return err
		}
		set("size", func(d *world.Description) { d.Box = box })
	}
	if f.Changed("shape") {
		shape, err := parseShape(text("shape"))
		if err != nil {
			return err
		}
		set("shape", func(d *world.Description) { d.Shape = shape })
	}
	pairs, err := pairsFlag(cmd, "prop")
	if err != nil {
		return err
	}
	set("prop", func(d *world.Description) {
		d.Properties = maps.Clone(d.Properties)
		for _, p := range pairs {
			if d.Properties == nil {
				d.Properties = map[string]any{}
			}
			if d.Properties[p.name] = p.value; p.value == nil {
				delete(d.Properties, p.name)
			}
		}
	})
	return nil
}

// setPlace changes what a place is in an address.
func setPlace(d *world.Description, change func(*world.Place)) {
	var p world.Place
	if d.Place != nil {
		p = *d.Place
	}
	change(&p)
	d.Place = &p
}

func withTags(d *world.Detection, tags []string) *world.Detection {
	out := world.Detection{Tags: tags}
	if d != nil {
		out.Methods = d.Methods
	}
	return &out
}

// parseSize reads the edge lengths of a box, and where its centre is.
func parseSize(text string) (*world.Box, error) {
	edges, centre, given := strings.Cut(text, "@")
	size, err := parseExtents("--size", edges, "x,y,z", 3)
	if err != nil {
		return nil, err
	}
	box := &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: size[0], Y: size[1], Z: size[2]}}
	if given {
		if box.Pose, err = parsePose("--size …@", centre); err != nil {
			return nil, err
		}
	}
	return box, nil
}

// parseExtents reads lengths.
func parseExtents(flag, text, want string, count int) ([]float64, error) {
	n, err := parseNumbers(flag, text, want, count)
	if err == nil && slices.Min(n) < 0 {
		err = usagef("%s %s: lengths are 0 or more", flag, text)
	}
	return n, err
}

func parseShape(text string) (*world.Shape, error) {
	kind, value, _ := strings.Cut(text, ":")
	flag := "--shape " + kind + ":"
	switch kind {
	case "box":
		n, err := parseExtents(flag, value, "box:x,y,z", 3)
		if err != nil {
			return nil, err
		}
		return &world.Shape{Kind: world.ShapeBox, Size: pose.Vec3{X: n[0], Y: n[1], Z: n[2]}}, nil
	case "cylinder":
		n, err := parseExtents(flag, value, "cylinder:DIAMETER,HEIGHT", 2)
		if err != nil {
			return nil, err
		}
		return &world.Shape{Kind: world.ShapeCylinder, Size: pose.Vec3{X: n[0], Y: n[0], Z: n[1]}}, nil
	case "sphere":
		n, err := parseExtents(flag, value, "sphere:DIAMETER", 1)
		if err != nil {
			return nil, err
		}
		return &world.Shape{Kind: world.ShapeSphere, Size: pose.Vec3{X: n[0], Y: n[0], Z: n[0]}}, nil
	case "mesh":
		if value == "" {
			return nil, usagef("--shape mesh: write mesh:URL")
		}
		return &world.Shape{Kind: world.ShapeMesh, Mesh: value}, nil
	case "polygon":
		s := &world.Shape{Kind: world.ShapePolygon}
		for corner := range strings.SplitSeq(value, ";") {
			n, err := parseNumbers(flag, corner, "polygon:x,y;x,y;…", 2)
			if err != nil {
				return nil, err
			}
			s.Outline = append(s.Outline, pose.Vec3{X: n[0], Y: n[1]})
		}
		if len(s.Outline) < 3 {
			return nil, usagef("--shape %s: a polygon has three corners or more", text)
		}
		return s, nil
	}
	return nil, usagef("--shape %s: write box:x,y,z, cylinder:DIAMETER,HEIGHT, sphere:DIAMETER, mesh:URL or polygon:x,y;x,y;…", text)
}

// readStates reads what the flags say of states.
func (s *stated) readStates(cmd *cobra.Command) error {
	pairs, err := pairsFlag(cmd, "state")
	if err != nil {
		return err
	}
	s.confidence, _ = cmd.Flags().GetFloat64("confidence")
	halfLife, _ := cmd.Flags().GetDuration("half-life")
	if !(s.confidence >= 0 && s.confidence <= 1) {
		return usagef("--confidence %v: from 0 to 1", s.confidence)
	}
	if halfLife < 0 {
		return usagef("--half-life %v: 0 or more", halfLife)
	}
	for _, p := range pairs {
		s.states = append(s.states, world.State{Item: s.name, Name: p.name, Value: p.value, Source: s.item.Source, HalfLife: halfLife})
	}
	return nil
}

// pair is NAME=VALUE; nil is no value.
type pair struct {
	name  string
	value any
}

// exactly reads JSON as a payload of any data has it: an integer keeps all digits.
func exactly(text string) (any, error) {
	t, _ := memories.Type(engram.ValueType)
	b, err := t.FromJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return idf.DecodeValue(b)
}

// pairsFlag reads a flag whose values are NAME=VALUE, where VALUE is JSON or text.
func pairsFlag(cmd *cobra.Command, flag string) (pairs []pair, err error) {
	texts, _ := cmd.Flags().GetStringArray(flag)
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("--%s %s: write NAME=VALUE", flag, text)
		}
		p := pair{name: name}
		if value != "" {
			if p.value, err = exactly(value); err != nil && (json.Valid([]byte(value)) || strings.ContainsAny(value[:1], `{["`)) {
				return nil, usagef("--%s %s: it begins as JSON and cannot be read: %w", flag, text, err)
			} else if err != nil {
				p.value = value
			}
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}
