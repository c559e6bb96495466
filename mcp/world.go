package mcp

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/world"
)

type worldIn struct {
	Item   string `json:"item,omitempty" jsonschema:"tell all that is known of this item"`
	In     string `json:"in,omitempty" jsonschema:"only what is in this place or on this item, at any depth"`
	Kind   string `json:"kind,omitempty" jsonschema:"only items of this kind: map (a place), object, component, robot or another"`
	Match  string `json:"match,omitempty" jsonschema:"only items whose name, label, class or spoken names have this text"`
	At     string `json:"at,omitempty" jsonschema:"the world at this time; default now"`
	AsOf   string `json:"as_of,omitempty" jsonschema:"the world as it was known at this time"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many items at most, up to 200; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type worldOut struct {
	Items []item `json:"items"`
	Count int    `json:"count" jsonschema:"how many items fit, whether they are in this answer or not"`
	Next  string `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type item struct {
	Name        string         `json:"name"`
	Kinds       []string       `json:"kinds,omitempty" jsonschema:"map (a place), object, component, robot …"`
	Label       string         `json:"label,omitempty"`
	Called      []string       `json:"called,omitempty" jsonschema:"how people call it"`
	Class       string         `json:"class,omitempty"`
	Path        []string       `json:"path" jsonschema:"what it is in or on, from the outermost to itself"`
	Says        string         `json:"says" jsonschema:"where it is, when it was seen last, and how sure that is"`
	Present     bool           `json:"present" jsonschema:"a plan may count on it being there"`
	Belief      float64        `json:"belief" jsonschema:"probability that it still is there"`
	Pose        *placed        `json:"pose,omitempty" jsonschema:"where it is, in the outermost item that this is known for"`
	Size        []float64      `json:"size,omitempty" jsonschema:"of its box: x, y, z, m"`
	States      []string       `json:"states,omitempty" jsonschema:"such as open = true"`
	Provisional string         `json:"provisional,omitempty" jsonschema:"why it is not sure that it exists"`
	Notes       []string       `json:"notes,omitempty"`
	SeenIn      string         `json:"seen_in,omitempty" jsonschema:"the image it was seen in; get shows it"`
	Properties  map[string]any `json:"properties,omitempty"`
	Statements  []string       `json:"statements,omitempty" jsonschema:"who says what of it"`
}

// placed is a pose as agents get it.
type placed struct {
	Frame       string     `json:"frame" jsonschema:"in whose axes the numbers are"`
	Translation vector     `json:"translation" jsonschema:"m"`
	Rotation    quaternion `json:"rotation" jsonschema:"unit quaternion"`
	YawDegrees  float64    `json:"yaw_degrees" jsonschema:"rotation about z"`
	Uncertainty string     `json:"uncertainty,omitempty" jsonschema:"standard deviations"`
}

type vector struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	Z float64 `json:"z"`
}

type quaternion struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	Z float64 `json:"z"`
	W float64 `json:"w"`
}

// rounded keeps six decimals: a thousandth of a millimetre.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func placedOf(frame string, p pose.Pose, c *pose.Cov) *placed {
	_, _, yaw := p.R.EulerZYX()
	out := &placed{
		Frame: frame, YawDegrees: rounded(yaw * 180 / math.Pi),
		Translation: vector{rounded(p.T.X), rounded(p.T.Y), rounded(p.T.Z)},
		Rotation:    quaternion{rounded(p.R.X), rounded(p.R.Y), rounded(p.R.Z), rounded(p.R.W)},
	}
	if c != nil && c.Mask != 0 {
		out.Uncertainty = c.String()
	}
	return out
}

// view is a world at a time.
type view struct {
	*world.Forest
	at    engram.Time
	looks []world.Look
	notes map[string][]string
}

func (s *Server) world(ctx context.Context, in worldIn) (out worldOut, _ extra, err error) {
	limit, place, err := pageOf(in.Limit, someItems, in.Cursor, 1)
	if err != nil {
		return out, nil, err
	}
	v, err := s.viewAt(ctx, in.At, in.AsOf)
	if err != nil {
		return out, nil, err
	}
	if in.Item != "" {
		m, err := v.must(in.Item)
		if err != nil {
			return out, nil, err
		}
		return worldOut{Items: []item{v.whole(m)}, Count: 1}, nil, nil
	}
	within := map[string]bool{}
	if in.In != "" {
		m, err := v.must(in.In)
		if err != nil {
			return out, nil, err
		}
		for below := range v.Subtree(m.Name) {
			within[below.Name] = below.Name != m.Name
		}
	}
	names := []string{}
	for m := range v.All() {
		if in.In != "" && !within[m.Name] || in.Kind != "" && !hasKind(m, in.Kind) || in.Match != "" && !called(m, in.Match) {
			continue
		}
		names = append(names, m.Name)
	}
	slices.Sort(names)
	out.Items, out.Count = []item{}, len(names)
	room := answerBytes
	for _, name := range names {
		if place != nil && name <= place[0] {
			continue
		}
		m, err := v.Get(name)
		if err != nil {
			return out, nil, err
		}
		o := v.short(m)
		if room -= len(o.Says) + 20*len(o.Path) + 500; len(out.Items) == limit || room < 0 && len(out.Items) > 0 {
			out.Next = cursorOf(out.Items[len(out.Items)-1].Name)
			break
		}
		out.Items = append(out.Items, o)
	}
	return out, nil, nil
}

// viewAt returns the world at a time, as it was known at another.
func (s *Server) viewAt(ctx context.Context, at, asOf string) (*view, error) {
	v := &view{at: engram.Now(), notes: map[string][]string{}}
	then, known, err := times(at, asOf)
	if err != nil {
		return nil, err
	}
	w, err := s.aroundRobot(ctx)
	if err != nil {
		return nil, err
	}
	if then != nil {
		v.at = *then
	}
	if then != nil || known != nil {
		v.Forest, err = w.Past(ctx, v.at, known)
	} else {
		v.Forest, err = w.View(ctx)
	}
	if err != nil {
		return nil, err
	}
	if v.looks, err = w.Looks(ctx, engram.Interval{Start: engram.MinTime, End: v.at.Add(1)}, known); err != nil {
		return nil, err
	}
	for n := range v.Notes() {
		v.notes[n.Name] = append(v.notes[n.Name], n.Text)
	}
	return v, nil
}

// must returns the item of a name, or that is called so.
func (v *view) must(name string) (*world.Merged, error) {
	if m, err := v.Get(name); err == nil {
		return m, nil
	}
	var found []string
	byWord := map[string]string{}
	for m := range v.All() {
		for _, word := range wordsOf(m) {
			if byWord[word] = m.Name; strings.EqualFold(word, name) && !slices.Contains(found, m.Name) {
				found = append(found, m.Name)
			}
		}
	}
	switch {
	case len(found) == 1:
		return v.Get(found[0])
	case len(found) > 1:
		slices.Sort(found)
		return nil, engram.Errorf(engram.Conflict, name, "several items are called so: %s; name one of them", strings.Join(found[:min(len(found), 20)], ", "))
	}
	if s, ok := v.Removed(name); ok {
		return nil, engram.Errorf(engram.NotFound, name, "it was removed by %s; at shows the time before", s.Who())
	}
	if near := byWord[spelling.Nearest(name, slices.Sorted(maps.Keys(byWord)))]; near != "" {
		return nil, engram.Errorf(engram.NotFound, name, "there is no such item; did you mean %s?", near)
	}
	return nil, engram.Errorf(engram.NotFound, name, "there is no such item; world without item lists the %d that there are", v.Len())
}

// wordsOf returns what an item is called.
func wordsOf(m *world.Merged) []string {
	words := []string{m.Name}
	if label := m.Label(); label != "" {
		words = append(words, label)
	}
	if m.Description != nil {
		words = append(words, m.Description.SpokenNames...)
		if class := m.Description.ClassName(); class != "" {
			words = append(words, class)
		}
	}
	return words
}

func called(m *world.Merged, text string) bool {
	return slices.ContainsFunc(wordsOf(m), func(word string) bool { return strings.Contains(strings.ToLower(word), strings.ToLower(text)) })
}

func hasKind(m *world.Merged, kind string) bool {
	return m.Description != nil && slices.ContainsFunc(m.Description.Kinds, func(k string) bool { return strings.EqualFold(k, kind) })
}

// short returns what is told of one of several items.
func (v *view) short(m *world.Merged) item {
	a, _ := v.Account(m.Name, v.at, v.looks) // the item is there
	o := item{
		Name: m.Name, Label: m.Label(), Says: a.String(), Present: a.Present(), Belief: math.Round(a.P*1000) / 1000,
		Provisional: a.Provisional, Notes: v.notes[m.Name],
	}
	if o.Label == o.Name {
		o.Label = ""
	}
	path, _ := v.PathToRoot(m.Name)
	for _, above := range path {
		o.Path = append([]string{above.Name}, o.Path...)
	}
	if d := m.Description; d != nil {
		o.Kinds, o.Called, o.Class = d.Kinds, d.SpokenNames, d.ClassName()
		if d.Box != nil {
			o.Size = []float64{rounded(d.Box.Size.X), rounded(d.Box.Size.Y), rounded(d.Box.Size.Z)}
		}
	}
	for _, above := range o.Path[:max(len(o.Path)-1, 0)] {
		if at, err := v.Pose(above, m.Name); err == nil {
			o.Pose = placedOf(above, at.Pose, &at.Cov)
			break
		}
	}
	if o.Pose == nil && m.Placement != nil && m.Placement.Frame != "" {
		o.Pose = placedOf(m.Placement.Frame, m.Placement.Pose, &m.Placement.Cov)
	}
	states, _ := v.States(m.Name)
	for _, st := range states {
		o.States = append(o.States, fmt.Sprintf("%s = %v (%.2f, said by %s at %s)", st.State.Name, st.State.Value, st.ConfidenceAt(v.at), st.Who(), timeText(st.Time)))
	}
	return o
}

// whole returns all that is known of an item.
func (v *view) whole(m *world.Merged) item {
	o := v.short(m)
	if m.SeenIn != nil {
		o.SeenIn = m.SeenIn.String()
	}
	if d := m.Description; d != nil {
		o.Properties = map[string]any{}
		for name, value := range d.Properties {
			o.Properties[name] = fmt.Sprint(value)
		}
	}
	for _, s := range v.Statements(m.Name) {
		var what []string
		for part, there := range map[string]bool{"where it belongs": s.Item.Structure != nil, "its pose": s.Item.Placement != nil, "what it is": s.Item.Description != nil, "that it was removed": s.Item.Removed != nil} {
			if there {
				what = append(what, part)
			}
		}
		slices.Sort(what)
		o.Statements = append(o.Statements, fmt.Sprintf("%s says %s at %s", s.Who(), strings.Join(what, ", "), timeText(s.Time)))
	}
	return o
}

type poseIn struct {
	Target string `json:"target" jsonschema:"frame in whose axes the pose is told, such as map"`
	Source string `json:"source" jsonschema:"frame whose pose is asked for, such as base_link"`
	At     string `json:"at,omitempty" jsonschema:"when; default the latest time for which every edge between them is known"`
	Robot  string `json:"robot,omitempty" jsonschema:"another robot, whose frames are asked for"`
}

type poseOut struct {
	Target string `json:"target"`
	Source string `json:"source"`
	Time   string `json:"time,omitempty" jsonschema:"when it was so; nothing if it is the same at all times"`
	Pose   placed `json:"pose" jsonschema:"of source in target"`
	How    string `json:"how,omitempty" jsonschema:"such as interpolated or held"`
}

func (s *Server) pose(ctx context.Context, in poseIn) (out poseOut, _ extra, err error) {
	q := service.Question{Target: in.Target, Source: in.Source, When: service.LatestCommon, Cov: true}
	at, err := optionalTime(in.At)
	if err != nil {
		return out, nil, err
	}
	if at != nil {
		q.When, q.Time = service.At, *at
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	answers, err := m.Poses(memoryOf(in.Robot, client.PoseMemory)).LookUp(ctx, []service.Question{q})
	if err != nil {
		return out, nil, err
	}
	a := answers[0]
	if a.Err != nil {
		return out, nil, fmt.Errorf("%w. What to do: frames lists the frames, and for what times they are known", a.Err)
	}
	out = poseOut{Target: a.Target, Source: a.Source, Pose: *placedOf(a.Target, a.Pose, &a.Cov), How: a.Info.Flags.String()}
	if a.Info.SourceTime != engram.MaxTime {
		out.Time = timeText(a.Info.SourceTime)
	}
	return out, nil, nil
}

type framesIn struct {
	Match  string `json:"match,omitempty" jsonschema:"only edges whose frames have this text"`
	Robot  string `json:"robot,omitempty" jsonschema:"another robot, whose frames are asked for"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many edges at most, up to 200; default 100"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type framesOut struct {
	Edges []edge `json:"edges"`
	Next  string `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type edge struct {
	Parent string `json:"parent"`
	Child  string `json:"child"`
	Kind   string `json:"kind" jsonschema:"fixed, joint, anchor or moving"`
	Joint  string `json:"joint,omitempty"`
	First  string `json:"first,omitempty" jsonschema:"time of the oldest sample"`
	Last   string `json:"last,omitempty" jsonschema:"time of the newest sample"`
}

func (s *Server) frames(ctx context.Context, in framesIn) (out framesOut, _ extra, err error) {
	limit, place, err := pageOf(in.Limit, 100, in.Cursor, 2)
	if err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	edges, err := m.Poses(memoryOf(in.Robot, client.PoseMemory)).Tree(ctx, nil)
	if err != nil {
		return out, nil, err
	}
	slices.SortFunc(edges, func(a, b pose.EdgeInfo) int {
		return slices.Compare([]string{a.Parent, a.Child}, []string{b.Parent, b.Child})
	})
	out.Edges = []edge{}
	match := strings.ToLower(in.Match)
	for _, e := range edges {
		here := []string{e.Parent, e.Child}
		if !strings.Contains(strings.ToLower(e.Parent+"\n"+e.Child), match) || place != nil && slices.Compare(here, place) <= 0 {
			continue
		}
		if len(out.Edges) == limit {
			last := out.Edges[limit-1]
			out.Next = cursorOf(last.Parent, last.Child)
			break
		}
		o := edge{Parent: e.Parent, Child: e.Child, Kind: e.Kind.String(), Joint: e.Joint}
		if e.Samples > 0 {
			o.First, o.Last = timeText(e.First), timeText(e.Last)
		}
		out.Edges = append(out.Edges, o)
	}
	return out, nil, nil
}
