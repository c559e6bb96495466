// Package api is the feature by which programs ask in logic (engram.v1.KnowledgeService):
// its calls, their rules, and a client.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

const name = "engram.v1.KnowledgeService"

// Bounds of an answer that comes at once: rows, notes, and bytes of values as JSON and of notes.
const (
	maxAtOnce      = 100_000
	maxBytesAtOnce = 16 << 20
)

// Feature offers questions. Everybody may ask, of what they may read.
func Feature(s logic.Service) feature.Feature {
	h := handler{s}
	return feature.New(name,
		feature.Unary("Ask", feature.Sees(access.Read), h.ask).Lasting(),
		feature.Stream("AskStepwise", feature.Sees(access.Read), h.askStepwise).Lasting(),
	)
}

type handler struct{ logic.Service }

func (h handler) ask(ctx context.Context, m *engramv1.AskRequest) (*engramv1.AskResponse, error) {
	var answer engramv1.AskResponse
	size := 0
	tooMany := engram.Errorf(engram.Exhausted, "", "there are more than %d rows or lines that were printed, or %d MB of them; ask for fewer, or stepwise", maxAtOnce, maxBytesAtOnce>>20)
	note := func(line string) {
		if size += len(line); size <= maxBytesAtOnce && len(answer.Notes) < maxAtOnce {
			answer.Notes = append(answer.Notes, line)
			return
		}
		size = maxBytesAtOnce + 1
	}
	err := h.rows(ctx, m, nil, note, func(row *engramv1.KnowledgeRow) error {
		for _, value := range row.Json {
			size += len(value)
		}
		if len(answer.Rows) == maxAtOnce || size > maxBytesAtOnce {
			return tooMany
		}
		answer.Rows = append(answer.Rows, row)
		return nil
	})
	if size > maxBytesAtOnce && (err == nil || errors.Is(err, logic.ErrMore)) { // by what was printed behind the last row
		err = tooMany
	}
	if errors.Is(err, logic.ErrMore) {
		answer.More, err = true, nil
	}
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

func (h handler) askStepwise(ctx context.Context, m *engramv1.AskRequest, send func(*engramv1.AskResponse) error) error {
	waits := func(before int) {
		n := uint32(before)
		_ = send(&engramv1.AskResponse{Waiting: &n}) // who is gone waits no longer: ctx ends
	}
	note := func(line string) { _ = send(&engramv1.AskResponse{Notes: []string{line}}) } // as with waits
	err := h.rows(ctx, m, waits, note, func(row *engramv1.KnowledgeRow) error {
		return send(&engramv1.AskResponse{Rows: []*engramv1.KnowledgeRow{row}})
	})
	if errors.Is(err, logic.ErrMore) {
		return send(&engramv1.AskResponse{More: true})
	}
	return err
}

// rows answers a question row by row.
func (h handler) rows(ctx context.Context, m *engramv1.AskRequest, waits func(before int), note func(line string), use func(*engramv1.KnowledgeRow) error) error {
	q, err := question(ctx, m)
	if err != nil {
		return err
	}
	q.Waits, q.Notes = waits, note
	for row, err := range h.Ask(ctx, q) {
		if err != nil {
			return err
		}
		message, err := rowMessage(row)
		if err != nil {
			return err
		}
		if err := use(message); err != nil {
			return err
		}
	}
	return nil
}

func question(ctx context.Context, m *engramv1.AskRequest) (logic.Question, error) {
	q := logic.Question{
		Language: logic.Language(m.GetLanguage()), Text: m.GetQuestion(), Prefixes: m.GetPrefixes(),
		At: (*engram.Time)(m.At), AsOf: (*engram.Time)(m.AsOf), Rows: int(m.GetRows()), Why: m.GetWhy(),
		Limits: logic.Limits{Time: time.Duration(m.GetTimeoutNanos()), Steps: m.GetMaxSteps(), Memory: m.GetMaxMemory()},
	}
	if _, known := engramv1.QuestionLanguage_name[int32(m.GetLanguage())]; !known {
		return q, engram.Errorf(engram.Invalid, "", "the language %d of the question is not known", m.GetLanguage())
	}
	if m.GetTimeoutNanos() < 0 || m.GetMaxSteps() < 0 || m.GetMaxMemory() < 0 || m.GetRows() < 0 {
		return q, engram.Errorf(engram.Invalid, "", "a limit is negative; 0 is the server's")
	}
	if err := wire.LimitsOf(ctx).Breadth("rules and marks", len(m.GetRules())+len(m.GetAfter())); err != nil {
		return q, err
	}
	for _, r := range m.GetRules() {
		q.Rules = append(q.Rules, logic.Rules{Name: r.GetName(), Text: r.GetText()})
	}
	for _, mark := range m.GetAfter() {
		q.After = append(q.After, logic.Mark{Epoch: mark.GetEpoch(), Number: mark.GetNumber()})
	}
	if m.Pattern != nil {
		if m.GetQuestion() != "" {
			return q, engram.Errorf(engram.Invalid, "", "the question is there twice: as text and as JSON; give one")
		}
		var err error
		if q.JSON, err = protojson.Marshal(m.Pattern); err != nil {
			return q, engram.Errorf(engram.Invalid, "", "the pattern: %w", err)
		}
	}
	return q, nil
}

func rowMessage(row logic.Row) (*engramv1.KnowledgeRow, error) {
	m := &engramv1.KnowledgeRow{Names: row.Names, Texts: row.Texts, Probability: row.Probability, Values: &structpb.Struct{Fields: map[string]*structpb.Value{}}}
	for i, name := range row.Names {
		value, err := doubles(row.Values[i])
		if err != nil {
			return nil, engram.Errorf(engram.Internal, "", "the value of %s cannot be written: %w", name, err)
		}
		m.Json = append(m.Json, string(row.Values[i]))
		m.Values.Fields[name] = value
	}
	for _, r := range row.Why {
		reason := &engramv1.KnowledgeReason{Clause: r.Part}
		for _, f := range r.Facts {
			reason.Facts = append(reason.Facts, &engramv1.KnowledgeFact{Subject: f.Triple[0], Property: f.Triple[1], Object: f.Triple[2], Links: f.Links})
		}
		m.Why = append(m.Why, reason)
	}
	return m, nil
}

// doubles returns a value in JSON as messages have it, whose numbers are doubles.
func doubles(text json.RawMessage) (*structpb.Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return structpb.NewValue(inDoubles(v))
}

// inDoubles has numbers in a value be doubles; those that no double is become strings of their digits.
func inDoubles(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if z, whole := new(big.Int).SetString(v.String(), 10); err == nil && whole {
			if _, accuracy := new(big.Float).SetInt(z).Float64(); accuracy != big.Exact {
				return v.String()
			}
		}
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = inDoubles(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = inDoubles(v[name])
		}
	}
	return v
}
