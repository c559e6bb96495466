package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature/links"
	"github.com/seed-301d4374/engram/link/service"
	"github.com/seed-301d4374/engram/mns"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// Links follows links in all memories whose servers are known, those of other robots too: a
// link that a robot wrote is read as that robot names memories. A trace goes from server to
// server. Where a server does not answer, copies that others hold of its memories do; what is
// of it alone is told as missing: of a trace in its parts, of back-links and checks by an error
// of code Unavailable after all else.
func (c *Client) Links() Links { return linking{c} }

// Links follows links.
type Links interface {
	service.Service
	service.Follower
}

// linking implements service.Service and service.Follower over all servers.
type linking struct{ c *Client }

var _ service.Follower = linking{}

// servers returns the servers that may hold links, and names for both ways.
func (l linking) servers() (*routes, []*conn) {
	r := l.c.routes()
	all := slices.Clone(l.c.all())
	add := func(cn *conn) {
		if !slices.Contains(all, cn) {
			all = append(all, cn)
		}
	}
	for _, cn := range r.strangers() {
		add(cn)
	}
	for cn := range r.holding {
		if !cn.foreign {
			add(cn)
		}
	}
	return r, all
}

// alone returns the only server, if there is one, as it is: what it answers has its names.
func (l linking) alone(ctx context.Context) (links.Server, *routes, bool, error) {
	if err := l.c.alive(); err != nil {
		return nil, nil, false, err
	}
	r, all := l.servers()
	switch {
	case len(all) == 0:
		return nil, r, false, l.c.errNobody()
	case len(all) > 1 || all[0].foreign:
		return nil, r, false, nil
	}
	speaker, err := l.speak(ctx, all[0])
	if err != nil {
		return nil, r, false, err
	}
	return links.NewClient(speaker), r, true, nil
}

func (l linking) speak(ctx context.Context, cn *conn) (*rpc.Client, error) {
	if cn.suspectedSince() != 0 {
		speaker, err := reach(ctx, &l.c.router, cn, l.c.speak)
		return speaker, cn.errSuspected(err)
	}
	return l.c.speak(ctx, cn)
}

// there returns how a server names what has an ID here.
func (r *routes) there(cn *conn, id engram.ID) engram.ID {
	name := r.name(id.Memory())
	if cn.foreign {
		switch robot, local := mns.SplitName(name); {
		case robot == cn.robot:
			name = local
		case robot == "" && r.robot != "":
			name = r.robot + ":" + name
		}
	}
	return renamed(id, name)
}

// hither returns the ID here of what a server names so.
func (r *routes) hither(cn *conn, id engram.ID) engram.ID {
	name := id.Memory()
	if robot, _ := mns.SplitName(name); cn.foreign && robot == "" && cn.robot != "" && name != "" {
		name = cn.robot + ":" + name
	}
	return renamed(id, r.name(name))
}

func renamed(id engram.ID, memory string) engram.ID {
	if named, err := id.InMemory(memory); err == nil {
		return named
	}
	return id
}

// patternThere returns a pattern as a server names what it selects.
func (r *routes) patternThere(cn *conn, p engram.Pattern) engram.Pattern {
	if len(p.Levels) == 0 || p.Levels[0].Kind != engram.NameOneOf {
		return p
	}
	names := make([]string, len(p.Levels[0].Names))
	for i, n := range p.Levels[0].Names {
		names[i] = n
		if id, err := engram.NewID(n); err == nil {
			names[i] = r.there(cn, id).Memory()
		}
	}
	levels := slices.Clone(p.Levels)
	levels[0] = engram.OneOf(names...)
	return engram.Pattern{Levels: levels}
}

// each asks all servers at the same time. It returns those that did not answer, with why;
// the error is another one, or that of a server if none has answered.
func (l linking) each(ctx context.Context, ask func(cn *conn, i int, s links.Server) error) (r *routes, servers []*conn, away map[*conn]error, err error) {
	if err := l.c.alive(); err != nil {
		return nil, nil, nil, err
	}
	r, servers = l.servers()
	if len(servers) == 0 {
		return r, nil, nil, l.c.errNobody()
	}
	errs := make([]error, len(servers))
	var wait sync.WaitGroup
	for i, cn := range servers {
		wait.Go(func() {
			speaker, err := l.speak(ctx, cn)
			if err == nil {
				err = ask(cn, i, links.NewClient(speaker))
			}
			errs[i] = err
		})
	}
	wait.Wait()
	away = map[*conn]error{}
	for i, err := range errs {
		switch {
		case err == nil:
		case unanswered(err) || engram.CodeOf(err) == engram.Unsupported:
			away[servers[i]] = err
		default:
			return r, servers, nil, err
		}
	}
	if len(away) == len(servers) {
		return r, servers, nil, errs[0]
	}
	return r, servers, away, nil
}

// errAway says that a server has not answered for what it alone has.
func errAway(away map[*conn]error) error {
	if len(away) == 0 {
		return nil
	}
	names := make([]string, 0, len(away))
	for cn := range away {
		names = append(names, cmp.Or(cn.robot, cn.server))
	}
	slices.Sort(names)
	return engram.Errorf(engram.Unavailable, strings.Join(names, ", "), "it is not reached; what links there are in its memories alone is not known")
}

// BackLinks implements [service.Service].
func (l linking) BackLinks(ctx context.Context, q service.BackQuery) iter.Seq2[service.BackLink, error] {
	return func(yield func(service.BackLink, error) bool) {
		fail := func(err error) { yield(service.BackLink{}, err) }
		only, r, alone, err := l.alone(ctx)
		if err != nil {
			fail(err)
			return
		}
		q.Target = renamed(q.Target, r.name(q.Target.Memory()))
		if alone {
			only.BackLinks(ctx, q)(yield)
			return
		}
		if _, ok := q.Target.Time(); ok && q.Until == nil {
			found, err := l.Resolve(ctx, []service.Ref{{ID: q.Target}}, service.Options{AsOf: q.AsOf, Spans: true})
			if err != nil {
				fail(err)
				return
			}
			q.Until = &found[0].Node.Until
		}
		all, err := l.backLinks(ctx, q)
		for i := range all {
			if q.Limit > 0 && i == q.Limit {
				fail(service.ErrMore)
				return
			}
			if !yield(all[i], nil) {
				return
			}
		}
		if err != nil {
			fail(err)
		}
	}
}

// backLinks returns what all servers say, and which did not.
func (l linking) backLinks(ctx context.Context, q service.BackQuery) ([]service.BackLink, error) {
	r, all := l.servers()
	found := make([][]service.BackLink, len(all))
	var lock sync.Mutex
	more := false
	_, _, away, err := l.each(ctx, func(cn *conn, i int, s links.Server) error {
		asked := q
		asked.Target, asked.From = r.there(cn, q.Target), r.patternThere(cn, q.From)
		var got []service.BackLink
		for b, err := range s.BackLinks(ctx, asked) {
			if errors.Is(err, service.ErrMore) {
				lock.Lock()
				more = true
				lock.Unlock()
				break
			}
			if err != nil {
				return err
			}
			b.Source, b.Target = r.hither(cn, b.Source), r.hither(cn, b.Target)
			got = append(got, b)
		}
		lock.Lock()
		defer lock.Unlock()
		if i >= len(found) { // another server came
			found = append(found, make([][]service.BackLink, i+1-len(found))...)
		}
		found[i] = got
		return nil
	})
	if err != nil {
		return nil, err
	}
	links := slices.Concat(found...)
	slices.SortFunc(links, func(a, b service.BackLink) int {
		return cmp.Or(a.Source.Compare(b.Source), cmp.Compare(a.Arrived, b.Arrived), strings.Compare(a.Path, b.Path), a.Target.Compare(b.Target))
	})
	// A copy and its owner say the same.
	links = slices.CompactFunc(links, func(a, b service.BackLink) bool {
		return a.Source == b.Source && a.Path == b.Path && a.Target == b.Target
	})
	if match, err := q.From.Matcher(); err == nil && len(q.From.Levels) > 0 {
		links = slices.DeleteFunc(links, func(b service.BackLink) bool { return !match.Match(b.Source) })
	}
	if err := errAway(away); err != nil {
		return links, err
	}
	if more && q.Limit > 0 && len(links) >= q.Limit {
		return links, service.ErrMore
	}
	return links, nil
}

// Trace implements [service.Service].
func (l linking) Trace(ctx context.Context, q service.TraceQuery) iter.Seq2[service.Part, error] {
	only, r, alone, err := l.alone(ctx)
	if err != nil {
		return func(yield func(service.Part, error) bool) { yield(service.Part{}, err) }
	}
	q.Start = renamed(q.Start, r.name(q.Start.Memory()))
	if alone {
		return only.Trace(ctx, q)
	}
	return service.Walk(ctx, l, q)
}

// Resolve implements [service.Follower]: the owner of a memory answers, or who has a copy if
// that does not.
func (l linking) Resolve(ctx context.Context, refs []service.Ref, o service.Options) ([]service.Resolved, error) {
	if err := l.c.alive(); err != nil {
		return nil, err
	}
	all := make([]service.Resolved, len(refs))
	byServer := map[*conn][]int{}
	hosts := map[string]*host{}
	for i, ref := range refs {
		all[i].Node = service.Node{ID: ref.ID, First: ref.At, Until: engram.MaxTime, Missing: service.MissingElsewhere}
		name := ref.ID.Memory()
		h, known := hosts[name]
		if !known {
			var err error
			h, err = l.c.where(ctx, name)
			if err != nil && engram.CodeOf(err) != engram.NotFound && !unanswered(err) {
				return nil, err
			}
			hosts[name] = h
			if h == nil && engram.CodeOf(err) != engram.NotFound {
				hosts[name] = &host{memory: name}
			}
		}
		switch {
		case h == nil:
		case h.owner != nil:
			byServer[h.owner] = append(byServer[h.owner], i)
		case len(h.copies) > 0:
			byServer[h.copies[0].conn] = append(byServer[h.copies[0].conn], i)
		default:
			all[i].Node.Missing = engram.MissingUnreachable
		}
	}
	for retry := 0; len(byServer) > 0; retry++ {
		failed, err := l.resolveAt(ctx, byServer, refs, o, all)
		if err != nil {
			return nil, err
		}
		byServer = map[*conn][]int{}
		for cn, places := range failed {
			for _, i := range places {
				h := hosts[refs[i].ID.Memory()]
				k := slices.IndexFunc(h.copies, func(held holder) bool { return held.conn != cn })
				if retry == 0 && k >= 0 {
					byServer[h.copies[k].conn] = append(byServer[h.copies[k].conn], i)
				} else {
					all[i].Node.Missing = engram.MissingUnreachable
				}
			}
		}
	}
	return all, nil
}

// resolveAt asks servers for the references at the places, and returns what was not answered.
func (l linking) resolveAt(ctx context.Context, byServer map[*conn][]int, refs []service.Ref, o service.Options, all []service.Resolved) (map[*conn][]int, error) {
	r := l.c.routes()
	failed := map[*conn][]int{}
	var lock sync.Mutex
	var wait sync.WaitGroup
	var first error
	for cn, places := range byServer {
		wait.Go(func() {
			asked := make([]service.Ref, len(places))
			for k, i := range places {
				asked[k] = service.Ref{ID: r.there(cn, refs[i].ID), At: refs[i].At}
			}
			speaker, err := l.speak(ctx, cn)
			var found []service.Resolved
			if err == nil {
				found, err = links.NewClient(speaker).Resolve(ctx, asked, o)
			}
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err == nil:
				for k, i := range places {
					r.translate(cn, &found[k].Node, found[k].Links)
					all[i] = found[k]
				}
			case unanswered(err) || engram.CodeOf(err) == engram.Unsupported:
				failed[cn] = places
			case first == nil:
				first = err
			}
		})
	}
	wait.Wait()
	return failed, first
}

// translate gives a node and its links the names here.
func (r *routes) translate(cn *conn, n *service.Node, links []service.Link) {
	n.ID = r.hither(cn, n.ID)
	for i := range links {
		links[i].ID = r.hither(cn, links[i].ID)
	}
}

// Sources implements [service.Follower]: all servers are asked.
func (l linking) Sources(ctx context.Context, nodes []service.Span, o service.Options) ([]service.Sources, error) {
	r := l.c.routes()
	var lock sync.Mutex
	found := map[*conn][]service.Sources{}
	_, servers, away, err := l.each(ctx, func(cn *conn, _ int, s links.Server) error {
		asked := make([]service.Span, len(nodes))
		for i, n := range nodes {
			asked[i] = n
			asked[i].ID = r.there(cn, n.ID)
		}
		there := o
		there.Within = nil
		for _, p := range o.Within {
			there.Within = append(there.Within, r.patternThere(cn, p))
		}
		got, err := s.Sources(ctx, asked, there)
		if err != nil {
			return err
		}
		for i := range got {
			for k := range got[i].Of {
				r.translate(cn, &got[i].Of[k].Node, got[i].Of[k].Links)
			}
		}
		lock.Lock()
		defer lock.Unlock()
		found[cn] = got
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]service.Sources, len(nodes))
	for i := range all {
		had := map[engram.ID]bool{}
		for _, cn := range servers {
			if found[cn] == nil {
				continue
			}
			all[i].More = all[i].More || found[cn][i].More
			for _, s := range found[cn][i].Of {
				if !had[s.Node.ID] { // an owner and its copy say the same
					had[s.Node.ID] = true
					all[i].Of = append(all[i].Of, s)
				}
			}
		}
		slices.SortFunc(all[i].Of, func(a, b service.Source) int { return a.Node.ID.Compare(b.Node.ID) })
		for cn := range maps.Keys(away) {
			all[i].Away = append(all[i].Away, cmp.Or(cn.robot, cn.server))
		}
		slices.Sort(all[i].Away)
	}
	return all, nil
}

// Check implements [service.Service].
func (l linking) Check(ctx context.Context, q service.CheckQuery) ([]service.Checked, error) {
	r := l.c.routes()
	type key struct {
		provider engram.ID
		typ      string
	}
	var lock sync.Mutex
	found := map[key]service.Checked{}
	_, _, away, err := l.each(ctx, func(cn *conn, _ int, s links.Server) error {
		asked := q
		asked.Of = r.patternThere(cn, q.Of)
		got, err := s.Check(ctx, asked)
		if err != nil {
			return err
		}
		lock.Lock()
		defer lock.Unlock()
		for _, c := range got {
			c.Provider, c.Example = r.hither(cn, c.Provider), r.hither(cn, c.Example)
			c.DanglingExample[0], c.DanglingExample[1] = r.hither(cn, c.DanglingExample[0]), r.hither(cn, c.DanglingExample[1])
			k := key{c.Provider, c.Type}
			if had, ok := found[k]; !ok || had.Results < c.Results {
				found[k] = c
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b service.Checked) int {
		return cmp.Or(a.Provider.Compare(b.Provider), strings.Compare(a.Type, b.Type))
	})
	return all, errAway(away)
}
