package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// names is a table of names, each its own node.
type names []string

func (t names) Get(name string) (string, bool) { return name, slices.Contains(t, name) }

func (t names) Sorted() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, name := range t {
			if !yield(name, name) {
				return
			}
		}
	}
}

// costlyNames is a regular expression that goes through all of itself at each byte of a name.
func costlyNames(i int) engram.QueryNode {
	return engram.QueryNode{Names: engram.MatchRegex(fmt.Sprintf(`(?:a|b|ab){0,100}(?:a|b|ab){0,100}%dc`, i))}
}

// What a query computes of names has the budget that its filter has: it ends with an error that says what helps,
// whether its regular expressions are many, large, or matched with many names.
func TestNamesHaveABudget(t *testing.T) {
	long := strings.Repeat("a", 250)
	var many []engram.QueryNode
	for i := range 150 {
		many = append(many, costlyNames(i))
	}
	numbered := func(name string, n int) (all names) {
		for i := range n {
			all = append(all, fmt.Sprint(name, i))
		}
		return all
	}
	for what, c := range map[string]struct {
		nodes  []engram.QueryNode
		names  names
		budget int64
		fits   bool
	}{
		"many expressions":    {many, numbered(long, 2), 5_000_000, false},
		"one, of many names":  {many[:1], numbered(long, 200), 5_000_000, false},
		"compiling them":      {many, nil, 100_000, false},
		"they fit":            {many[:3], numbered("cup", 100), 5_000_000, true},
		"plain names":         {[]engram.QueryNode{{Names: engram.MatchRegex(`cup.*\d`)}, {}}, numbered("cup", 20_000), 5_000_000, true},
		"no budget":           {many[:1], numbered(long, 50), 0, true},
		"below another level": {[]engram.QueryNode{{Children: many}}, numbered(long, 2), 5_000_000, false},
	} {
		plan, err := NewCompiler("").Compile(t.Context(), c.nodes, c.budget)
		if err == nil {
			for len(plan[0].children) > 0 {
				plan = Below(plan)
			}
			err = EachChild(t.Context(), c.names, plan, func(string, []*Node) error { return nil })
		}
		if c.fits != (err == nil) || err != nil && (engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), fmt.Sprint(c.budget)) || !strings.Contains(err.Error(), "steps that one query may take;")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Names and values share the budget of a query.
func TestNamesAndFilterShareABudget(t *testing.T) {
	types := idf.NewRegistry()
	q := engram.Query{Memories: []engram.QueryNode{costlyNames(0)}, Where: costly}
	spent := func(first bool) (steps int64) {
		a, err := NewCompiler("").NewAnswer(t.Context(), q, types, Limits{FilterSteps: 50_000_000}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first {
			err = EachChild(t.Context(), names{strings.Repeat("a", 250)}, a.Plan(), func(string, []*Node) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		a.Filter().Snapshot(listOf(t, 1, 50))
		if a.FilterErr() != nil {
			t.Fatal(a.FilterErr())
		}
		return a.filter.budget - a.filter.meter.Left
	}
	alone, both := spent(false), spent(true)
	if alone < 1000 || both < alone+50_000 {
		t.Errorf("the filter takes %d steps, with names %d", alone, both)
	}
}

// Who gives a query up does not wait for its names, and what takes long takes turns.
func TestNamesGivenUp(t *testing.T) {
	c := NewCompiler("")
	c.gate = make(gate, 1)
	ctx, cancel := context.WithCancel(t.Context())
	plan, err := c.Compile(ctx, []engram.QueryNode{costlyNames(0)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	plan[0].work.meter.Left -= 2 * freeSteps
	visited := 0
	table := names{"ab0c", "ab0c", "ab0c"}
	if err := EachChild(ctx, table, plan, func(string, []*Node) error {
		if visited++; len(c.gate) > 0 {
			t.Error("who has a turn goes on to what may wait")
		}
		return nil
	}); err != nil || visited != 3 {
		t.Errorf("%d names are visited, %v", visited, err)
	}
	c.gate <- struct{}{} // another has it
	ended := make(chan error)
	go func() { ended <- EachChild(ctx, table, plan, func(string, []*Node) error { return nil }) }()
	cancel()
	if err := <-ended; engram.CodeOf(err) != engram.Canceled {
		t.Errorf("it ends with %v", err)
	}
}
