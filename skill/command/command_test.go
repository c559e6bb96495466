package command

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

func hallway() *Vocabulary {
	all := []string{"ReadConfigurations", "TrackLocation"}
	scout := append(slices.Clone(all), "FindObject", "MoveTo")
	return &Vocabulary{
		Agents: []Agent{
			{Name: "operator", Skills: []string{"ReadMap", "ReadConfigurations"}},
			{Name: "worker", Spoken: []string{"Youbot"}, Skills: append(slices.Clone(scout), "InitializeNavigation", "PickUp")},
			{Name: "scout1", Groups: []string{"Scouts"}, Skills: scout},
			{Name: "scout2", Groups: []string{"Scouts"}, Skills: scout},
		},
		Verbs: []Verb{
			{Pattern: "read {map} map", Skill: "ReadMap"},
			{Pattern: "read configurations", Skill: "ReadConfigurations"},
			{Pattern: "track location", Skill: "TrackLocation"},
			{Pattern: "find {object}", Skill: "FindObject"},
			{Pattern: "initialize visual navigation", Skill: "InitializeNavigation", Parameters: map[string]string{"visual": "true"}},
			{Pattern: "pick up {object}", Skill: "PickUp"},
			{Pattern: "drive to {goal:place}", Skill: "MoveTo"},
		},
		Things: []Thing{
			{Kind: "map", Name: "hallway"},
			{Kind: "object", Name: "garbage", Spoken: []string{"garbage", "piece of garbage"}, ID: engram.MustID("Object/Class/PriorKnowledge/garbage")},
			{Kind: "object", Name: "bin", Spoken: []string{"bin", "garbage bin"}},
			{Kind: "place", Name: "dock", Spoken: []string{"charging station"}},
		},
	}
}

func said(c *Command) string {
	var out []string
	for _, r := range c.Requests {
		out = append(out, fmt.Sprint(r.Agent, ".", r.Skill, r.Parameters))
	}
	return strings.Join(out, "; ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		// The five sentences of the thesis.
		"Operator, read the hallway map":                                     "operator.ReadMapmap[map:hallway]",
		"Everybody, read the configurations":                                 "operator.ReadConfigurationsmap[]; worker.ReadConfigurationsmap[]; scout1.ReadConfigurationsmap[]; scout2.ReadConfigurationsmap[]",
		"Everybody, track your location":                                     "worker.TrackLocationmap[]; scout1.TrackLocationmap[]; scout2.TrackLocationmap[]",
		"Scouts, find the garbage":                                           "scout1.FindObjectmap[object:garbage]; scout2.FindObjectmap[object:garbage]",
		"Worker, initialize visual navigation":                               "worker.InitializeNavigationmap[visual:true]",
		"  worker INITIALIZE visual navigation!":                             "worker.InitializeNavigationmap[visual:true]",
		"“Scouts: find the garbage.”":                                        "scout1.FindObjectmap[object:garbage]; scout2.FindObjectmap[object:garbage]",
		"everyone, please track your location":                               "worker.TrackLocationmap[]; scout1.TrackLocationmap[]; scout2.TrackLocationmap[]",
		"Scout 1 and scout2, find the bin":                                   "scout1.FindObjectmap[object:bin]; scout2.FindObjectmap[object:bin]",
		"scout 2 find a piece of garbage":                                    "scout2.FindObjectmap[object:garbage]",
		"scouts, find the garbage bin":                                       "scout1.FindObjectmap[object:bin]; scout2.FindObjectmap[object:bin]",
		"Youbot, pick up the garbage, then drive to the charging station":    "worker.PickUpmap[object:garbage]; worker.MoveTomap[goal:dock]",
		"worker pick up the garbage and drive to the dock":                   "worker.PickUpmap[object:garbage]; worker.MoveTomap[goal:dock]",
		"Scout1, find the bin and worker, pick up the garbage":               "scout1.FindObjectmap[object:bin]; worker.PickUpmap[object:garbage]",
		"worker and scout 1 and scouts, drive to the dock":                   "worker.MoveTomap[goal:dock]; scout1.MoveTomap[goal:dock]; scout2.MoveTomap[goal:dock]",
		"Operator, read the hallway map, everybody, read the configurations": "operator.ReadMapmap[map:hallway]; operator.ReadConfigurationsmap[]; worker.ReadConfigurationsmap[]; scout1.ReadConfigurationsmap[]; scout2.ReadConfigurationsmap[]",
	} {
		c, err := hallway().Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := said(c); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

func TestRefersTo(t *testing.T) {
	c, err := hallway().Parse("Scouts, find the garbage and find the bin")
	want := []engram.ID{engram.MustID("Object/Class/PriorKnowledge/garbage")}
	if err != nil || !reflect.DeepEqual(c.RefersTo, want) {
		t.Errorf("%v, %v", c, err)
	}
}

// A reply says which words were not understood, and what would have been.
func TestNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "no words",
		" , and ":                            "no words",
		"Scuots, find the garbage":           `nobody is called "scuots"; did you mean "Scouts"?`,
		"Scouts, find the bottle":            `I know no object "bottle"; I know bin, garbage`,
		"Scouts, find the garbbage":          `did you mean "garbage"?`,
		"Scouts, find":                       `"find {object}" is not said of which object`,
		"Scouts, dance":                      `nobody knows how to "dance"`,
		"Operator, pick up the garbage":      `operator cannot "pick up {object}"`,
		"find the garbage":                   "not said whom it is for",
		"Worker":                             "not said what to do",
		"worker, pick up the garbage slowly": `after "pick up {object}" comes "slowly"`,
	} {
		c, err := hallway().Parse(text)
		var e *NotUnderstood
		if c != nil || !errors.As(err, &e) || engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; not %s", text, c, err, want)
		}
	}
	if _, err := hallway().Parse(strings.Repeat("find ", 300)); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}

// Whatever is said, it is understood or refused.
func FuzzParse(f *testing.F) {
	f.Add("Scout 1 and, scouts, , find the and the garbage")
	v := hallway()
	f.Fuzz(func(t *testing.T, text string) {
		c, err := v.Parse(text)
		if (c == nil) == (err == nil) || c != nil && len(c.Requests) == 0 {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	})
}
