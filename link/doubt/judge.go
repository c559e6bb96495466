package doubt

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

// Verdict is why a snapshot is not to be believed.
type Verdict struct {
	Withdrawal *Withdrawal
	// Over are the IDs that lead from the snapshot to the one that is withdrawn, that one last. It has none if the
	// snapshot itself is withdrawn.
	Over []engram.ID
}

// String says why in a few words.
func (v *Verdict) String() string { return v.Within(nil) }

// Within says why in a few words to who may read what is in the scope; nil is all.
func (v *Verdict) Within(scope engram.Scope) string {
	sees := func(id engram.ID) bool {
		return engram.VisibilityIn(scope, id.Truncate(engram.LevelEntity)) == engram.Visible
	}
	what := "withdrawn"
	if n := len(v.Over); n > 0 {
		if what = "doubtful: it rests on what is withdrawn"; sees(v.Over[n-1]) {
			what = "doubtful: it rests on " + v.Over[n-1].String() + ", which is withdrawn"
		}
	}
	if v.Withdrawal.Reason != "" && sees(v.Withdrawal.ID) {
		what += ": " + v.Withdrawal.Reason
	}
	return what
}

// maxLinks bounds the links that one Judge follows.
const maxLinks = 200_000

// Judge finds withdrawn snapshots, and those that rest on withdrawn ones. It reads a common input of many snapshots
// once. A Judge is for one question and one goroutine.
type Judge struct {
	source Source
	asOf   *engram.Time
	nodes  map[key]*node
	robots map[string][]*Withdrawal
	links  int
	only   *Withdrawal // nil is all that are read
	// Missing are withdrawals that could not be read.
	Missing []engram.Missing
}

// NewJudge returns a judge of what was known at asOf; nil is now.
func NewJudge(s Source, asOf *engram.Time) *Judge {
	return &Judge{source: s, asOf: asOf, nodes: map[key]*node{}, robots: map[string][]*Withdrawal{}}
}

// NewJudgeOf returns a judge that knows of one withdrawal only: what is doubtful by that. The error is that of its pattern.
func NewJudgeOf(s Source, w Withdrawal) (*Judge, error) {
	var err error
	if w.match, err = w.Of.Matcher(); err != nil {
		return nil, err
	}
	j := NewJudge(s, nil)
	j.only = &w
	return j, nil
}

// key is a version of a snapshot; of what is not there any more, as its sources could know it.
type key struct {
	id      engram.ID
	arrived engram.Time
}

type node struct {
	key
	read    bool // its links are followed
	verdict *Verdict
	sources []*node // they link to it
}

// step is a link that is followed.
type step struct {
	ref  service.Ref
	from *node // nil for what is judged
	to   int   // of what is judged
}

// Of is [Judge.Items] of snapshots, or of the newest ones of entities, by their IDs.
func (j *Judge) Of(ctx context.Context, ids []engram.ID) ([]*Verdict, error) {
	items := make([]engram.Item, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return j.Items(ctx, items)
}

// Items returns at the index of each snapshot why it is not to be believed; nil if it is, or if there is none of that ID. Of items
// of a result what is withdrawn is not read: their snapshots say when they arrived. The error is Exhausted if too much lies
// behind them.
func (j *Judge) Items(ctx context.Context, items []engram.Item) ([]*Verdict, error) {
	judged := make([]*node, len(items))
	var steps []step
	for i, it := range items {
		id := it.ID.Truncate(engram.LevelSnapshot)
		if it.Snapshot != nil {
			n, err := j.node(ctx, key{id, it.Arrived})
			if err != nil {
				return nil, err
			}
			if judged[i] = n; n.verdict != nil || n.read {
				continue
			}
		}
		steps = append(steps, step{ref: service.Ref{ID: id, At: engram.MaxTime}, to: i})
	}
	for len(steps) > 0 {
		found, err := j.resolve(ctx, steps)
		if err != nil {
			return nil, err
		}
		var next []step
		for i := range steps {
			n, err := j.add(ctx, &steps[i], &found[i])
			if err != nil {
				return nil, err
			}
			if from := steps[i].from; from == nil {
				judged[steps[i].to] = n
			} else {
				n.sources = append(n.sources, from)
				n.tell()
			}
			if n.read || n.verdict != nil {
				continue
			}
			n.read = true
			for _, l := range found[i].Links {
				if l.ID.Level() < engram.LevelEntity {
					continue
				}
				at, _ := n.id.Time()
				if t, ok := l.ID.Time(); ok {
					at = t
				}
				next = append(next, step{ref: service.Ref{ID: l.ID.Truncate(engram.LevelSnapshot), At: at}, from: n})
			}
		}
		steps = next
		if j.links += len(steps); j.links > maxLinks {
			return nil, engram.Errorf(engram.Exhausted, items[0].ID.String(), "more than %d links lie behind what is asked for; ask for fewer snapshots", maxLinks)
		}
	}
	verdicts := make([]*Verdict, len(items))
	for i, n := range judged {
		verdicts[i] = n.verdict
	}
	return verdicts, nil
}

// resolve reads what links lead to, in the versions that their sources could know.
func (j *Judge) resolve(ctx context.Context, steps []step) ([]service.Resolved, error) {
	refs := make([]service.Ref, len(steps))
	for i := range steps {
		refs[i] = steps[i].ref
	}
	found, err := j.source.Resolve(ctx, refs, service.Options{AsOf: j.asOf})
	if err != nil {
		return nil, err
	}
	for i := range steps {
		from, n := steps[i].from, &found[i].Node
		if from == nil || n.Missing != "" || n.Arrived <= from.arrived {
			continue
		}
		before, err := j.source.Resolve(ctx, refs[i:i+1], service.Options{AsOf: &from.arrived})
		if err != nil {
			return nil, err
		}
		if before[0].Node.Missing == "" {
			found[i] = before[0]
		}
	}
	return found, nil
}

// add returns the node that a link leads to.
func (j *Judge) add(ctx context.Context, s *step, r *service.Resolved) (*node, error) {
	k := key{r.Node.ID.Truncate(engram.LevelSnapshot), r.Node.Arrived}
	if r.Node.Missing != "" {
		if k.arrived = engram.MinTime; k.id.Level() == engram.LevelEntity {
			k.id = k.id.At(s.ref.At)
		}
	}
	if s.from != nil { // a version that arrived later was not known; that before it is not there any more
		k.arrived = min(k.arrived, s.from.arrived)
	}
	return j.node(ctx, k)
}

// node returns the node of a version, with its verdict if it is withdrawn.
func (j *Judge) node(ctx context.Context, k key) (n *node, err error) {
	if n := j.nodes[k]; n != nil {
		return n, nil
	}
	n = &node{key: k}
	j.nodes[k] = n
	if k.id.Level() < engram.LevelSnapshot {
		return n, nil
	}
	robot, its := robotOf(k.id)
	for _, of := range slices.Compact([]string{"", robot}) {
		all, err := j.withdrawals(ctx, of)
		if err != nil {
			return nil, err
		}
		id := k.id
		if of != "" {
			id = its
		}
		at, _ := id.Time()
		for _, w := range all {
			if w.covers(id.Truncate(engram.LevelEntity), at, k.arrived) {
				n.verdict = &Verdict{Withdrawal: w}
				return n, nil
			}
		}
	}
	return n, nil
}

// tell has what links to a node know that the node is not to be believed.
func (n *node) tell() {
	if n.verdict == nil {
		return
	}
	for told := []*node{n}; len(told) > 0; told = told[1:] {
		n := told[0]
		for _, from := range n.sources {
			if from.verdict == nil {
				from.verdict = &Verdict{Withdrawal: n.verdict.Withdrawal, Over: append([]engram.ID{n.id}, n.verdict.Over...)}
				told = append(told, from)
			}
		}
		n.sources = nil
	}
}

// withdrawals returns what a robot says of its memories, "" what this one says of all.
func (j *Judge) withdrawals(ctx context.Context, robot string) ([]*Withdrawal, error) {
	if all, read := j.robots[robot]; read {
		return all, nil
	}
	if j.only != nil {
		if robot == "" {
			return []*Withdrawal{j.only}, nil
		}
		return nil, nil
	}
	all, missing, err := Read(ctx, j.source, robot, j.asOf)
	if err != nil {
		return nil, err
	}
	j.robots[robot] = all
	j.Missing = append(j.Missing, missing...)
	return all, nil
}
