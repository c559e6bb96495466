package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/spelling"
)

// systemMemory is about the server itself; it is listed when it is asked for.
const systemMemory = "SystemState"

type listIn struct {
	ID     string `json:"id,omitempty" jsonschema:"what to list the contents of; all memories if it is left out"`
	Depth  string `json:"depth,omitempty" jsonschema:"how far down: memory, core, provider or entity; default two levels below id"`
	Empty  bool   `json:"empty,omitempty" jsonschema:"list segments that hold nothing, too"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many at most, up to 200; default 50"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type listOut struct {
	Nodes []node   `json:"nodes" jsonschema:"sorted by ID, each above what lies in it"`
	Notes []string `json:"notes,omitempty"`
	Next  string   `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type node struct {
	ID        string `json:"id"`
	URI       string `json:"uri"`
	Level     string `json:"level" jsonschema:"memory, core segment, provider segment or entity"`
	Type      string `json:"type,omitempty" jsonschema:"type of its data; describe_type tells the members"`
	Entities  uint64 `json:"entities,omitempty"`
	Snapshots uint64 `json:"snapshots" jsonschema:"in RAM"`
	Bytes     int64  `json:"bytes" jsonschema:"in RAM"`
	OnDisk    uint64 `json:"on_disk,omitempty" jsonschema:"snapshots on disk"`
	First     string `json:"first,omitempty" jsonschema:"time of the oldest snapshot"`
	Last      string `json:"last,omitempty" jsonschema:"time of the newest snapshot"`
}

var depths = map[string]engram.Level{
	"memory": engram.LevelMemory, "core": engram.LevelCoreSegment,
	"provider": engram.LevelProviderSegment, "entity": engram.LevelEntity,
}

func (s *Server) list(ctx context.Context, in listIn) (out listOut, _ extra, err error) {
	limit, place, err := pageOf(in.Limit, 50, in.Cursor, 1)
	if err != nil {
		return out, nil, err
	}
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	depth := min(engram.Level(len(t.pattern.Levels)+2), engram.LevelEntity)
	if in.Depth != "" {
		var ok bool
		if depth, ok = depths[in.Depth]; !ok {
			return out, nil, engram.Errorf(engram.Invalid, in.Depth, "depth is memory, core, provider or entity")
		}
		depth = max(depth, engram.Level(len(t.pattern.Levels)))
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	nodes, err := m.Stats(ctx, t.pattern, depth)
	if engram.CodeOf(err) == engram.Unavailable && len(nodes) > 0 {
		out.Notes = append(out.Notes, "not all is listed: "+err.Error())
	} else if err != nil {
		return out, nil, err
	}
	if len(nodes) == 0 && in.ID != "" {
		return out, nil, s.absent(ctx, t)
	}
	nodes = slices.DeleteFunc(nodes, func(n engram.Stats) bool {
		return !in.Empty && n.Snapshots == 0 && n.Disk.Snapshots == 0 || in.ID == "" && n.ID.Memory() == systemMemory
	})
	slices.SortFunc(nodes, func(a, b engram.Stats) int { return a.ID.Compare(b.ID) })
	out.Nodes = []node{}
	room := answerBytes
	for _, n := range nodes {
		id := n.ID.String()
		if place != nil {
			after, err := engram.Parse(place[0])
			if err != nil || n.ID.Compare(after) <= 0 {
				continue
			}
		}
		if room -= 250 + 3*len(id); len(out.Nodes) == limit || room < 0 && len(out.Nodes) > 0 {
			out.Next = cursorOf(out.Nodes[len(out.Nodes)-1].ID)
			break
		}
		o := node{ID: id, URI: uriOf(n.ID), Level: n.ID.Level().String(), Type: n.Type, Snapshots: n.Snapshots, Bytes: n.Bytes, OnDisk: n.Disk.Snapshots}
		if n.ID.Level() < engram.LevelEntity {
			o.Entities = n.Entities
		}
		first, last := n.First, n.Last
		if n.Snapshots == 0 {
			first, last = n.Disk.First, n.Disk.Last
		} else if n.Disk.Snapshots > 0 {
			first, last = min(first, n.Disk.First), max(last, n.Disk.Last)
		}
		if n.Snapshots > 0 || n.Disk.Snapshots > 0 {
			o.First, o.Last = timeText(first), timeText(last)
		}
		out.Nodes = append(out.Nodes, o)
	}
	if len(out.Nodes) == 0 && place == nil && len(nodes) == 0 {
		out.Notes = append(out.Notes, "nothing in it holds snapshots; with empty the segments are listed all the same")
	}
	return out, nil, nil
}

// absent says which name of a target is not there, and what was meant.
func (s *Server) absent(ctx context.Context, t target) error {
	m, err := s.reach(ctx)
	if err != nil {
		return err
	}
	for i, l := range t.pattern.Levels {
		above := engram.Pattern{Levels: t.pattern.Levels[:i]}
		nodes, err := m.Stats(ctx, above, engram.Level(i+1))
		if err != nil {
			return err
		}
		matcher, err := l.Matcher()
		if err != nil {
			return err
		}
		var names []string
		found := false
		for _, n := range nodes {
			if n.ID.Level() == engram.Level(i+1) {
				names = append(names, n.ID.Name())
				found = found || matcher.Match(n.ID.Name())
			}
		}
		if found {
			continue
		}
		names = slices.Compact(slices.Sorted(slices.Values(names)))
		level := engram.Level(i + 1).String()
		if exact, ok := matcher.Exact(); ok && len(exact) == 1 {
			if near := spelling.Nearest(exact[0], names); near != "" {
				return engram.Errorf(engram.NotFound, t.text, "there is no %s %s; did you mean %s?", level, exact[0], engram.EscapeName(near))
			}
		}
		if len(names) > 20 {
			names = append(names[:20], "…")
		}
		if len(names) == 0 {
			names = []string{"none"}
		}
		return engram.Errorf(engram.NotFound, t.text, "there is no such %s; there are: %s", level, strings.Join(names, ", "))
	}
	return engram.Errorf(engram.NotFound, t.text, "there is nothing like that; list shows what there is")
}

type typeIn struct {
	Name   string `json:"name,omitempty" jsonschema:"full name of a type, such as engram.object.Instance"`
	Match  string `json:"match,omitempty" jsonschema:"without a name: list the types whose names have this text"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type typeOut struct {
	Name    string   `json:"name,omitempty"`
	Members []member `json:"members,omitempty"`
	Names   []string `json:"names,omitempty" jsonschema:"the types that match"`
	Next    string   `json:"next,omitempty" jsonschema:"cursor of the names that follow; nothing if these are all"`
}

type member struct {
	Name     string `json:"name"`
	Type     string `json:"type" jsonschema:"in words of the data format, or the full name of another type"`
	Optional bool   `json:"optional,omitempty" jsonschema:"it may be unset"`
	Doc      string `json:"doc,omitempty" jsonschema:"comment, with units"`
}

func (s *Server) describeType(ctx context.Context, in typeIn) (out typeOut, _ extra, err error) {
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	if in.Name == "" {
		place, err := placeOf(in.Cursor, 1)
		if err != nil {
			return out, nil, err
		}
		names, err := m.TypeNames(ctx)
		if err != nil {
			return out, nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			if !strings.Contains(strings.ToLower(name), strings.ToLower(in.Match)) || place != nil && name <= place[0] {
				continue
			}
			if len(out.Names) == mostItems {
				out.Next = cursorOf(out.Names[mostItems-1])
				break
			}
			out.Names = append(out.Names, name)
		}
		if len(out.Names) == 0 && place == nil {
			return out, nil, engram.Errorf(engram.NotFound, in.Match, "no type has this in its name; without match all are listed")
		}
		return out, nil, nil
	}
	t, err := s.typ(ctx, in.Name)
	if engram.CodeOf(err) == engram.NotFound {
		names, listErr := m.TypeNames(ctx)
		if near := spelling.Nearest(in.Name, names); listErr == nil && near != "" {
			return out, nil, engram.Errorf(engram.NotFound, in.Name, "there is no such type; did you mean %s?", near)
		}
		return out, nil, engram.Errorf(engram.NotFound, in.Name, "there is no such type; describe_type with match lists those there are")
	}
	if err != nil {
		return out, nil, err
	}
	out.Name = t.Name()
	for _, f := range t.Members() {
		out.Members = append(out.Members, member{f.Name, f.Type, f.Optional, f.Doc})
	}
	return out, nil, nil
}
