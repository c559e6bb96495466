package access

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
)

// nothing answers at once.
type nothing struct{ bare }

func (nothing) Commit(context.Context, engram.Commit) ([]engram.UpdateResult, error) { return nil, nil }
func (nothing) Query(context.Context, engram.Query) (*engram.Result, error)          { return nil, nil }

func manyRules(n int) Policy {
	var p Policy
	for i := range n {
		who := fmt.Sprintf("id%d*", i%10)
		if i%4 == 0 {
			who = "planner"
		}
		var on engram.Pattern
		switch i % 5 {
		case 0:
			on = engram.MustPattern(fmt.Sprintf("Object/Instance/Vision/cup%d", i))
		case 1:
			on = engram.MustPattern(fmt.Sprintf("Vision/~Image%d.*/cam", i))
		default:
			on = engram.MustPattern(fmt.Sprintf("M%d/S%d", i%20, i))
		}
		p.Rules = append(p.Rules, Rule{Deny: i%7 == 0, Actions: Read | Write, To: []string{who}, On: []engram.Pattern{on}})
	}
	p.Rules = append(p.Rules, Rule{Actions: Read | Write, To: []string{"planner"}, On: []engram.Pattern{engram.MustPattern("Object/Instance")}})
	return p
}

// What rules cost a commit and a query, beside what the memory costs.
func BenchmarkGuard(b *testing.B) {
	for _, n := range []int{0, 10, 1000} {
		c := New(Options{})
		if n > 0 {
			if err := c.Set(manyRules(n)); err != nil {
				b.Fatal(err)
			}
		}
		g := NewGuard(nothing{}, c)
		ctx := WithIdentity(context.Background(), "planner")
		id := engram.MustID("Object/Instance/Arm/cup")
		among := engram.MustID("Object/Instance/Vision/cup") // others there are denied
		commit := engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: 1}}}
		query := engram.SelectID(id, engram.Latest(1))
		if g.c.refused(g.grant(ctx), commit) != nil {
			b.Fatal("refused")
		}
		b.Run(fmt.Sprintf("commit/rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.Commit(ctx, commit)
			}
		})
		b.Run(fmt.Sprintf("query/rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.Query(ctx, query)
			}
		})
		b.Run(fmt.Sprintf("query-among-denied/rules=%d", n), func(b *testing.B) {
			query := engram.SelectID(among, engram.Latest(1))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.Query(ctx, query)
			}
		})
	}
}
