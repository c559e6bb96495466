package memories

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/link"
	"github.com/seed-301d4374/engram/link/doubt"
	"github.com/seed-301d4374/engram/link/why"
)

const (
	answersProvider = "Memory"
	maxDeeds        = 10_000 // executions that a question may be about
	answerWithin    = time.Minute
)

// answerer answers questions such as "Why did you move to the table?": it hears texts and
// commands, and commits an answer that is linked to the question. It answers from all
// memories of its server, and from those of others that the server may read.
type answerer struct {
	svc   engram.Service
	links link.Local
	types map[string]*idf.Type
	heard engram.UpdateStream
}

// start subscribes, before the memory serves.
func (a *answerer) start(ctx context.Context, svc engram.Service) (err error) {
	follows, ok := svc.(interface{ Links() link.Local })
	if !ok {
		return nil
	}
	a.svc, a.links, a.types = svc, follows.Links(), map[string]*idf.Type{}
	a.heard, err = svc.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.MustPattern("Speech/Command"), engram.MustPattern("Speech/Text")}, WithData: true,
	})
	return err
}

// run answers until ctx ends.
func (a *answerer) run(ctx context.Context, _ engram.Service) error {
	if a.heard == nil {
		return nil
	}
	defer a.heard.Close()
	for {
		updates, err := a.heard.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, u := range updates {
			if u.Snapshot == nil || len(u.Snapshot.Instances) == 0 {
				continue
			}
			// A second instance is another reading of the same words.
			if err := a.hear(ctx, u.ID, u.Snapshot); err != nil && ctx.Err() == nil {
				slog.Warn("a question is not answered", "question", u.ID.String(), "error", err)
			}
		}
	}
}

// utterance is what is read of a text or a command.
type utterance struct {
	Text       string            `json:"text"`
	Intent     string            `json:"intent"`
	Arguments  map[string]string `json:"arguments"`
	SourceText string            `json:"source_text"`
	RefersTo   []string          `json:"refers_to"`
	Language   string            `json:"language"`
}

// read reads a payload as JSON into v; false if it cannot be read so.
func (a *answerer) read(ctx context.Context, p *engram.Payload, v any) bool {
	t := a.types[p.Type]
	if t == nil {
		def, err := a.svc.Type(ctx, p.Type)
		if err != nil {
			if _, far := a.links.Beyond(ctx); far != nil {
				def, err = far.Type(ctx, p.Type)
			}
		}
		if err != nil {
			return false
		}
		if t, err = idf.ParseType(def); err != nil {
			return false
		}
		a.types[p.Type] = t
	}
	text, err := t.JSON(p.Bytes, idf.JSONOptions{SummarizeBytes: 64})
	return err == nil && json.Unmarshal(text, v) == nil
}

// hear answers an utterance, if it is a question. A question that cannot be answered is
// answered so; an error is the server's.
func (a *answerer) hear(ctx context.Context, question engram.ID, s *engram.Snapshot) error {
	var u utterance
	if !a.read(ctx, &s.Instances[0].Payload, &u) {
		return nil
	}
	intent := strings.ToLower(u.Intent)
	asked := intent == "why" || intent == "explain" || why.IsQuestion(u.Text)
	if !asked {
		return nil
	}
	if text, err := engram.Parse(u.SourceText); err == nil && len(u.RefersTo) == 0 && len(u.Arguments) == 0 && text.Memory() == "Speech" && text.CoreSegment() == "Text" && why.IsQuestion(u.Text) {
		return nil // the text was answered
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	question = question.Truncate(engram.LevelEntity).At(s.Time)
	about, err := a.about(ctx, &u, s.Time)
	if err != nil {
		return err
	}
	if about.IsRoot() {
		return a.answer(ctx, question, s, about, "I do not know that I did that.", nil)
	}
	everywhere, _ := a.links.Beyond(ctx)
	said, err := why.Explain(ctx, everywhere, about, why.Options{Now: s.Time})
	switch {
	case engram.CodeOf(err) == engram.NotFound:
		return a.answer(ctx, question, s, engram.ID{}, "I do not know that any more.", nil)
	case err != nil:
		return err
	}
	text := said.Text()
	verdicts, err := doubt.NewJudge(a.links.Doubts(ctx), nil).Of(ctx, said.Links())
	if err != nil {
		slog.Warn("what of an answer is doubtful is not known", "question", question.String(), "error", err)
	}
	if i := slices.IndexFunc(verdicts, func(v *doubt.Verdict) bool { return v != nil }); i >= 0 {
		text += " But I doubt that: what it rests on was withdrawn"
		if reason := verdicts[i].Withdrawal.Reason; reason != "" {
			text += ": " + strings.TrimRight(reason, ".")
		}
		text += "."
	}
	return a.answer(ctx, question, s, about, text, said.Links())
}

// about returns what a question is about; the root if nothing is found.
func (a *answerer) about(ctx context.Context, u *utterance, at engram.Time) (engram.ID, error) {
	named := append([]string(nil), u.RefersTo...)
	for _, v := range u.Arguments {
		named = append(named, v)
	}
	for _, text := range named {
		if id, err := engram.Parse(text); err == nil && id.Level() >= engram.LevelEntity {
			return id, nil
		}
	}
	deeds, err := a.deeds(ctx, at)
	if err != nil {
		return engram.ID{}, err
	}
	words := u.Text
	for _, v := range u.Arguments {
		words += " " + v
	}
	about, ok := why.About(words, deeds)
	if !ok {
		return engram.ID{}, nil
	}
	return about.ID, nil
}

// deeds returns what was done up to a time.
func (a *answerer) deeds(ctx context.Context, at engram.Time) (all []why.Deed, err error) {
	executions := engram.MustPattern("Skill/Execution").Select(engram.AtOrBefore(at))
	r, err := a.svc.Query(ctx, executions)
	if err != nil {
		return nil, err
	}
	if !a.links.Hosts("Skill") {
		if _, far := a.links.Beyond(ctx); far != nil {
			if there, err := far.Query(ctx, executions); err == nil {
				r = there
			}
		}
	}
	for it := range r.All() {
		var e struct {
			Skill      string         `json:"skill"`
			Parent     string         `json:"parent"`
			Status     string         `json:"status"`
			Started    time.Time      `json:"started"`
			Parameters map[string]any `json:"parameters"`
		}
		if !a.read(ctx, &it.Instances[0].Payload, &e) {
			continue
		}
		d := why.Deed{ID: it.ID.Truncate(engram.LevelEntity), Skill: e.Skill, Status: e.Status, Parameters: e.Parameters, Began: engram.TimeOf(e.Started)}
		if d.Began <= 0 {
			d.Began = it.Time
		}
		if id, err := engram.Parse(e.Skill); err == nil && id.Level() >= engram.LevelEntity {
			d.Skill = id.Entity()
		}
		if id, err := engram.Parse(e.Parent); err == nil {
			d.Parent = id.Truncate(engram.LevelEntity)
		}
		if all = append(all, d); len(all) == maxDeeds {
			break
		}
	}
	return all, nil
}

// answer commits an answer. Its time goes on from the question's, which may be that of a
// simulation.
func (a *answerer) answer(ctx context.Context, question engram.ID, s *engram.Snapshot, about engram.ID, text string, restsOn []engram.ID) error {
	at := max(s.Time.Add(engram.Now().Sub(s.Arrived)), s.Time+1)
	members := map[string]any{"timestamp": string(at.AppendRFC3339(nil)), "text": text, "language": "en", "question": question.String(), "rests_on": restsOn}
	if !about.IsRoot() {
		members["about"] = about.String()
	}
	if restsOn == nil {
		members["rests_on"] = []string{}
	}
	j, err := json.Marshal(members)
	if err != nil {
		return err
	}
	const typ = "engram.speech.Answer"
	t, _ := Type(typ)
	payload, err := t.FromJSON(j)
	if err != nil {
		return err
	}
	entity, err := engram.NewID("Speech", "Answer", answersProvider, question.Entity())
	if err != nil {
		return err
	}
	results, err := a.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: payload})},
	}}})
	if err == nil {
		err = results[0].Err
	}
	return err
}
