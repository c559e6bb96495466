package query_test

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/query"
)

// track is an entity's snapshots, in the order of their times. It is a query.View whose
// places are indices.
type track []*engram.Snapshot

func (t track) Begin() int { return 0 }
func (t track) End() int   { return len(t) }
func (t track) From(at engram.Time) int {
	return sort.Search(len(t), func(i int) bool { return t[i].Time >= at })
}
func (t track) After(at engram.Time) int {
	return sort.Search(len(t), func(i int) bool { return t[i].Time > at })
}
func (t track) Present() engram.Time  { return engram.MaxTime }
func (t track) Skip(p, n int) int     { return min(p+n, len(t)) }
func (t track) SkipBack(p, n int) int { return max(p-n, 0) }
func (t track) Beyond(p, q int) bool  { return p > q }
func (t track) Next(p int, last engram.Time) (*engram.Snapshot, int) {
	if p >= len(t) || t[p].Time > last {
		return nil, p
	}
	return t[p], p + 1
}
func (t track) Prev(p int, first engram.Time) (*engram.Snapshot, int) {
	if p == 0 || t[p-1].Time < first {
		return nil, p
	}
	return t[p-1], p - 1
}

// A query is compiled once, and evaluated over a view of what somebody has: here the two
// snapshots of a cup that are nearest to 12 s and in force at 25 s.
func Example() {
	var cup track
	for _, second := range []engram.Time{10, 20, 30} {
		cup = append(cup, &engram.Snapshot{Time: second * 1e9})
	}
	compiler := query.NewCompiler("")
	q := engram.SelectID(engram.MustID("Object/Instance/Localizer/cup"), engram.Nearest(12e9, 5e9), engram.AtOrBefore(25e9))
	nodes, err := compiler.Compile(context.Background(), q.Memories, 0)
	if err != nil {
		panic(err)
	}
	for range 3 { // from the memory down to the entity
		nodes = query.Below(nodes)
	}
	var selection query.Selection
	for _, selector := range nodes[0].Snapshots {
		query.Select[int](&selection, cup, selector, 100)
	}
	selection.Unite()
	for s := range slices.Values(selection.Snapshots) {
		fmt.Println(int64(s.Time)/1e9, "s")
	}
	// Output:
	// 10 s
	// 20 s
}

// A filter decides which snapshots a view shows, or which of those selected are taken.
func ExampleCompiler_Filter() {
	compiler := query.NewCompiler("")
	_, err := compiler.Filter(context.Background(), "confidence >", nil, 0)
	fmt.Println(engram.CodeOf(err))
	// Output:
	// invalid
}
