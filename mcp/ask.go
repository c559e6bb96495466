package mcp

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/knowledge/prolog"
	"github.com/seed-301d4374/engram/knowledge/service"
	linkservice "github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/link/why"
)

const askDescription = `Asks what is known: the memory Knowledge, the world, skills, and what follows from all that by OWL.
A question is a pattern of triples, what must hold, separated by semicolons, with variables such as ?x. Names stand for what alone has them, or have a prefix: world:cup is an item of the world. Examples:
  ?x on table
  ?x insidePlace kitchen; ?x type ?class
  ?x near world:'cup'
  ?room roomNumber "3001"; ?s properPhysicalParts+ ?room
  ?x heightOfObject ?h; where ?h < 0.2; select ?x, ?h
"text" is any literal with this text, ~"text" a regular expression, + one or more steps, ^ the other way round, not { } what must not be. Relations such as on, in, above, near and leftOf follow from poses and boxes.
With language class it is a class expression in OWL's Manchester syntax, with prolog a goal for KnowRob's predicates (rdf_has/3, owl_individual_of/2, holds/2 …).`

type askIn struct {
	Question string `json:"question" jsonschema:"such as: ?x on table"`
	Language string `json:"language,omitempty" jsonschema:"pattern (default), class or prolog"`
	At       string `json:"at,omitempty" jsonschema:"what was so at this time; default now"`
	AsOf     string `json:"as_of,omitempty" jsonschema:"as it was known at this time"`
	Why      bool   `json:"why,omitempty" jsonschema:"tell of each row which facts it rests on"`
	Limit    int    `json:"limit,omitempty" jsonschema:"how many rows at most, up to 200; default 20"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type askOut struct {
	Rows []row  `json:"rows" jsonschema:"none: it is not known to be so"`
	Next string `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type row struct {
	Values      map[string]string `json:"values" jsonschema:"variables and what they stand for; none if the question has no variables and holds"`
	Probability float64           `json:"probability,omitempty" jsonschema:"below 1 where it rests on uncertain poses"`
	Why         []string          `json:"why,omitempty" jsonschema:"facts, with the IDs of the snapshots that say so"`
}

func (s *Server) ask(ctx context.Context, in askIn) (out askOut, _ extra, err error) {
	limit, err := limitOf(in.Limit, someItems)
	if err != nil {
		return out, nil, err
	}
	language, ok := map[string]service.Language{"": service.Pattern, "pattern": service.Pattern, "class": service.Class, "prolog": service.Prolog}[in.Language]
	if !ok {
		return out, nil, engram.Errorf(engram.Invalid, in.Language, "language is pattern, class or prolog")
	}
	skipped := 0
	place, err := placeOf(in.Cursor, 1)
	if err != nil {
		return out, nil, err
	}
	if place != nil {
		if skipped, err = strconv.Atoi(place[0]); err != nil || skipped < 0 {
			return out, nil, engram.Errorf(engram.Invalid, in.Cursor, "this is no cursor of this tool")
		}
	}
	q := service.Question{Language: language, Text: in.Question, Why: in.Why, Limits: service.Limits{Time: 30 * time.Second}}
	if q.At, q.AsOf, err = times(in.At, in.AsOf); err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	out.Rows = []row{}
	names := prolog.NewProgram() // shortens IRIs
	n, room := 0, answerBytes
	for r, err := range m.Knowledge().Ask(ctx, q) {
		if errors.Is(err, service.ErrMore) {
			break
		}
		if err != nil {
			return out, nil, err
		}
		if n++; n <= skipped {
			continue
		}
		o := row{Values: map[string]string{}, Why: factsOf(r.Why)}
		if r.Probability < 1 {
			o.Probability = r.Probability
		}
		for i, name := range r.Names {
			if i < len(r.Texts) {
				o.Values[name] = names.Shorten(r.Texts[i])
				room -= len(name) + len(o.Values[name]) + 10
			}
		}
		for _, f := range o.Why {
			room -= len(f) + 4
		}
		if len(out.Rows) == limit || room < 0 && len(out.Rows) > 0 {
			out.Next = cursorOf(strconv.Itoa(skipped + len(out.Rows)))
			break
		}
		out.Rows = append(out.Rows, o)
	}
	return out, nil, nil
}

// factsOf returns what a row rests on, at most twenty facts.
func factsOf(reasons []service.Reason) (texts []string) {
	for _, r := range reasons {
		for _, f := range r.Facts {
			if len(texts) == 20 {
				return append(texts, "… and more")
			}
			text := strings.Join(f.Triple[:], " ")
			if len(f.Links) > 0 {
				text += "  (" + strings.Join(f.Links[:min(len(f.Links), 5)], ", ") + ")"
			}
			texts = append(texts, text)
		}
	}
	return texts
}

type traceIn struct {
	ID        string `json:"id" jsonschema:"an entity, a snapshot or an instance"`
	Direction string `json:"direction,omitempty" jsonschema:"up to all that led to it (default), down to all that came of it, or both"`
	At        string `json:"at,omitempty" jsonschema:"of an entity: its newest snapshot at this time; default now"`
	AsOf      string `json:"as_of,omitempty" jsonschema:"what was known at this time"`
	Depth     int    `json:"depth,omitempty" jsonschema:"how many links away; default 20"`
	Limit     int    `json:"limit,omitempty" jsonschema:"how many snapshots at most, up to 200; default 50"`
}

type traceOut struct {
	Nodes []traceNode `json:"nodes" jsonschema:"the start, and what the links lead to, nearest first"`
	Edges []traceEdge `json:"edges" jsonschema:"a link from the payload of one node to another"`
	More  []string    `json:"more,omitempty" jsonschema:"what the trace does not have, and how to get it"`
}

type traceNode struct {
	ID      string `json:"id"`
	URI     string `json:"uri"`
	Depth   int    `json:"depth" jsonschema:"links from the start"`
	Type    string `json:"type,omitempty"`
	Says    string `json:"says,omitempty" jsonschema:"what it is about, in a few words"`
	Missing string `json:"missing,omitempty" jsonschema:"why it is not there: evicted, forgotten, never there, no right …"`
}

type traceEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Path string `json:"path" jsonschema:"member of from that holds the link"`
}

func (s *Server) trace(ctx context.Context, in traceIn) (out traceOut, _ extra, err error) {
	limit, err := limitOf(in.Limit, 50)
	if err != nil {
		return out, nil, err
	}
	direction, ok := map[string]linkservice.Direction{"": linkservice.Up, "up": linkservice.Up, "down": linkservice.Down, "both": linkservice.Both}[in.Direction]
	if !ok {
		return out, nil, engram.Errorf(engram.Invalid, in.Direction, "direction is up, down or both")
	}
	if in.Depth < 0 || in.Depth > linkservice.MaxDepth {
		return out, nil, engram.Errorf(engram.OutOfRange, "depth", "it is from 1 to %d", linkservice.MaxDepth)
	}
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	q := linkservice.TraceQuery{Direction: direction, Depth: in.Depth, Nodes: limit}
	if in.Depth == 0 {
		q.Depth = linkservice.DefaultDepth
	}
	q.Members = true
	if q.Start, err = t.id(); err != nil {
		return out, nil, err
	}
	if q.At, q.AsOf, err = times(in.At, in.AsOf); err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	out.Nodes, out.Edges = []traceNode{}, []traceEdge{}
	room, left := answerBytes, map[engram.ID]bool{}
	for p, err := range m.Links().Trace(ctx, q) {
		if err != nil {
			return out, nil, err
		}
		switch {
		case p.Node != nil:
			o := traceNode{ID: p.Node.ID.String(), URI: uriOf(p.Node.ID), Depth: p.Node.Depth, Type: p.Node.Type, Missing: p.Node.Missing}
			if p.Node.Missing == "" {
				o.Says = why.Short(p.Node)
			}
			if room -= len(o.ID) + len(o.URI) + len(o.Says) + 100; room < 0 && len(out.Nodes) > 0 {
				left[p.Node.ID] = true
				continue
			}
			out.Nodes = append(out.Nodes, o)
		case p.Edge != nil:
			if left[p.Edge.From] || left[p.Edge.To] {
				continue
			}
			o := traceEdge{p.Edge.From.String(), p.Edge.To.String(), p.Edge.Path}
			if room -= len(o.From) + len(o.To) + len(o.Path) + 40; room >= 0 {
				out.Edges = append(out.Edges, o)
			}
		default:
			out.More = append(out.More, moreText(&p))
		}
	}
	if room < 0 {
		out.More = append(out.More, "the answer had no room for all of it; trace its farthest nodes, or with a smaller depth")
	}
	if len(out.Nodes) == 1 && out.Nodes[0].Missing == linkservice.MissingNever {
		return out, nil, s.nothing(ctx, t, nil)
	}
	return out, nil, nil
}

func moreText(p *linkservice.Part) string {
	switch p.More {
	case "depth":
		return "it goes on beyond this depth; trace its farthest nodes, or give a greater depth"
	case "nodes":
		return "there are more snapshots; trace its farthest nodes, or give a greater limit"
	case "links":
		return "more links lead to " + p.Detail + " than are followed"
	case "server":
		return p.Detail + " is not reached; what is there alone is not in the trace"
	}
	return p.More + " " + p.Detail
}

type whyIn struct {
	ID   string `json:"id" jsonschema:"an entity, a snapshot or an instance, such as an execution of a skill"`
	At   string `json:"at,omitempty" jsonschema:"of an entity: its newest snapshot at this time; default now"`
	AsOf string `json:"as_of,omitempty" jsonschema:"what was known at this time"`
}

type whyOut struct {
	Text  string    `json:"text"`
	Parts []whyPart `json:"parts" jsonschema:"the parts of the text, with what says so"`
}

type whyPart struct {
	Text string   `json:"text"`
	IDs  []string `json:"ids,omitempty" jsonschema:"snapshots that it rests on"`
}

func (s *Server) why(ctx context.Context, in whyIn) (out whyOut, _ extra, err error) {
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	id, err := t.id()
	if err != nil {
		return out, nil, err
	}
	o := why.Options{Now: engram.Now()}
	if o.At, o.AsOf, err = times(in.At, in.AsOf); err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	a, err := why.Explain(ctx, m.Links(), id, o)
	if engram.CodeOf(err) == engram.NotFound {
		return out, nil, s.nothing(ctx, t, nil)
	}
	if err != nil {
		return out, nil, err
	}
	out.Text, out.Parts = a.Text(), []whyPart{}
	for _, p := range a.Parts {
		o := whyPart{Text: p.Text}
		for _, l := range p.Links[:min(len(p.Links), 10)] {
			o.IDs = append(o.IDs, l.String())
		}
		out.Parts = append(out.Parts, o)
	}
	return out, nil, nil
}
