package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"slices"
	"strings"
	"testing"

	_ "image/jpeg"
	_ "image/png"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mcp"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
)

const ticks = 700 // of the demo's robot: it sees, hears, drives, and takes the cup

// robot serves a memory in which the demo's robot has lived, and returns its address and a client.
func robot(t *testing.T) (address string, m *client.Client) {
	t.Helper()
	address = serving.Socket(t)
	n, err := node.New(t.Context(), node.Config{Memories: memories.All(), Listen: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, n.Serve)
	m = dial(t, address)
	life, err := sim.New(sim.Config{Start: engram.Now().Add(-sim.Period * ticks), Width: 160, Height: 120})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := life.RunTicks(t.Context(), m, 0, ticks); err != nil {
		t.Fatal(err)
	}
	return address, m
}

func dial(t *testing.T, address string) *client.Client {
	t.Helper()
	m, err := client.Connect(t.Context(), client.Options{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// agent is an agent of a server that connects to an address.
type agent struct {
	t *testing.T
	*sdk.ClientSession
}

func newAgent(t *testing.T, address string, o mcp.Options) agent {
	t.Helper()
	o.Connect = func(ctx context.Context) (*client.Client, error) {
		return client.Connect(ctx, client.Options{Address: address})
	}
	s := mcp.New(o)
	t.Cleanup(func() { s.Close() })
	here, there := sdk.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	return session(t, here)
}

func session(t *testing.T, over sdk.Transport) agent {
	t.Helper()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return agent{t, cs}
}

// call calls a tool, reads its answer, and returns what it holds beside text.
func (a agent) call(name string, args map[string]any, into any) (images, links int) {
	a.t.Helper()
	r, err := a.CallTool(testkit.Context(a.t), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", name, err)
	}
	if r.IsError {
		a.t.Fatalf("%s %v: %s", name, args, textOf(r))
	}
	j, err := json.Marshal(r.StructuredContent)
	if err != nil {
		a.t.Fatal(err)
	}
	const most = 64 << 10
	if len(j) > most {
		a.t.Errorf("%s %v answers with %d bytes", name, args, len(j))
	}
	if err := json.Unmarshal(j, into); err != nil {
		a.t.Fatalf("%s: %v: %s", name, err, j)
	}
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.ImageContent:
			images++
			if _, format, err := image.DecodeConfig(bytes.NewReader(c.Data)); err != nil || c.MIMEType != "image/"+format {
				a.t.Errorf("%s: an image of %s: %s, %v", name, c.MIMEType, format, err)
			}
		case *sdk.ResourceLink:
			links++
			if _, err := a.ReadResource(a.t.Context(), &sdk.ReadResourceParams{URI: c.URI}); err != nil {
				a.t.Errorf("%s: %s: %v", name, c.URI, err)
			}
		}
	}
	return images, links
}

// refused calls a tool that must not do it, and looks for words in why.
func (a agent) refused(name string, args map[string]any, words ...string) {
	a.t.Helper()
	r, err := a.CallTool(testkit.Context(a.t), &sdk.CallToolParams{Name: name, Arguments: args})
	text := fmt.Sprint(err)
	if err == nil {
		if !r.IsError {
			a.t.Errorf("%s %v is not refused", name, args)
			return
		}
		text = textOf(r)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			a.t.Errorf("%s %v: %q does not say %q", name, args, text, w)
		}
	}
}

func textOf(r *sdk.CallToolResult) (text string) {
	for _, c := range r.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	return text
}

type snapshots struct {
	Snapshots []struct {
		ID, URI, Time string
		Instances     []struct {
			Type string
			Data map[string]any
			Cut  string
		}
	}
	Found int
	Next  string
}

const cup = "Object/Instance/Simulation/cup"

type args = map[string]any

func TestReading(t *testing.T) {
	address, _ := robot(t)
	a := newAgent(t, address, mcp.Options{})

	t.Run("tools", func(t *testing.T) {
		r, err := a.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil {
				t.Errorf("%s has no description, or a schema is missing", tool.Name)
			}
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s does not only read", tool.Name)
			}
			// Agents keep to bounds and choices that a schema has.
			arguments, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
			for name, argument := range arguments {
				says := argument.(map[string]any)
				switch name {
				case "limit":
					if says["minimum"] != 1.0 || says["maximum"] != 200.0 {
						t.Errorf("%s: limit is %v", tool.Name, says)
					}
				case "direction", "order", "language":
					if says["enum"] == nil {
						t.Errorf("%s: %s is %v", tool.Name, name, says)
					}
				}
			}
			// Lists that may be null are not understood everywhere.
			j, _ := json.Marshal(tool)
			if bytes.Contains(j, []byte(`"null"`)) {
				t.Errorf("%s: %s", tool.Name, j)
			}
		}
		want := []string{"ask", "describe_type", "frames", "get", "history", "list", "pose", "search", "skill_check", "skill_status", "skills", "trace", "why", "world"}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%q", names)
		}
	})
	t.Run("list", func(t *testing.T) {
		var all []string
		for cursor := ""; ; {
			var out struct {
				Nodes []struct{ ID, URI string }
				Next  string
			}
			a.call("list", args{"limit": 4, "cursor": cursor}, &out)
			for _, n := range out.Nodes {
				all = append(all, n.ID)
			}
			if cursor = out.Next; cursor == "" {
				break
			}
		}
		if !slices.Contains(all, "Object/Instance") || slices.Contains(all, "SystemState") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Errorf("%q", all)
		}
		a.refused("list", args{"id": "Objekt"}, "did you mean Object?")
		a.refused("list", args{"cursor": "nothing"}, "no cursor of this tool")
		a.refused("list", args{"limit": 1000}, "limit", "200")
		a.refused("list", args{"limit": 0}, "limit", "1")
	})
	t.Run("describe_type", func(t *testing.T) {
		var out struct {
			Members []struct{ Name, Type, Doc string }
			Names   []string
		}
		a.call("describe_type", args{"name": "engram.object.Instance"}, &out)
		if !slices.ContainsFunc(out.Members, func(m struct{ Name, Type, Doc string }) bool { return m.Name == "pose" && m.Type == "Pose" }) {
			t.Errorf("%+v", out)
		}
		if a.call("describe_type", args{"match": "SPEECH"}, &out); !slices.Contains(out.Names, "engram.speech.Text") {
			t.Errorf("%q", out.Names)
		}
		a.refused("describe_type", args{"name": "engram.object.Instanc"}, "did you mean engram.object.Instance?")
	})
	t.Run("get", func(t *testing.T) {
		var now, then, pages snapshots
		a.call("get", args{"id": "Object/Instance/*/cup"}, &now)
		if len(now.Snapshots) != 1 || now.Snapshots[0].Instances[0].Data["frame_id"] != "map" {
			t.Fatalf("%+v", now)
		}
		a.call("get", args{"id": cup, "at": "-4s", "fields": []string{"pose.position"}}, &then)
		if len(then.Snapshots) != 1 || then.Snapshots[0].Time >= now.Snapshots[0].Time || then.Snapshots[0].Instances[0].Data["frame_id"] != nil {
			t.Errorf("%+v", then)
		}
		var same snapshots
		for _, id := range []string{now.Snapshots[0].ID, now.Snapshots[0].URI} {
			if a.call("get", args{"id": id}, &same); same.Snapshots[0].Time != now.Snapshots[0].Time {
				t.Errorf("%s: %+v", id, same)
			}
		}
		var found []string
		for cursor := ""; ; cursor = pages.Next {
			pages = snapshots{}
			a.call("get", args{"id": "Object/Instance", "limit": 2, "cursor": cursor}, &pages)
			for _, s := range pages.Snapshots {
				found = append(found, s.ID)
			}
			if pages.Next == "" {
				break
			}
		}
		if len(found) != 5 {
			t.Errorf("%q", found)
		}
		a.refused("get", args{"id": "Object/Instance/*/cupp"}, "did you mean cup?")
		a.refused("get", args{"id": cup, "at": "yesterday"}, "this is no time")
		a.refused("get", args{"id": cup, "where": "foo >"}, "1:6")
		a.refused("get", args{"id": cup, "at": "1999-01-01T00:00:00Z"}, "there are some from")
		a.refused("get", args{}, "id")
	})
	t.Run("images", func(t *testing.T) {
		var out snapshots
		if images, _ := a.call("get", args{"id": "Vision/ImageRGB"}, &out); images != 2 {
			t.Errorf("%d images", images)
		}
		if images, links := a.call("history", args{"id": "Vision/ImageRGB", "limit": 5}, &out); images != 4 || links != 6 {
			t.Errorf("%d images, %d links", images, links)
		}
	})
	t.Run("history", func(t *testing.T) {
		var newest, oldest snapshots
		a.call("history", args{"id": cup, "limit": 3}, &newest)
		a.call("history", args{"id": cup, "limit": 3, "order": "oldest"}, &oldest)
		if len(newest.Snapshots) != 3 || len(oldest.Snapshots) != 3 || newest.Snapshots[0].Time <= newest.Snapshots[1].Time ||
			oldest.Snapshots[0].Time >= oldest.Snapshots[1].Time || oldest.Snapshots[2].Time >= newest.Snapshots[2].Time {
			t.Errorf("%+v\n%+v", newest, oldest)
		}
		var all []string
		for cursor := ""; ; {
			var out snapshots
			a.call("history", args{"id": "Skill/Transition", "where": "to_status == 'Succeeded'", "limit": 1, "cursor": cursor}, &out)
			for _, s := range out.Snapshots {
				if all = append(all, s.Time+s.ID); s.Instances[0].Data["to_status"] != "Succeeded" {
					t.Errorf("%+v", s)
				}
			}
			if cursor = out.Next; cursor == "" {
				break
			}
		}
		if len(all) < 2 || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%q", all)
		}
		a.refused("history", args{"id": cup, "from": "now", "to": "-5s"}, "from is not before to")
		a.refused("history", args{"id": cup, "order": "best"}, "newest oldest")
	})
	t.Run("search", func(t *testing.T) {
		var out struct {
			Found []struct{ ID, Text string }
			Notes []string
		}
		a.call("search", args{"text": "CUP bring", "id": "Speech"}, &out)
		if len(out.Found) == 0 || !strings.Contains(out.Found[0].ID, "Speech/") {
			t.Errorf("%+v", out)
		}
		if a.call("search", args{"text": "xyzzy"}, &out); len(out.Found) > 0 || !strings.Contains(strings.Join(out.Notes, " "), "Vision/ImageRGB") {
			t.Errorf("%+v", out)
		}
		a.refused("search", args{"text": " "}, "at least one word")
	})
	t.Run("ask", func(t *testing.T) {
		var out struct {
			Rows []struct {
				Values map[string]string
				Why    []string
			}
			Next string
		}
		a.call("ask", args{"question": "?x insidePlace kitchen", "limit": 2}, &out)
		first := fmt.Sprint(out.Rows)
		if len(out.Rows) != 2 || out.Next == "" || !strings.HasPrefix(out.Rows[0].Values["x"], "world:") {
			t.Errorf("%+v", out)
		}
		if a.call("ask", args{"question": "?x insidePlace kitchen", "limit": 2, "cursor": out.Next, "why": true}, &out); fmt.Sprint(out.Rows) == first || len(out.Rows[0].Why) == 0 {
			t.Errorf("%+v", out)
		}
		a.refused("ask", args{"question": "?x onn table"}, "did you mean on?")
		a.refused("ask", args{"question": "?x on table", "language": "sql"}, "pattern class prolog")
	})
	t.Run("trace and why", func(t *testing.T) {
		var out struct {
			Nodes []struct{ ID, URI string }
			Edges []struct{ From, To, Path string }
			More  []string
		}
		a.call("trace", args{"id": cup}, &out)
		if !slices.ContainsFunc(out.Edges, func(e struct{ From, To, Path string }) bool {
			return e.Path == "source_image" && strings.HasPrefix(e.To, "Vision/ImageRGB/")
		}) {
			t.Errorf("%+v", out)
		}
		if a.call("trace", args{"id": "Speech/Command/Simulation/user", "direction": "down", "limit": 2}, &out); len(out.Nodes) != 2 || len(out.More) == 0 {
			t.Errorf("%+v", out)
		}
		var said struct {
			Text  string
			Parts []struct{ IDs []string }
		}
		if a.call("why", args{"id": cup}, &said); !strings.Contains(said.Text, "was seen at") || len(said.Parts[0].IDs) == 0 {
			t.Errorf("%+v", said)
		}
		a.refused("trace", args{"id": "Object/Instance"}, "one entity, snapshot or instance")
		a.refused("why", args{"id": "Object/Instance/Simulation/cupp"}, "did you mean cup?")
	})
	t.Run("world", func(t *testing.T) {
		type items struct {
			Items []struct {
				Name, Says string
				Path       []string
				Statements []string
			}
			Count int
			Next  string
		}
		var all, one, table items
		if a.call("world", args{"limit": 3}, &all); len(all.Items) != 3 || all.Count != 11 || all.Next == "" {
			t.Errorf("%+v", all)
		}
		if a.call("world", args{"item": "Cup"}, &one); len(one.Items) != 1 || one.Items[0].Path[0] != "kitchen" || len(one.Items[0].Statements) == 0 {
			t.Errorf("%+v", one)
		}
		if a.call("world", args{"in": "table", "kind": "object"}, &table); table.Count == 0 || !strings.Contains(table.Items[0].Says, "on the table") {
			t.Errorf("%+v", table)
		}
		a.refused("world", args{"item": "cop"}, "did you mean cup?")
	})
	t.Run("pose and frames", func(t *testing.T) {
		var at struct {
			Source, Time string
			Pose         struct {
				Frame    string
				Rotation struct{ W float64 }
			}
		}
		if a.call("pose", args{"target": "map", "source": "base_link"}, &at); at.Source != "Simulation/base_link" || at.Time == "" || at.Pose.Frame != "map" || at.Pose.Rotation.W == 0 {
			t.Errorf("%+v", at)
		}
		var out struct {
			Edges []struct{ Parent, Child string }
			Next  string
		}
		if a.call("frames", args{"limit": 5}, &out); len(out.Edges) != 5 || out.Next == "" {
			t.Errorf("%+v", out)
		}
		a.refused("pose", args{"target": "map", "source": "nix"}, "no such frame", "frames lists")
	})
	t.Run("skills", func(t *testing.T) {
		var out struct {
			Skills []struct {
				Skill, State string
				MayRun       bool `json:"may_run"`
			}
		}
		if a.call("skills", args{"match": "grasp"}, &out); len(out.Skills) != 1 || out.Skills[0].MayRun || out.Skills[0].State != "no provider" {
			t.Errorf("%+v", out)
		}
		var check struct {
			Ready    bool
			Findings []struct{ Message string }
		}
		if a.call("skill_check", args{"skill": "MoveTo"}, &check); check.Ready || len(check.Findings) == 0 {
			t.Errorf("%+v", check)
		}
		var status struct {
			Executions []struct{ Execution, Status string }
			Next       string
		}
		if a.call("skill_status", args{"limit": 1}, &status); len(status.Executions) != 1 || status.Next == "" {
			t.Errorf("%+v", status)
		}
		a.refused("skill_run", args{"skill": "MoveTo"}, "skill_run")
		a.refused("commit", args{"id": "Speech/Text/a/b", "data": args{"text": "hi"}}, "commit")
	})
	t.Run("resources", func(t *testing.T) {
		templates, err := a.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 6 {
			t.Errorf("%v, %v", templates, err)
		}
		for uri, want := range map[string]string{"engram:///": "Object/Instance", "engram:///Object": "Object/Class", "engram:///Object/Instance/Simulation/cup": "frame_id"} {
			r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || !strings.Contains(r.Contents[0].Text, want) {
				t.Errorf("%s: %v", uri, err)
			}
		}
		r, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "engram:///Vision/ImageRGB/Simulation/head_camera"})
		if err != nil || len(r.Contents) != 3 || r.Contents[1].MIMEType != "image/png" {
			t.Errorf("%v", err)
		}
		if _, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "engram:///Objekt"}); err == nil || !strings.Contains(err.Error(), "did you mean Object?") {
			t.Errorf("%v", err)
		}
	})
}
