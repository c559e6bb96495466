package client

import (
	"cmp"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
)

// routes are what the names say, made for looking up. They do not change.
type routes struct {
	robot   string           // this robot's name, "" if it has none
	hosts   map[string]*host // by the memory's name here
	own     []*host          // of this robot, sorted by name
	others  []*host          // of other robots, and those of which only copies are known
	servers []*conn          // that host own memories, sorted by identity
	holding map[*conn]bool   // servers that hold copies
	// only is the server that hosts everything, if there is one and no copies are
	// known: it can be asked whatever this client is asked.
	only *conn
}

// host says where a memory is.
type host struct {
	memory string      // its name here, such as "robot1:Object"
	robot  string      // whose it is, if it is another's
	local  string      // its name at the server that hosts it
	owner  *conn       // nil if only copies are known
	since  engram.Time // when its server was last heard, if that is suspected or not known
	copies []holder
}

// holder is a server that holds a copy of a memory.
type holder struct {
	*conn
	memory string // the copy's name there
}

// routes returns the current ones.
func (c *router) routes() *routes {
	if r := c.routed.Load(); r != nil {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.routed.Load(); r != nil {
		return r
	}
	r := &routes{robot: c.robot, hosts: make(map[string]*host, len(c.table)), holding: map[*conn]bool{}}
	home := c.homeServer()
	claimed := map[*conn][]credentials.Claim{}
	for m, e := range c.table {
		h := &host{memory: m, local: e.Local(), since: e.SuspectedSince}
		if robot, _ := engram.SplitName(m); e.Foreign() || e.Server == "" {
			h.robot = cmp.Or(e.Robot, robot)
		}
		if e.Server != "" {
			h.owner = c.connLocked(e.Robot, e.Server, e.Addresses, e.Foreign())
			h.owner.suspected.Store(int64(e.SuspectedSince))
			claimed[h.owner] = append(claimed[h.owner], secure.ClaimOf(m, cmp.Or(e.Robot, r.robot), false))
		}
		for _, held := range e.Copies {
			cn := c.connLocked(held.Robot, held.Server, held.Addresses, held.Robot != r.robot)
			cn.suspected.Store(int64(held.SuspectedSince))
			claimed[cn] = append(claimed[cn], secure.ClaimOf(m, cmp.Or(e.Robot, r.robot), true))
			h.copies = append(h.copies, holder{cn, held.Memory})
			r.holding[cn] = true
		}
		slices.SortStableFunc(h.copies, func(a, b holder) int { return cmp.Compare(a.distance(home), b.distance(home)) })
		r.hosts[m] = h
		if h.robot != "" || h.owner == nil {
			r.others = append(r.others, h)
		} else {
			r.own = append(r.own, h)
		}
	}
	c.claimLocked(claimed)
	byName := func(a, b *host) int { return strings.Compare(a.memory, b.memory) }
	slices.SortFunc(r.own, byName)
	slices.SortFunc(r.others, byName)
	set := map[*conn]bool{}
	for _, h := range r.own {
		set[h.owner] = true
	}
	r.servers = slices.SortedFunc(maps.Keys(set), func(a, b *conn) int { return cmp.Compare(a.server, b.server) })
	if len(r.servers) == 1 && len(r.others) == 0 && len(r.holding) == 0 {
		r.only = r.servers[0]
	}
	c.routed.Store(r)
	return r
}

// distance orders holders: this computer's server before the robot's others, and
// those before other robots'.
func (h holder) distance(home string) int {
	switch {
	case h.server == home:
		return 0
	case !h.foreign:
		return 1
	}
	return 2
}

// name returns the name that a memory has here: without the own robot's.
func (r *routes) name(memory string) string {
	if robot, name := engram.SplitName(memory); robot != "" && robot == r.robot {
		return name
	}
	return memory
}

// find returns where a memory is, or nil.
func (r *routes) find(memory string) *host { return r.hosts[r.name(memory)] }

// selection says which memories a selector selects.
type selection struct {
	r       *routes
	plain   map[string]bool // those listed
	full    map[string]bool // own ones that are listed behind the robot's name, without that
	matcher engram.NameMatcher
	listed  bool
	others  bool // other robots' memories may be selected, too
}

// selection compiles a selector. The error is Invalid or Exhausted.
func (r *routes) selection(s engram.NameSelector) (selection, error) {
	matcher, err := s.Matcher()
	sel := selection{r: r, matcher: matcher, listed: s.Kind == engram.NameOneOf}
	switch {
	case err != nil:
	case sel.listed:
		sel.plain = make(map[string]bool, len(s.Names))
		for _, n := range s.Names {
			if own := r.name(n); own == n {
				sel.plain[n] = true
			} else {
				if sel.full == nil {
					sel.full = map[string]bool{}
				}
				sel.full[own] = true
			}
		}
	case s.Kind == engram.NameRegex:
		sel.others = mentionsColon(s.Regex)
	}
	return sel, err
}

// has reports whether a memory is selected, and whether that is by a name with the own
// robot's before it alone: then it is told by that.
func (s *selection) has(h *host) (selected, full bool) {
	own := s.r.name(h.memory)
	switch {
	case s.listed:
		return s.plain[own] || s.full[own], !s.plain[own]
	case h.robot != "":
		return s.others && s.matcher.Match(own), false
	case s.matcher.Match(own):
		return true, false
	}
	return s.others && s.r.robot != "" && s.matcher.Match(s.r.robot+":"+own), true
}

// all returns the memories that are selected.
func (s *selection) all() []*host {
	var hosts []*host
	add := func(h *host) {
		selected, full := s.has(h)
		if full && selected {
			named := *h
			named.memory = s.r.robot + ":" + h.memory
			h = &named
		}
		if selected {
			hosts = append(hosts, h)
		}
	}
	if s.listed {
		for n := range s.plain {
			if h := s.r.hosts[n]; h != nil {
				add(h)
			}
		}
		for n := range s.full {
			if h := s.r.hosts[n]; h != nil && !s.plain[n] {
				add(h)
			}
		}
		return hosts
	}
	for _, list := range [][]*host{s.r.own, s.r.others} {
		for _, h := range list {
			add(h)
		}
	}
	return hosts
}

// united returns memories that several selectors select, each once, in the order of
// their names. What is selected by its plain name, too, is told by that.
func (r *routes) united(hosts []*host) []*host {
	slices.SortStableFunc(hosts, func(a, b *host) int {
		return cmp.Or(strings.Compare(r.name(a.memory), r.name(b.memory)), cmp.Compare(len(a.memory), len(b.memory)))
	})
	return slices.CompactFunc(hosts, func(a, b *host) bool { return r.name(a.memory) == r.name(b.memory) })
}

// absent returns the listed memories of robots of which nothing is known.
func (s *selection) absent() []string {
	var out []string
	for n := range s.plain {
		if robot, _ := engram.SplitName(n); robot != "" && s.r.hosts[n] == nil && !s.r.knows(robot) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// knows reports whether some server of a robot is known.
func (r *routes) knows(robot string) bool {
	return slices.ContainsFunc(r.others, func(h *host) bool { return h.robot == robot && h.owner != nil })
}

// strangers returns the servers of other robots.
func (r *routes) strangers() []*conn {
	var conns []*conn
	for _, h := range r.others {
		if h.owner != nil && !slices.Contains(conns, h.owner) {
			conns = append(conns, h.owner)
		}
	}
	return conns
}

// mentionsColon reports whether a colon is among what a regex matches literally, and
// not only part of its syntax.
func mentionsColon(expr string) bool {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return false
	}
	var in func(*syntax.Regexp) bool
	in = func(re *syntax.Regexp) bool {
		if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, ':') {
			return true
		}
		// A class of few characters, such as [:;], is one that was written out.
		if re.Op == syntax.OpCharClass && len(re.Rune) <= 8 {
			for i := 0; i < len(re.Rune); i += 2 {
				if re.Rune[i] <= ':' && ':' <= re.Rune[i+1] && re.Rune[i+1]-re.Rune[i] < 8 {
					return true
				}
			}
		}
		return slices.ContainsFunc(re.Sub, in)
	}
	return in(re)
}
