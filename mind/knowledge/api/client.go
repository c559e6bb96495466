package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// NewClient returns who answers questions at a server. The error of a question is Unsupported if
// the server has no memory Knowledge.
func NewClient(c feature.Conn) logic.Service { return client{c} }

type client struct{ feature.Conn }

func (c client) Ask(ctx context.Context, q logic.Question) iter.Seq2[logic.Row, error] {
	return func(yield func(logic.Row, error) bool) {
		fail := func(err error) { yield(logic.Row{}, err) }
		m, err := requestOf(q)
		if err != nil {
			fail(err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s, err := c.Open(ctx, "/"+name+"/AskStepwise", m)
		if err != nil {
			fail(err)
			return
		}
		defer s.Close()
		for {
			var answer engramv1.AskResponse
			err := s.Receive(&answer)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				fail(err)
				return
			}
			if answer.Waiting != nil && q.Waits != nil {
				q.Waits(int(answer.GetWaiting()))
			}
			if q.Notes != nil {
				for _, line := range answer.GetNotes() {
					q.Notes(line)
				}
			}
			for _, r := range answer.GetRows() {
				row, err := rowOf(r)
				if err != nil {
					fail(err)
					return
				}
				if !yield(row, nil) {
					return
				}
			}
			if answer.GetMore() {
				fail(logic.ErrMore)
				return
			}
		}
	}
}

func requestOf(q logic.Question) (*engramv1.AskRequest, error) {
	m := &engramv1.AskRequest{
		Language: engramv1.QuestionLanguage(q.Language), Question: q.Text, Prefixes: q.Prefixes,
		At: (*int64)(q.At), AsOf: (*int64)(q.AsOf), Rows: int64(q.Rows), Why: q.Why,
		TimeoutNanos: int64(q.Limits.Time), MaxSteps: q.Limits.Steps, MaxMemory: q.Limits.Memory,
	}
	for _, r := range q.Rules {
		m.Rules = append(m.Rules, &engramv1.QuestionRules{Name: r.Name, Text: r.Text})
	}
	for _, mark := range q.After {
		m.After = append(m.After, &engramv1.WorldMark{Epoch: mark.Epoch, Number: mark.Number})
	}
	if len(q.JSON) > 0 {
		m.Pattern = &structpb.Struct{}
		if err := protojson.Unmarshal(q.JSON, m.Pattern); err != nil {
			return nil, engram.Errorf(engram.Invalid, "", "the pattern is no JSON object: %w", err)
		}
	}
	return m, nil
}

func rowOf(m *engramv1.KnowledgeRow) (logic.Row, error) {
	row := logic.Row{Names: m.GetNames(), Texts: m.GetTexts(), Probability: m.GetProbability()}
	for _, r := range m.GetWhy() {
		reason := logic.Reason{Part: r.GetClause()}
		for _, f := range r.GetFacts() {
			reason.Facts = append(reason.Facts, logic.Fact{Triple: [3]string{f.GetSubject(), f.GetProperty(), f.GetObject()}, Links: f.GetLinks()})
		}
		row.Why = append(row.Why, reason)
	}
	if len(row.Texts) != len(row.Names) {
		return row, wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "a row has %d names and %d texts", len(row.Names), len(row.Texts)))
	}
	if len(m.GetJson()) != len(row.Names) {
		return row, wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "a row has %d names and %d values in JSON; a server of an earlier version sends none: have the server be of this program's version", len(row.Names), len(m.GetJson())))
	}
	for i, name := range row.Names {
		value := json.RawMessage(m.GetJson()[i])
		if !json.Valid(value) {
			return row, wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "the value of %s in a row is no JSON", name))
		}
		row.Values = append(row.Values, value)
	}
	return row, nil
}
