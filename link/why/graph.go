package why

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/link/service"
)

// node is a snapshot with what it says and what it links to.
type node struct {
	service.Node
	members map[string]any
	out     []arc // in the order of the members
	in      []arc // of the sources that were asked for
}

// arc is a link, and the node at its other end; that is nil if it is not there.
type arc struct {
	path string
	link engram.ID
	to   *node
}

// read reads a trace and returns its start.
func (t *teller) read(start engram.ID, at *engram.Time, d service.Direction, depth int) (first *node, err error) {
	q := service.TraceQuery{Start: start, At: at, Direction: d, Depth: depth, Nodes: maxNodes, Options: service.Options{AsOf: t.o.AsOf, Members: true}}
	for p, err := range t.s.Trace(t.ctx, q) {
		if err != nil {
			return nil, err
		}
		switch {
		case p.Node != nil:
			n := t.node(p.Node)
			if first == nil {
				first = n
			}
		case p.Edge != nil:
			from, to := t.nodes[p.Edge.From], t.nodes[p.Edge.To]
			if from == nil || to == nil {
				continue
			}
			a, b := arc{p.Edge.Path, p.Edge.Link, to}, arc{p.Edge.Path, p.Edge.Link, from}
			if !slices.Contains(from.out, a) {
				from.out = append(from.out, a)
			}
			if !slices.Contains(to.in, b) {
				to.in = append(to.in, b)
			}
		}
	}
	if first == nil {
		return nil, engram.Errorf(engram.NotFound, start.String(), "there is no such snapshot")
	}
	return first, nil
}

// maxNodes bounds what is read for one answer.
const maxNodes = 500

func (t *teller) node(n *service.Node) *node {
	if had := t.nodes[n.ID]; had != nil {
		return had
	}
	made := &node{Node: *n, members: membersOf(n)}
	t.nodes[n.ID] = made
	return made
}

func membersOf(n *service.Node) map[string]any {
	var members map[string]any
	if json.Unmarshal(n.Members, &members) != nil {
		return nil // a payload that is no object, such as a number
	}
	return members
}

// is reports whether a node is of a type, such as "skill.Execution", or of a user's own in the
// core segment of that name.
func (n *node) is(name string) bool {
	if n == nil || n.Missing != "" {
		return false
	}
	of, what, _ := strings.Cut(name, ".")
	return n.Type == "engram."+name || strings.EqualFold(n.ID.Memory()[strings.IndexByte(n.ID.Memory(), ':')+1:], of) && n.ID.CoreSegment() == what
}

func (n *node) text(member string) string {
	s, _ := n.members[member].(string)
	return strings.TrimSpace(s)
}

func (n *node) number(member string) (float64, bool) {
	v, ok := n.members[member].(float64)
	return v, ok
}

func (n *node) dict(member string) map[string]any {
	v, _ := n.members[member].(map[string]any)
	return v
}

// time returns the time that a member says.
func (n *node) time(member string) (engram.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, n.text(member))
	if err != nil || at.UnixNano() == 0 {
		return 0, false
	}
	return engram.TimeOf(at), true
}

// at returns when the node was so.
func (n *node) at() engram.Time {
	at, _ := n.ID.Time()
	return at
}

// to returns what the member of a name links to, directly or as the first of a list, if that
// is there.
func (n *node) to(member string) *node {
	for _, a := range n.out {
		if (a.path == member || strings.HasPrefix(a.path, member+"[") || strings.HasPrefix(a.path, `["`+member+`"]`)) && a.to != n && a.to.Missing == "" {
			return a.to
		}
	}
	return nil
}

// from returns the sources of a type that link to the node, by time.
func (n *node) from(typ string) (found []*node) {
	for _, a := range n.in {
		if a.to.is(typ) && !slices.Contains(found, a.to) && a.to != n {
			found = append(found, a.to)
		}
	}
	slices.SortFunc(found, func(a, b *node) int { return a.ID.Compare(b.ID) })
	slices.SortStableFunc(found, func(a, b *node) int { return int(min(max(a.at()-b.at(), -1), 1)) })
	return found
}

// teller makes one answer.
type teller struct {
	ctx   context.Context
	s     service.Service
	o     Options
	nodes map[engram.ID]*node
	day   time.Time // whose times are told without it
	out   Answer
}

// gone reports whether an error says only that something is not there.
func gone(err error) bool {
	return errors.Is(err, engram.NotFound) || errors.Is(err, engram.Forbidden)
}
