package base_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Executions of skills are individuals with times, wholes and links, and are related as intervals.
func TestDeeds(t *testing.T) {
	s, _ := kitchen(t)
	l := local(t, s)
	second := engram.Time(1e9)
	run := func(name string, started, ended engram.Time, parent string) {
		members := map[string]any{
			"started": moment(started), "timestamp": moment(started), "skill": "Skill/Description/arm/pick", "status": "Running", "caller": "operator", "message": "",
			"cause": "World/Item/eye/cup",
		}
		if parent != "" {
			members["parent"] = "Skill/Execution/arm/" + parent
		}
		execute(t, s, name, started, members)
		if ended > 0 {
			members["timestamp"], members["status"] = moment(ended), "Succeeded"
			execute(t, s, name, ended, members)
		}
	}
	run("serve", 100*second, 200*second, "")
	run("grasp", 110*second, 120*second, "serve")
	run("carry", 130*second, 200*second, "serve")
	run("wait", 300*second, 0, "")
	const id = "https://engram.dev/id#Skill/Execution/arm/"
	for _, q := range []struct {
		language logic.Language
		text     string
		want     []string
	}{
		{logic.Prolog, `rdf(X, knowrob:startTime, 'https://engram.dev/time#timepoint_110')`, []string{id + "grasp"}},
		{logic.Prolog, `rdf(X, knowrob:endTime, 'https://engram.dev/time#timepoint_200')`, []string{id + "carry", id + "serve"}},
		{logic.Prolog, `rdf(X, rdf:type, 'https://engram.dev/ontology#Execution'), \+ rdf(X, knowrob:endTime, _)`, []string{id + "wait"}},
		{logic.Prolog, `rdf('` + id + `serve', knowrob:subAction, X)`, []string{id + "carry", id + "grasp"}},
		{logic.Prolog, `rdf(X, 'https://engram.dev/ontology#cause', 'https://engram.dev/world#cup')`, []string{id + "carry", id + "grasp", id + "serve", id + "wait"}},
		{logic.Prolog, `rdf_triple('https://engram.dev/ontology#during', X, '` + id + `serve')`, []string{id + "grasp"}},
		{logic.Prolog, `rdf_triple('https://engram.dev/ontology#finishes', X, '` + id + `serve')`, []string{id + "carry"}},
		{logic.Prolog, `rdf_triple('https://engram.dev/ontology#before', '` + id + `grasp', X), rdf(X, knowrob:endTime, _)`, []string{id + "carry"}},
		{logic.Pattern, `?x <https://engram.dev/ontology#during> <` + id + `serve>`, []string{id + "grasp"}},
		{logic.Pattern, `<` + id + `carry> <https://engram.dev/ontology#after> ?x`, []string{id + "grasp"}},
	} {
		if got := ask(t, l, logic.Question{Language: q.language, Text: q.text}); !slices.Equal(got, q.want) {
			t.Errorf("%s is answered by %q, want %q", q.text, got, q.want)
		}
	}
}

// Links of executions and activities are properties, wherever they stand; causes are followed to their own.
func TestLinksOfDeeds(t *testing.T) {
	s, _ := kitchen(t)
	l := local(t, s)
	second := engram.Time(1e9)
	const image = "Vision/ImageRGB/Camera/head/1970-01-01 00:00:05.000000/0"
	members := func(more map[string]any) map[string]any {
		all := map[string]any{"started": moment(second), "timestamp": moment(second), "skill": "Skill/Description/arm/pick", "status": "Running", "caller": "", "message": ""}
		maps.Copy(all, more)
		return all
	}
	link := func(id string) map[string]any { return map[string]any{"$link": id} }
	execute(t, s, "serve", second, members(map[string]any{"cause": "World/Item/eye/cup"}))
	execute(t, s, "grasp", second, members(map[string]any{
		"parent":     "Skill/Execution/arm/serve",
		"parameters": map[string]any{"seen": []any{map[string]any{"in": link(image)}, 1}, "place": "table"},
		"result":     map[string]any{"held": link("World/Item/eye/table"), "photo": link("Vision/ImageRGB/Camera/hand")},
	}))
	execute(t, s, "look", second, members(map[string]any{"cause": "Skill/Execution/arm/grasp"}))
	write(t, s, "Skill/Activity/guard/patrol", "engram.skill.Activity", second, map[string]any{
		"name": "patrol", "started": moment(second), "ended": moment(9 * second), "timestamp": moment(9 * second), "caller": "", "message": "", "cause": "Skill/Execution/arm/look",
	})
	const id, own = "https://engram.dev/id#", "https://engram.dev/ontology#"
	const arm = id + "Skill/Execution/arm/"
	for q, want := range map[string][]string{
		`rdf('` + arm + `grasp', '` + own + `usesImage', X)`:                       {id + strings.ReplaceAll(image, " ", "%20")},
		`rdf('` + arm + `grasp', '` + own + `uses', X)`:                            {id + strings.ReplaceAll(image, " ", "%20")},
		`rdf('` + arm + `grasp', '` + own + `resultedIn', X)`:                      {id + "Vision/ImageRGB/Camera/hand", "https://engram.dev/world#table"},
		`rdf_has('` + arm + `grasp', '` + own + `causedBy', X)`:                    {arm + "serve"},
		`owl_has('` + arm + `look', '` + own + `causedBy', X)`:                     {arm + "grasp", arm + "serve", "https://engram.dev/world#cup"},
		`owl_has(X, '` + own + `causedBy', '` + arm + `serve')`:                    {id + "Skill/Activity/guard/patrol", arm + "grasp", arm + "look"},
		`rdf(X, knowrob:endTime, '` + "https://engram.dev/time#timepoint_9" + `')`: {id + "Skill/Activity/guard/patrol"},
	} {
		if got := ask(t, l, logic.Question{Language: logic.Prolog, Text: q}); !slices.Equal(got, want) {
			t.Errorf("%s: %q; expected %q", q, got, want)
		}
	}
}

// What the memory has evicted does not stay in RAM for ever.
func TestEvictedDeeds(t *testing.T) {
	skill := memories.Skill()
	skill.Bounds.MaxCount = 100
	s := serving.New(t, memories.Knowledge(), skill)
	b, err := base.Over(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const runs = 6_000
	for i := range runs {
		at := engram.Time(i+1) * 1e9
		execute(t, s, fmt.Sprint("run", i), at, map[string]any{
			"started": moment(at), "timestamp": moment(at), "skill": "Skill/Description/arm/pick", "status": "Running", "caller": "", "message": "",
		})
	}
	for { // the last has come
		v, err := b.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last, n := false, 0
		for it := range v.Match(rdf.Term{}, rdf.NewIRI(rdf.NS+"type"), rdf.NewIRI("https://engram.dev/ontology#Execution")) {
			last = last || strings.HasSuffix(it.S.Value, fmt.Sprint("run", runs-1))
			n++
		}
		if last {
			if n > runs-1_000 {
				t.Errorf("%d of %d executions are in RAM; the memory has 100", n, runs)
			}
			return
		}
		runtime.Gosched()
	}
}
