package memories_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/memories"
)

// folder makes a file system of names and contents in turn.
func folder(files ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		dir[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return dir
}

// latest returns an entity's newest instance and its members.
func latest(t *testing.T, srv *server.Server, id string) (*engram.Snapshot, map[string]any) {
	t.Helper()
	s, err := srv.Latest(t.Context(), engram.MustID(id))
	if err != nil {
		t.Fatal(err)
	}
	p := s.Instances[0].Payload
	v, err := typeOf(t, p.Type).Decode(p.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return s, v.(map[string]any)
}

// TestPriorKnowledgeOfTheGuide loads the files that docs/memories.md shows, as its
// text says it works, and looks at what became of them.
func TestPriorKnowledgeOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/memories.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, m := range regexp.MustCompile("(?ms)^`([^`\n]+)`:\n\n```(?:yaml|json|xml)\n(.*?)^```$").FindAllSubmatch(guide, -1) {
		dir[string(m[1])] = &fstest.MapFile{Data: m[2]}
	}
	if len(dir) < 5 {
		t.Fatalf("the guide shows only %d files", len(dir))
	}
	srv := newServer(t, memories.All(memories.WithPriorKnowledge(dir))...)

	s, m := latest(t, srv, "Object/Class/PriorKnowledge/cup")
	if s.Time != 0 || s.Instances[0].Confidence != 1 || m["name"] != "cup" || m["mass"] != 0.25 {
		t.Errorf("cup: %v at %v", m, s.Time)
	}
	if _, m = latest(t, srv, "Object/Class/PriorKnowledge/KIT\\/bottle"); m["name"] != "KIT/bottle" {
		t.Errorf("bottle: %v", m)
	}
	if _, m = latest(t, srv, "RobotState/Description/PriorKnowledge/rover"); !strings.Contains(m["urdf"].(string), `<robot name="rover">`) {
		t.Errorf("rover: %v", m)
	}
	s, _ = latest(t, srv, "Navigation/Location/PriorKnowledge/meeting_point")
	if s.Time.String() != "2026-03-01 08:00:00.000000" || s.Instances[0].Confidence != 0.9 {
		t.Errorf("meeting point: %v, %v", s.Time, s.Instances[0].Confidence)
	}
	if before, err := srv.AtOrBefore(t.Context(), engram.MustID("Navigation/Location/PriorKnowledge/meeting_point"), s.Time-1); err != nil || before.Time != 0 {
		t.Errorf("meeting point before: %v, %v", before, err)
	}
	for _, place := range []string{"kitchen", "charger"} {
		if s, _ := latest(t, srv, "Navigation/Location/PriorKnowledge/"+place); len(s.Instances) != 1 {
			t.Errorf("%s: %v", place, s)
		}
	}
	if _, m := latest(t, srv, "Skill/Description/Arm/Wave"); m["description"] != "waves with the right hand" {
		t.Errorf("Wave: %v", m)
	}
	if s, _ := latest(t, srv, "Grasp/Affordance/PriorKnowledge/cup"); len(s.Instances) != 2 || s.Instances[1].Confidence != 0.6 {
		t.Errorf("grasps: %v", s)
	}
}

func TestPriorKnowledge(t *testing.T) {
	for _, c := range []struct {
		name  string
		dir   fstest.MapFS
		where string // an entity
		want  string // its newest snapshot: time, then confidence and JSON of each instance
	}{
		{"YAML", folder("Speech/Text/greeting.yml", "text: hello\nduration: 1.5s\n"),
			"Speech/Text/PriorKnowledge/greeting", `1970-01-01 00:00:00.000000 1 {"text":"hello","duration":"1.5s"}`},
		{"JSON", folder("Speech/Text/greeting.json", `{"text": "hello \ud83d\ude00"}`),
			"Speech/Text/PriorKnowledge/greeting", `1970-01-01 00:00:00.000000 1 {"text":"hello 😀"}`},
		{"time and confidence", folder("Speech/Text/a.yaml", "$time: 2026-01-02T03:04:05Z\n$confidence: 0.5\ntext: x\n"),
			"Speech/Text/PriorKnowledge/a", `2026-01-02 03:04:05.000000 0.5 {"text":"x"}`},
		{"instances", folder("Speech/Text/a.yaml", "$confidence: 0.5\n$instances:\n- text: x\n- {text: y, $confidence: 0.25}\n"),
			"Speech/Text/PriorKnowledge/a", `1970-01-01 00:00:00.000000 0.5 {"text":"x"} 0.25 {"text":"y"}`},
		{"snapshots", folder("Speech/Text.yaml", "a:\n  $snapshots:\n  - $time: 2\n    $instances: [{text: x}, {text: y}]\n  - {$time: 1, text: z}\n"),
			"Speech/Text/PriorKnowledge/a", `1970-01-01 00:00:00.000000002 1 {"text":"x"} 1 {"text":"y"}`},
		{"an extended type", folder("Vision/LaserScan/front.yaml", "$type: engram.vision.LaserScan\nrange_max: 10\n"),
			"Vision/LaserScan/PriorKnowledge/front", `1970-01-01 00:00:00.000000 1 {"range_max":10}`},
		{"a file's bytes", folder("Vision/ImageRGB/floor_plan.yaml", "$type: foxglove.CompressedImage\nformat: png\ndata: {$bytes: ../_images/plan.png}\n", "Vision/_images/plan.png", "\x89PNG"),
			"Vision/ImageRGB/PriorKnowledge/floor_plan", `1970-01-01 00:00:00.000000 1 {"data":"iVBORw==","format":"png"}`},
		{"anchors", folder("Speech/Command.yaml", "a: &a {text: x, arguments: {object: cup}}\nb: *a\n"),
			"Speech/Command/PriorKnowledge/b", `1970-01-01 00:00:00.000000 1 {"text":"x","arguments":{"object":"cup"}}`},
		{"numbers", folder("Example/ExampleData/a.yaml", "the_long: 9223372036854775807\nthe_double: -.inf\nthe_int: 0x1F\nthe_float: 1e-3\nthe_string: !!str 12\n"),
			"Example/ExampleData/PriorKnowledge/a", `1970-01-01 00:00:00.000000 1 {"the_int":31,"the_long":"9223372036854775807","the_float":0.001,"the_double":"-Infinity","the_string":"12"}`},
		{"a skill of a provider", folder("Skill/Description/Arm/Wave/fast.yaml", "description: waves\ndefault_parameters: {times: 2}\n"),
			"Skill/Description/Arm/Wave\\/fast", `1970-01-01 00:00:00.000000 1 {"description":"waves","default_parameters":{"times":2}}`},
		{"skills of providers", folder("Skill/Description.yaml", "Arm/Wave: {description: waves}\nBase/Turn: {description: turns}\n"),
			"Skill/Description/Base/Turn", `1970-01-01 00:00:00.000000 1 {"description":"turns"}`},
		{"names with dots and slashes", folder("Speech/Text/a.b/c.d.yaml", "text: x\n"),
			"Speech/Text/PriorKnowledge/a.b\\/c.d", `1970-01-01 00:00:00.000000 1 {"text":"x"}`},
		{"other files are left alone", folder("README.md", "#", ".git/x.yaml", "a", "Speech/.x.yaml", "b", "_notes/x.json", "c", "Speech/Text/a.yaml", "text: x"),
			"Speech/Text/PriorKnowledge/a", `1970-01-01 00:00:00.000000 1 {"text":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newServer(t)
			if _, err := memories.LoadPriorKnowledge(t.Context(), srv, c.dir); err != nil {
				t.Fatal(err)
			}
			s, err := srv.Latest(t.Context(), engram.MustID(c.where))
			if err != nil {
				t.Fatal(err)
			}
			got := s.Time.String()
			for _, in := range s.Instances {
				j, err := typeOf(t, in.Payload.Type).JSON(in.Payload.Bytes, idfJSON)
				if err != nil {
					t.Fatal(err)
				}
				got += fmt.Sprintf(" %g %s", in.Confidence, j)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestPriorKnowledgeErrors: each names the file and the place in it, and nothing is
// stored.
func TestPriorKnowledgeErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		dir  fstest.MapFS
		want []string // parts of the message
	}{
		{"YAML syntax", folder("Speech/Text/a.yaml", "text: [1\n"), []string{"Speech/Text/a.yaml"}},
		{"JSON syntax", folder("Speech/Text/a.json", "{\n\"text\": \"x\",\n}"), []string{"Speech/Text/a.json", "line 3"}},
		{"two JSON values", folder("Speech/Text/a.json", `{} {}`), []string{"something follows"}},
		{"two documents", folder("Speech/Text/a.yaml", "text: x\n---\ntext: y\n"), []string{"2 YAML documents"}},
		{"a skill of nobody", folder("Skill/Description/Wave.yaml", "description: waves"), []string{"Skill/Description/Wave.yaml", "Wave is known of no provider; write PROVIDER/Wave"}},
		{"skills of nobody", folder("Skill/Description.yaml", "Wave: {description: waves}"), []string{"Skill/Description.yaml", "write PROVIDER/Wave"}},
		{"no memory", folder("a.yaml", "text: x"), []string{"a.yaml", "Memory/CoreSegment"}},
		{"unknown memory", folder("Speach/Text/a.yaml", "text: x"), []string{"Speach/Text/a.yaml", "no such core segment"}},
		{"unknown segment", folder("Speech/Texts/a.yaml", "text: x"), []string{"Speech/Texts", "no such core segment"}},
		{"unknown member", folder("Speech/Text/a.yaml", "txt: x"), []string{"Speech/Text/a.yaml", "txt"}},
		{"member of another kind", folder("Object/Class/a.yaml", "oobb: {size: {x: wide}}"), []string{"Object/Class/a.yaml", "oobb.size.x"}},
		{"in an instance", folder("Speech/Text.yaml", "a:\n  $snapshots:\n  - $instances: [{text: x}, {texd: y}]"), []string{"Speech/Text.yaml", "a.$snapshots[0].$instances[1]", "texd"}},
		{"unknown type", folder("Speech/Text/a.yaml", "$type: my.Text\ntext: x"), []string{"my.Text"}},
		{"type that does not fit", folder("Speech/Text/a.yaml", "$type: foxglove.Pose"), []string{"Speech/Text/a.yaml", "foxglove.Pose"}},
		{"bad time", folder("Speech/Text/a.yaml", "$time: yesterday"), []string{"$time yesterday"}},
		{"time in an instance", folder("Speech/Text/a.yaml", "$instances: [{$time: 1}]"), []string{"$instances[0]", "$time belongs"}},
		{"bad confidence", folder("Speech/Text/a.yaml", "$confidence: 1.5"), []string{"$confidence 1.5"}},
		{"confidence that is no number", folder("Speech/Text/a.yaml", "$confidence: .nan"), []string{"$confidence NaN"}},
		{"unknown key", folder("Speech/Text/a.yaml", "$tiem: 1\ntext: x"), []string{`"$tiem"`}},
		{"member beside $instances", folder("Speech/Text/a.yaml", "$instances: [{text: x}]\ntext: y"), []string{`"text"`}},
		{"member beside $payload", folder("Speech/Text/a.yaml", "$payload: {text: x}\ntext: y"), []string{`"text"`}},
		{"no instances", folder("Speech/Text/a.yaml", "$instances: []"), []string{"$instances"}},
		{"snapshots that are no list", folder("Speech/Text/a.yaml", "$snapshots: {a: 1}"), []string{"$snapshots"}},
		{"missing file", folder("Speech/Text/a.yaml", "text: {$text: b.txt}"), []string{"Speech/Text/b.txt"}},
		{"file outside", folder("Speech/Text/a.yaml", "text: {$text: ../../../etc/passwd}"), []string{"../etc/passwd"}},
		{"binary as text", folder("Speech/Text/a.yaml", "text: {$text: b.bin}", "Speech/Text/b.bin", "\xff"), []string{"not UTF-8"}},
		{"twice", folder("Speech/Text.yaml", "a: {text: x}", "Speech/Text/a.yaml", "text: y"), []string{"Speech/Text.yaml", "Speech/Text/a.yaml"}},
		{"segment file without entities", folder("Speech/Text.yaml", "- text: x"), []string{"Speech/Text.yaml", "mapping"}},
		{"merge key", folder("Speech/Text.yaml", "a: &a {text: x}\nb:\n  <<: *a\n"), []string{"Speech/Text.yaml", "line 3"}},
		{"unknown anchor", folder("Speech/Text/a.yaml", "text: *b"), []string{"Speech/Text/a.yaml"}},
		{"key twice", folder("Speech/Text/a.yaml", "text: x\ntext: y"), []string{"Speech/Text/a.yaml"}},
		{"deep", folder("Speech/Text/a.yaml", strings.Repeat("[", 100_000)), []string{"nest"}},
		{"deep lists", folder("Speech/Text/a.yaml", strings.Repeat("- ", 100_000)), []string{"nest"}},
		{"tags", folder("Speech/Text/a.yaml", strings.Repeat("!a ", 100_000)), []string{"nest"}},
		{"too large", folder("Speech/Text/a.yaml", strings.Repeat("#\n", 3<<20)), []string{"Speech/Text/a.yaml", "4194304 bytes"}},
		{"alias bomb", folder("Speech/Text/a.yaml", bomb()), []string{"more than", "values"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newServer(t)
			c.dir["Speech/Text/good.yaml"] = &fstest.MapFile{Data: []byte("text: good")}
			_, err := memories.LoadPriorKnowledge(t.Context(), srv, c.dir)
			if engram.CodeOf(err) != engram.Invalid {
				t.Fatalf("error %v (%v)", err, engram.CodeOf(err))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not name %q:\n%v", want, err)
				}
			}
			if _, err := srv.Latest(t.Context(), engram.MustID("Speech/Text/PriorKnowledge/good")); engram.CodeOf(err) != engram.NotFound {
				t.Errorf("something was stored: %v", err)
			}
		})
	}
}

// bomb is YAML that grows to 10^9 values when its aliases are followed.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 x\n")
	for i := range 9 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	return b.String()
}

// TestPriorKnowledgeAllErrors: one run tells of every wrong file.
func TestPriorKnowledgeAllErrors(t *testing.T) {
	dir := folder()
	for i := range 30 {
		dir[fmt.Sprintf("Speech/Text/%02d.yaml", i)] = &fstest.MapFile{Data: []byte("txt: x")}
	}
	_, err := memories.LoadPriorKnowledge(t.Context(), newServer(t), dir)
	if err == nil || strings.Count(err.Error(), ".yaml") != 20 || !strings.Contains(err.Error(), "10 more") {
		t.Errorf("%v", err)
	}
}

// TestPriorKnowledgeRefused: what the server refuses is told with its file.
func TestPriorKnowledgeRefused(t *testing.T) {
	m := memories.Speech()
	m.Hooks.Commit = func(_ context.Context, u *engram.EntityUpdate) error {
		if u.Entity.Entity() == "b" {
			return engram.Errorf(engram.OutOfRange, "", "no b")
		}
		return nil
	}
	dir := folder("Speech/Text/a.yaml", "text: x", "Speech/Text/b.yaml", "text: x")
	ids, err := memories.LoadPriorKnowledge(t.Context(), newServer(t, m), dir)
	if len(ids) != 1 || !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), "Speech/Text/b.yaml") {
		t.Errorf("%v, %v", ids, err)
	}
	closed := newServer(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := memories.LoadPriorKnowledge(t.Context(), closed, dir); engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("of a closed server: %v", err)
	}
}

func TestPriorKnowledgeAgain(t *testing.T) {
	srv := newServer(t)
	dir := folder("Speech/Text.yaml", "a: {text: x}\nb: {text: y}\n")
	for range 2 {
		ids, err := memories.LoadPriorKnowledge(t.Context(), srv, dir)
		if err != nil || len(ids) != 2 || !slices.IsSortedFunc(ids, engram.ID.Compare) {
			t.Fatalf("%v, %v", ids, err)
		}
	}
}

// TestPriorKnowledgeAtStart: a server with wrong knowledge does not start.
func TestPriorKnowledgeAtStart(t *testing.T) {
	_, err := server.New(server.Config{Memories: memories.All(memories.WithPriorKnowledge(folder("Speech/Text/a.yaml", "txt: x")))})
	if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), "Speech/Text/a.yaml") {
		t.Errorf("%v", err)
	}
}

func FuzzPriorKnowledge(f *testing.F) {
	f.Add(true, "text: hello\n$confidence: 0.5")
	f.Add(true, "$instances:\n- {text: x, arguments: {a: b}}\n- $payload: {}")
	f.Add(true, "$snapshots: [&a {$time: 1}, {$time: 2, refers_to: [a/b]}]")
	f.Add(true, bomb())
	f.Add(true, "!a &b [- x]: ? y\n- - z\n")
	f.Add(true, "text: {$text: a.yaml}")
	f.Add(true, "text: |\n  a\n  b\nspeaker: >-\n  c\nduration: !!str 1s")
	f.Add(false, `{"text": "hello", "$time": 5}`)
	f.Add(false, `[[{"$snapshots": []}]]`)
	srv, err := server.New(server.Config{Memories: []server.Memory{memories.Speech()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { srv.Close() })
	f.Fuzz(func(t *testing.T, yaml bool, text string) {
		name := map[bool]string{true: "Speech/Command/a.yaml", false: "Speech/Command/a.json"}[yaml]
		_, err := memories.LoadPriorKnowledge(t.Context(), srv, folder(name, text))
		if err != nil && engram.CodeOf(err) == engram.Internal {
			t.Errorf("%v", err)
		}
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
