package reason

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// Service is what a listener hears and answers in: a client, or a server in the same process.
type Service interface {
	Memory
	engram.Subscriber
	engram.Writer
}

// ListenOptions are optional.
type ListenOptions struct {
	Robot    string // as for [New], and who speaks
	Provider string // who writes the answers; "Reason" if empty
	// Start says which questions are answered; those from now on if it is zero.
	Start engram.Start
	// Replied is told of each question, by the goroutine that listens. If it returns false, that ends.
	Replied func(Reply) bool
}

// Reply is what became of a question.
type Reply struct {
	ID       engram.ID // the snapshot of the answer, an engram.speech.Answer
	Question engram.ID // the instance of Speech/Command
	Asked    string    // the words of the question
	Text     string
	About    []engram.ID // what the question was taken to be about; none if nothing was found
	Err      error       // why it was not answered
}

// Listen answers questions that are asked by speech: commands of Speech/Command with the intent "why", or without
// an intent and with words that begin with why. A question is about what it refers to (refers_to). Where it refers to nothing,
// its words decide: the last activity whose name they tell, or else an object. The answer is committed to Speech/Answer and
// links to the question, to what that is about, and to what the words rest on. Who listens answers with what he may read
// himself, to all who may read Speech/Answer. A question that was answered is not answered again.
//
// Listen returns when ctx ends, with nil, or when the subscription fails for good.
func Listen(ctx context.Context, svc Service, o ListenOptions) error {
	l := &listener{svc: svc, e: New(svc, o.Robot), o: o}
	l.o.Provider = cmp.Or(o.Provider, "Reason")
	sub, err := svc.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("Speech/Command")}, WithData: true, Start: o.Start})
	if err != nil {
		return err
	}
	defer sub.Close()
	for {
		updates, err := sub.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, u := range updates {
			if u.Snapshot == nil {
				continue
			}
			for i := range u.Snapshot.Instances {
				if !l.hear(ctx, u, i) {
					return nil
				}
			}
		}
	}
}

type listener struct {
	svc Service
	e   *Explainer
	o   ListenOptions
}

// question is a why that was heard.
type question struct {
	id       engram.ID // an instance
	at       engram.Time
	text     string
	refersTo []engram.ID
}

// hear answers an instance of a command, if that asks why. It returns whether to go on.
func (l *listener) hear(ctx context.Context, u engram.Update, i int) bool {
	q, ok := l.question(ctx, u, i)
	if !ok {
		return ctx.Err() == nil
	}
	reply := Reply{Question: q.id, Asked: q.text}
	answered, err := l.answered(ctx, q.id)
	if answered && err == nil {
		return true
	}
	if err == nil {
		err = l.answer(ctx, q, u.Arrived, &reply)
	}
	if ctx.Err() != nil {
		return false
	}
	reply.Err = err
	return l.o.Replied == nil || l.o.Replied(reply)
}

// question reads an instance of a command; ok is false if that does not ask why.
func (l *listener) question(ctx context.Context, u engram.Update, i int) (q question, ok bool) {
	v, err := l.e.tracer.Decode(ctx, u.Snapshot.Instances[i].Payload)
	if err != nil {
		return q, false // no command then
	}
	value, _ := v.(map[string]any)
	text, _ := value["text"].(string)
	intent, _ := value["intent"].(string)
	asks := strings.EqualFold(intent, "why")
	if words := wordsOf(text); intent == "" && len(words) > 0 {
		asks = words[0] == "why"
	}
	q = question{id: u.ID.Instance(i), at: u.Snapshot.Time, text: text}
	refers, _ := value["refers_to"].([]any)
	for _, r := range refers {
		if id, ok := r.(engram.ID); ok && id.Level() >= engram.LevelEntity && len(q.refersTo) < mostAbout {
			q.refersTo = append(q.refersTo, id)
		}
	}
	return q, asks
}

// mostAbout bounds how many things a question is about.
const mostAbout = 5

// answered reports whether a question was answered before, as when it came twice.
func (l *listener) answered(ctx context.Context, question engram.ID) (bool, error) {
	q := engram.MustPattern("Speech/Answer").Select(engram.All())
	q.LinksTo, q.LinksExactly, q.WithoutPayload = []engram.ID{question}, true, true
	r, err := l.svc.Query(ctx, q)
	if err != nil {
		return false, err
	}
	return len(r.Items()) > 0, nil
}

// answer answers a question, and commits that.
func (l *listener) answer(ctx context.Context, q question, arrived engram.Time, reply *Reply) error {
	reply.About = q.refersTo
	if len(reply.About) == 0 {
		id, err := l.e.meant(ctx, q)
		if err != nil {
			return err
		}
		if !id.IsRoot() {
			reply.About = []engram.ID{id}
		}
	}
	var texts []string
	var rests []engram.ID
	for _, id := range reply.About {
		a, err := l.e.Why(ctx, id, nil)
		switch engram.CodeOf(err) {
		case engram.NotFound, engram.TooOld:
			texts = append(texts, id.Truncate(engram.LevelEntity).Entity()+" is not known, or not any more.")
			continue
		}
		if err != nil {
			return err
		}
		texts = append(texts, a.Text())
		for _, s := range a.Sentences {
			rests = append(rests, s.Links...)
		}
	}
	if len(texts) == 0 {
		texts = []string{"Nothing was found that the question could be about."}
	}
	reply.Text = strings.Join(texts, " ")
	return l.commit(ctx, reply, rests, q.at.Add(max(time.Since(arrived.Std()), 1)))
}

// commit writes an answer.
func (l *listener) commit(ctx context.Context, reply *Reply, rests []engram.ID, at engram.Time) error {
	const name = "engram.speech.Answer"
	typ, err := l.e.tracer.Type(ctx, name)
	if err != nil {
		return err
	}
	if typ == nil {
		return engram.Errorf(engram.NotFound, name, "the memory Speech of this server cannot hold answers; start a newer one")
	}
	b, err := typ.Encode(map[string]any{
		"timestamp": at, "text": reply.Text, "language": "en", "speaker": l.o.Robot,
		"question": reply.Question, "about": list(reply.About), "rests_on": list(slices.DeleteFunc(rests, func(id engram.ID) bool { return slices.Contains(reply.About, id) })),
	})
	if err != nil {
		return err
	}
	entity, err := engram.NewID("Speech", "Answer", l.o.Provider, reply.Question.Entity())
	if err != nil {
		return err
	}
	reply.ID = entity.At(at)
	results, err := l.svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: name, Bytes: b})},
	}}})
	return cmp.Or(err, engram.FirstError(results))
}

// list returns IDs, each once.
func list(ids []engram.ID) []any {
	all := []any{}
	for _, id := range ids {
		if !slices.Contains(all, any(id)) {
			all = append(all, id)
		}
	}
	return all
}
