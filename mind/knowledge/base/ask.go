package base

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Ask answers a question of a view, which stands for the question's times.
func Ask(ctx context.Context, v *knowledge.View, q logic.Question) iter.Seq2[logic.Row, error] {
	return func(yield func(logic.Row, error) bool) {
		rows, err := answers(ctx, v, &q)
		if err != nil {
			yield(logic.Row{}, err)
			return
		}
		n := 0
		for row, err := range rows {
			if err == nil && q.Rows > 0 && n == q.Rows {
				err = logic.ErrMore
			}
			n++
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func answers(ctx context.Context, v *knowledge.View, q *logic.Question) (iter.Seq2[logic.Row, error], error) {
	if q.Language != logic.Prolog && len(q.Rules) > 0 {
		return nil, engram.Errorf(engram.Invalid, q.Rules[0].Name, "rules are in Prolog; the question is not")
	}
	if err := reading(knowledge.ShareOf(ctx), q); err != nil {
		return nil, err
	}
	switch q.Language {
	case logic.Prolog:
		return inProlog(ctx, v, q)
	case logic.Pattern, logic.Class:
		return inPattern(ctx, v, q)
	}
	return nil, engram.Errorf(engram.Invalid, "", "the language %d of the question is not known", q.Language)
}

// textBytes is what the terms of a text take, for each of its bytes, at most.
const textBytes = 100

// reading has a question hold what its text and rules take when they are read.
func reading(share *knowledge.Share, q *logic.Question) error {
	length := len(q.Text) + len(q.JSON)
	for _, r := range q.Rules {
		length += len(r.Text)
	}
	size := textBytes * int64(length)
	if q.Limits.Memory > 0 && size > max(q.Limits.Memory, 1<<20) {
		return engram.Errorf(engram.Exhausted, "", "the question and its rules have %d bytes; to read them takes more than its %d MB of memory", length, q.Limits.Memory>>20)
	}
	return kept(share, size)
}

func inProlog(ctx context.Context, v *knowledge.View, q *logic.Question) (iter.Seq2[logic.Row, error], error) {
	p := prolog.NewProgram()
	p.UsePrefixes(v.Prefixes)
	for name, iri := range q.Prefixes {
		p.AddPrefix(name, iri)
	}
	for _, r := range q.Rules {
		if err := p.AddRules(r.Name, r.Text); err != nil {
			return nil, err
		}
	}
	var options []prolog.Option
	if q.Why {
		options = append(options, prolog.Why())
	}
	if q.Notes != nil {
		options = append(options, prolog.Notes(q.Notes))
	}
	return func(yield func(logic.Row, error) bool) {
		for answer, err := range p.Ask(ctx, v, q.Text, q.Limits, options...) {
			row := logic.Row{Names: answer.Names, Texts: answer.Values, Probability: 1}
			if err == nil {
				err = row.SetValues(answer)
			}
			for _, t := range answer.Facts {
				facts := knowledge.Why(v, t)
				if len(facts) == 0 { // of another time, or as only the predicate has it
					facts = []rdf.Triple{t}
				}
				row.Why = append(row.Why, reason(v, shortened(p, t.S)+" "+shortened(p, t.P)+" "+shortened(p, t.O), facts))
			}
			if !yield(row, err) {
				return
			}
		}
	}, nil
}

// inPattern answers patterns and class expressions.
func inPattern(ctx context.Context, v *knowledge.View, q *logic.Question) (iter.Seq2[logic.Row, error], error) {
	c, err := compiled(v, q)
	if err != nil {
		return nil, err
	}
	return func(yield func(logic.Row, error) bool) {
		none := true
		for answer, err := range c.Ask(ctx, v, q.Limits) {
			none = false
			row := logic.Row{Probability: answer.Probability}
			if err == nil {
				for i := range answer.Len() {
					if t := answer.Value(i); !t.IsZero() {
						text := t.Value
						if t.Kind == rdf.Blank {
							text = "_:" + text
						}
						row.Names, row.Texts = append(row.Names, answer.Name(i)), append(row.Texts, text)
					}
				}
				err = row.SetValues(answer)
			}
			if err == nil && q.Why {
				row.Why = reasons(v, answer)
			}
			if !yield(row, err) {
				return
			}
		}
		if none && q.Notes != nil {
			for _, note := range c.Unheard(v) {
				q.Notes(note)
			}
		}
	}, nil
}

// shortened returns a term as people read it.
func shortened(p *prolog.Program, t rdf.Term) string {
	if t.Kind == rdf.IRI {
		return p.Shorten(t.Value)
	}
	return rdf.Term{Kind: t.Kind, Value: t.Value, Lang: t.Lang}.String()
}

// reasons returns what a row rests on.
func reasons(v *knowledge.View, row pattern.Row) (all []logic.Reason) {
	for _, r := range row.Why() {
		all = append(all, reason(v, r.Clause, r.Facts))
	}
	return all
}

func reason(v *knowledge.View, part string, facts []rdf.Triple) logic.Reason {
	r := logic.Reason{Part: part}
	for _, t := range facts {
		f := logic.Fact{Triple: [3]string{t.S.String(), t.P.String(), t.O.String()}}
		if v.Links != nil {
			for _, id := range v.Links(t) {
				f.Links = append(f.Links, id.String())
			}
		}
		r.Facts = append(r.Facts, f)
	}
	return r
}

// compiled returns the question in a view.
func compiled(v *knowledge.View, q *logic.Question) (*pattern.Compiled, error) {
	options := pattern.Options{Prefixes: q.Prefixes}
	switch {
	case q.Language == logic.Class:
		return pattern.CompileClass(v, q.Text, options)
	case len(q.JSON) == 0:
		return pattern.CompileText(v, q.Text, options)
	}
	var asked pattern.Question
	if err := json.Unmarshal(q.JSON, &asked); err != nil {
		return nil, err
	}
	return pattern.Compile(v, &asked, options)
}

// Alone answers questions from a view that follows no memory.
type Alone struct{ *knowledge.View }

// Ask implements [logic.Service]. The question's time is that of the view, unless it has another.
func (a Alone) Ask(ctx context.Context, q logic.Question) iter.Seq2[logic.Row, error] {
	v := a.View
	if q.At != nil && v.Past != nil {
		var err error
		if v, err = v.Past(ctx, *q.At); err != nil {
			return func(yield func(logic.Row, error) bool) { yield(logic.Row{}, err) }
		}
	}
	return Ask(ctx, v, q)
}

// OfGraph returns the view of a graph that follows no memory, such as that of files with their prefixes: its facts are of all
// times, but for poses, which are those of the perceptions up to a time.
func OfGraph(g *knowledge.Graph, prefixes *knowledge.Prefixes) *knowledge.View {
	return graphAt(g, prefixes, 0)
}

func graphAt(g *knowledge.Graph, prefixes *knowledge.Prefixes, at engram.Time) *knowledge.View {
	v := &knowledge.View{Graph: g, Prefixes: prefixes, At: at}
	v.Computed = computed.New(v)
	v.Past = func(_ context.Context, at engram.Time) (*knowledge.View, error) { return graphAt(g, prefixes, at), nil }
	return v
}
