package base

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge"
	"github.com/seed-301d4374/engram/knowledge/pattern"
	"github.com/seed-301d4374/engram/knowledge/prolog"
	"github.com/seed-301d4374/engram/knowledge/service"
)

// Ask answers a question of a view, which stands for the question's times.
func Ask(ctx context.Context, v *knowledge.View, q service.Question) iter.Seq2[service.Row, error] {
	return func(yield func(service.Row, error) bool) {
		rows, err := answers(ctx, v, &q)
		if err != nil {
			yield(service.Row{}, err)
			return
		}
		n := 0
		for row, err := range rows {
			if err == nil && q.Rows > 0 && n == q.Rows {
				err = service.ErrMore
			}
			n++
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func answers(ctx context.Context, v *knowledge.View, q *service.Question) (iter.Seq2[service.Row, error], error) {
	if q.Language != service.Prolog && len(q.Rules) > 0 {
		return nil, engram.Errorf(engram.Invalid, q.Rules[0].Name, "rules are in Prolog; the question is not")
	}
	switch q.Language {
	case service.Prolog:
		return inProlog(ctx, v, q)
	case service.Pattern, service.Class:
		return inPattern(ctx, v, q)
	}
	return nil, engram.Errorf(engram.Invalid, "", "the language %d of the question is not known", q.Language)
}

func inProlog(ctx context.Context, v *knowledge.View, q *service.Question) (iter.Seq2[service.Row, error], error) {
	p := prolog.NewProgram()
	for name, iri := range q.Prefixes {
		p.AddPrefix(name, iri)
	}
	for _, r := range q.Rules {
		if err := p.AddRules(r.Name, r.Text); err != nil {
			return nil, err
		}
	}
	limits := prolog.Limits{Time: q.Limits.Time, Steps: q.Limits.Steps, Memory: q.Limits.Memory}
	return func(yield func(service.Row, error) bool) {
		for answer, err := range p.Ask(ctx, v, q.Text, limits) {
			row := service.Row{Names: answer.Names, Texts: answer.Values, Probability: 1}
			if err == nil {
				err = row.SetValues(answer)
			}
			if !yield(row, err) {
				return
			}
		}
	}, nil
}

// inPattern answers patterns and class expressions.
func inPattern(ctx context.Context, v *knowledge.View, q *service.Question) (iter.Seq2[service.Row, error], error) {
	asked, err := patternOf(q)
	if err != nil {
		return nil, err
	}
	for name, iri := range q.Prefixes {
		if _, own := asked.Prefixes[name]; !own {
			if asked.Prefixes == nil {
				asked.Prefixes = map[string]string{}
			}
			asked.Prefixes[name] = iri
		}
	}
	c, err := pattern.Compile(v, asked)
	if err != nil {
		return nil, err
	}
	return func(yield func(service.Row, error) bool) {
		for answer, err := range c.Ask(ctx, v, q.Limits) {
			row := service.Row{Probability: answer.Probability}
			if err == nil {
				for i := range answer.Len() {
					if t := answer.Value(i); !t.IsZero() {
						row.Names, row.Texts = append(row.Names, answer.Name(i)), append(row.Texts, t.Value)
					}
				}
				err = row.SetValues(answer)
			}
			if !yield(row, err) {
				return
			}
		}
	}, nil
}

func patternOf(q *service.Question) (*pattern.Question, error) {
	if q.Language == service.Class {
		c, err := pattern.ParseClass(q.Text)
		if err != nil {
			return nil, err
		}
		return c.Ask(), nil
	}
	if len(q.JSON) == 0 {
		return pattern.Parse(q.Text)
	}
	var asked pattern.Question
	if err := json.Unmarshal(q.JSON, &asked); err != nil {
		return nil, err
	}
	return &asked, nil
}
