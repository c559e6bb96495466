package rpc

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// results generates trees of results, names without children included.
var results = rapid.Custom(func(t *rapid.T) *engram.Result {
	number := uint64(0)
	var nodes func(level engram.Level) []*engram.ResultNode
	nodes = func(level engram.Level) []*engram.ResultNode {
		var all []*engram.ResultNode
		for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
			n := &engram.ResultNode{Name: fmt.Sprint("n", i)}
			if level < engram.LevelEntity {
				n.Children = nodes(level + 1)
			} else {
				for k := range rapid.IntRange(0, 4).Draw(t, "snapshots") {
					number++
					payload := engram.Payload{Type: "x", Bytes: make([]byte, rapid.IntRange(1, 300).Draw(t, "bytes"))}
					n.Snapshots = append(n.Snapshots, &engram.Snapshot{
						Time: engram.Time(k), Arrived: 7, Number: number,
						Instances: slices.Repeat([]engram.Instance{{Payload: payload, Confidence: 0.5, Sent: 3, HasSent: k%2 == 0}}, rapid.IntRange(1, 3).Draw(t, "instances")),
					})
					if k%2 == 1 {
						for i := range n.Snapshots[k].Instances {
							n.Snapshots[k].Instances[i].Sent = 0
						}
					}
				}
			}
			all = append(all, n)
		}
		return all
	}
	r := &engram.Result{Memories: nodes(engram.LevelMemory)}
	if rapid.Bool().Draw(t, "missing") {
		r.Missing = []engram.Missing{{ID: engram.MustID("a/b"), Reason: engram.MissingEvicted, Count: 3, Interval: engram.Interval{Start: 1, End: 2}}}
	}
	return r
})

// clone returns a deep copy of a result's tree, which merging changes.
func clone(t rapid.TB, r *engram.Result) *engram.Result {
	c, err := resultFromMessage(resultMessage(r))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPartsMakeTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := results.Draw(t, "result")
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		whole := &engram.Result{}
		parts := 0
		err := split(r, limit, func(part *engram.Result) error {
			parts++
			if n := len(part.Items()); n > 1 && resultSize(part.Memories, 1<<30) > limit+4*(nodeCost+2) {
				t.Fatalf("a part of %d snapshots and %d bytes; the limit is %d", n, resultSize(part.Memories, 1<<30), limit)
			}
			whole.Merge(clone(t, part))
			return nil
		})
		if err != nil || parts == 0 {
			t.Fatalf("%d parts, %v", parts, err)
		}
		if !reflect.DeepEqual(whole, clone(t, r)) {
			t.Fatalf("the parts make %+v\nwant %+v", whole, r)
		}
	})
}

func TestResultsCrossTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := results.Draw(t, "result")
		if got := clone(t, r); !reflect.DeepEqual(got.Items(), r.Items()) || !reflect.DeepEqual(got.Missing, r.Missing) {
			t.Fatalf("got %+v\nwant %+v", got, r)
		}
	})
}

// A query means the same on the other side.
func TestQueriesCrossTheWire(t *testing.T) {
	l := wire.Limits{MaxPattern: 1000, MaxRegex: 100, MaxNodes: 1000}
	names := rapid.OneOf(
		rapid.Just(engram.AllNames()), rapid.Just(engram.MatchRegex("a|b+")),
		rapid.Map(rapid.SliceOfN(rapid.StringMatching(`[a-z*~/\\]{1,5}`), 1, 3), func(n []string) engram.NameSelector { return engram.OneOf(n...) }),
	)
	times := rapid.Map(rapid.Int64(), func(n int64) engram.Time { return engram.Time(n) })
	selector := rapid.Custom(func(t *rapid.T) engram.SnapshotSelector {
		at := times.Draw(t, "time")
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			return engram.Latest(rapid.IntRange(1, 1<<31).Draw(t, "n"))
		case 1:
			return engram.At(at)
		case 2:
			return engram.AtOrBefore(at)
		case 3:
			return engram.Nearest(at, 5)
		case 4:
			return engram.In(engram.Interval{Start: at, End: max(at, times.Draw(t, "end"))})
		case 5:
			return engram.Indices(rapid.Int().Draw(t, "first"), rapid.Int().Draw(t, "last"))
		}
		return engram.All()
	})
	rapid.Check(t, func(t *rapid.T) {
		var node func(level engram.Level) engram.QueryNode
		node = func(level engram.Level) engram.QueryNode {
			n := engram.QueryNode{Names: names.Draw(t, "names")}
			if level == engram.LevelEntity {
				n.Snapshots = rapid.SliceOfN(selector, 0, 3).Draw(t, "snapshots")
				if len(n.Snapshots) == 0 {
					n.Snapshots = nil
				}
			} else {
				for range rapid.IntRange(0, 2).Draw(t, "children") {
					n.Children = append(n.Children, node(level+1))
				}
			}
			return n
		}
		asOf := times.Draw(t, "as of")
		q := engram.Query{
			Memories: []engram.QueryNode{node(engram.LevelMemory)}, Target: engram.TargetWM, AsOf: &asOf,
			Where: "confidence > 0.5", Fields: []string{"a.b"}, WithoutPayload: true,
		}
		m, err := wire.QueryMessage(q)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Query(m)
		if err != nil || !reflect.DeepEqual(got, q) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, q)
		}
	})
}

func TestStartsCrossTheWire(t *testing.T) {
	l := wire.Limits{MaxPattern: 1000, MaxRegex: 100, MaxNodes: 1000}
	for _, start := range []engram.Start{
		{}, {Kind: engram.StartLast, N: 3}, {Kind: engram.StartTime, Time: -5}, {Kind: engram.StartNumber, Number: 7, Epoch: 9},
	} {
		sub := engram.Subscription{
			Patterns: []engram.Pattern{engram.MustPattern("A/*/~b+"), {Levels: []engram.NameSelector{engram.OneOf("x", "y")}}},
			Start:    start, WithData: true, Where: "true", Fields: []string{"a"}, Slow: engram.SlowLatest, Queue: 5,
		}
		m, err := subscriptionMessage(sub)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := subscriptionFromMessage(l, m); err != nil || !reflect.DeepEqual(got, sub) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, sub)
		}
	}
	if _, err := subscriptionFromMessage(l, &engramv1.SubscribeRequest{Slow: 2}); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a policy that makes writers wait: %v", err)
	}
}

// A payload's bytes are the same memory before and after a conversion.
func TestPayloadsAreNotCopied(t *testing.T) {
	b := []byte{1, 2, 3}
	in := []engram.Instance{engram.NewInstance(engram.Payload{Type: "x", Bytes: b})}
	m := commitMessage(engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("a/b/c/d"), Instances: in}}})
	data := m.GetUpdates()[0].GetInstances()[0].GetPayload().GetData()
	out := wire.InstancesFromMessages(m.GetUpdates()[0].GetInstances())[0].Payload.Bytes
	snap := wire.SnapshotMessage(&engram.Snapshot{Instances: in}).GetInstances()[0].GetPayload().GetData()
	for what, got := range map[string][]byte{"in a commit": data, "out of it": out, "in a snapshot": snap} {
		if &got[0] != &b[0] {
			t.Errorf("the payload was copied %s", what)
		}
	}
}
