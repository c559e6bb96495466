package reason

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/link"
)

// Memory is what reasons are looked for in.
type Memory = link.Memory

// Sentence is a part of an answer.
type Sentence struct {
	Text  string
	Links []engram.ID // the snapshots and activities that it rests on, in the order of its words
}

// Answer says why.
type Answer struct {
	Of        engram.ID // the snapshot, or the entity of the activity, that was asked about
	Sentences []Sentence
	// Cut is at least how many more causes there are that were not looked at, see [link.Trace.Cut].
	Cut int
}

// Text returns all sentences.
func (a *Answer) Text() string {
	var all []string
	for _, s := range a.Sentences {
		all = append(all, s.Text)
	}
	return strings.Join(all, " ")
}

// Explainer answers. Safe for concurrent use.
type Explainer struct {
	m      Memory
	tracer *link.Tracer
}

// New returns an explainer; robot is as for [link.New].
func New(m Memory, robot string) *Explainer { return &Explainer{m, link.New(m, robot)} }

// Bounds of what is looked at for an answer.
const (
	mostCauses  = 300
	mostEffects = 1000
	deepest     = 6 // calls of calls whose failures are told
)

// Why says why a snapshot, the newest of an entity, or an activity is as it is; asOf is nil, or by what was known then. Errors
// are those of [link.Tracer.Trace].
func (e *Explainer) Why(ctx context.Context, id engram.ID, asOf *engram.Time) (*Answer, error) {
	up, err := e.tracer.Trace(ctx, id, link.Options{Nodes: mostCauses, AsOf: asOf})
	if err != nil {
		return nil, err
	}
	s := &story{Explainer: e, ctx: ctx, asOf: asOf, things: map[engram.ID]*thing{}, told: map[engram.ID]bool{}}
	if err := s.add(up); err != nil {
		return nil, err
	}
	root := s.things[up.Nodes[0].ID]
	if i, one := id.Index(); one && s.things[root.id.Instance(i)] != nil {
		root = s.things[root.id.Instance(i)]
	}
	a := &Answer{Of: root.id, Cut: up.Cut}
	if err := s.tell(root); err != nil {
		return nil, err
	}
	a.Sentences = s.sentences
	return a, nil
}

// story is one answer as it is put together.
type story struct {
	*Explainer
	ctx       context.Context
	asOf      *engram.Time
	date      string // that was told last
	things    map[engram.ID]*thing
	told      map[engram.ID]bool // activities, and movements
	sentences []Sentence
}

// thing is a node of a trace, with what it holds.
type thing struct {
	id           engram.ID
	typ          string
	began, ended engram.Time    // of a snapshot both are its time
	value        map[string]any // of an instance of the last snapshot
	missing      string
	causes       []cause
}

// cause is a link of a thing.
type cause struct {
	member string
	to     *thing
}

// add adds the nodes and links of a trace.
func (s *story) add(t *link.Trace) error {
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if had := s.things[n.ID]; had != nil {
			continue
		}
		if len(n.Snapshots) == 0 {
			of := &thing{id: n.ID, missing: n.Missing}
			if at, ok := n.ID.Time(); ok {
				of.began, of.ended = at, at
			}
			s.things[n.ID] = of
			continue
		}
		last := n.Snapshots[len(n.Snapshots)-1]
		for k := range last.Instances {
			p := last.Instances[k].Payload
			of := &thing{id: n.ID, typ: p.Type, began: n.Snapshots[0].Time, ended: last.Time}
			v, err := s.tracer.Decode(s.ctx, p)
			if err != nil {
				return err
			}
			of.value, _ = v.(map[string]any)
			if k == 0 {
				s.things[n.ID] = of
			}
			if !n.IsActivity() {
				s.things[n.ID.Instance(k)] = of // the first, too, which has the causes of all
			}
		}
	}
	for _, l := range t.Links {
		from, to := s.things[t.Nodes[l.From].ID], s.things[t.Nodes[l.To].ID]
		if one := s.things[l.ID]; one != nil {
			to = one
		}
		member, _, _ := strings.Cut(l.Path, "[")
		if c := (cause{member, to}); !slices.Contains(from.causes, c) {
			from.causes = append(from.causes, c)
		}
	}
	return nil
}

// to returns what a member of a thing links to, nil if it links to nothing.
func (t *thing) to(member string) *thing {
	for _, c := range t.causes {
		if c.member == member {
			return c.to
		}
	}
	return nil
}

// linked returns the name of the entity that a member links to, also where the link was not followed; "" if it links to none.
func (t *thing) linked(member string) string {
	id, _ := t.value[member].(engram.ID)
	return id.Entity()
}

// text returns a member that is a text.
func (t *thing) text(member string) string {
	text, _ := t.value[member].(string)
	return text
}

// say adds a sentence.
func (s *story) say(w *words) {
	text := strings.TrimSpace(w.b.String())
	if text == "" {
		return
	}
	if last := text[len(text)-1]; last != '.' && last != '!' && last != '?' {
		text += "."
	}
	first, n := utf8.DecodeRuneInString(text)
	s.sentences = append(s.sentences, Sentence{string(unicode.ToUpper(first)) + text[n:], w.links})
}
