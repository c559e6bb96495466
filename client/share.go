package client

import (
	"slices"

	"github.com/seed-301d4374/engram"
)

// share is what one server is asked of a question to several.
type share struct {
	conn   *conn
	hosts  []*host  // the memories that it is asked about
	locals []string // their names at the server
	// names are the memories' names here by those at the server; nil if all are the
	// same.
	names map[string]string
	// copies says that the server is asked for its copies, and away that it is because
	// the owner was not reached.
	copies, away bool
	whole        bool // the question goes to the server as it was asked
	// few says that other servers are asked, too: then none may keep the answer waiting.
	few bool
}

// add adds a memory under its name at the server.
func (sh *share) add(h *host, local string) {
	sh.hosts, sh.locals = append(sh.hosts, h), append(sh.locals, local)
	if sh.names == nil && local == h.memory {
		return
	}
	if sh.names == nil {
		sh.names = make(map[string]string, len(sh.hosts))
		for i, before := range sh.hosts {
			sh.names[sh.locals[i]] = before.memory
		}
	}
	sh.names[local] = h.memory
}

// shares are what servers are asked.
type shares []*share

// put puts a memory into the share of a server.
func (s *shares) put(cn *conn, copies, away bool, h *host, local string) {
	i := slices.IndexFunc(*s, func(sh *share) bool { return sh.conn == cn && sh.copies == copies })
	if i < 0 {
		i = len(*s)
		*s = append(*s, &share{conn: cn, copies: copies, away: away})
	}
	(*s)[i].add(h, local)
}

// divide puts memories into shares of the servers that are to answer for them. Those
// that nobody may answer for are returned.
func divide(hosts []*host, source engram.Source) (s shares, nobody []*host) {
	for _, h := range hosts {
		switch {
		case source == engram.SourceCopy && len(h.copies) > 0, source == engram.SourceNear && h.isNear():
			s.put(h.copies[0].conn, true, false, h, h.copies[0].memory)
		case h.owner != nil:
			s.put(h.owner, false, false, h, h.local)
		case source != engram.SourceOwner && len(h.copies) > 0:
			s.put(h.copies[0].conn, true, true, h, h.copies[0].memory)
		default:
			nobody = append(nobody, h)
		}
	}
	for _, sh := range s {
		sh.few = len(s) > 1
	}
	return s, nobody
}

// isNear reports whether the own robot holds a copy of another one's memory.
func (h *host) isNear() bool { return h.robot != "" && len(h.copies) > 0 && !h.copies[0].foreign }

// standIn returns the shares of copies of what a share asks its owner for, without
// those of servers that were tried.
func (sh *share) standIn(tried map[*conn]bool) (s shares) {
	for _, h := range sh.hosts {
		i := slices.IndexFunc(h.copies, func(held holder) bool { return !tried[held.conn] })
		if i >= 0 {
			s.put(h.copies[i].conn, true, true, h, h.copies[i].memory)
		}
	}
	for _, held := range s {
		held.few = true
	}
	return s
}

// query returns what the share's server is asked of a query.
func (sh *share) query(q engram.Query, nodes []selection, own string) engram.Query {
	there := own // the robot whose memories bear no name at the server
	if sh.conn.foreign {
		there = sh.conn.robot
	}
	q.LinksTo = slices.Clone(q.LinksTo)
	for i := range q.LinksTo {
		q.LinksTo[i] = q.LinksTo[i].Renamed(own, there)
	}
	if sh.whole {
		return q
	}
	asked := q.Memories
	q.Memories = make([]engram.QueryNode, 0, len(asked))
	for i := range asked {
		var names []string
		for k, h := range sh.hosts {
			if selected, _ := nodes[i].has(h); selected {
				names = append(names, sh.locals[k])
			}
		}
		if len(names) > 0 {
			node := asked[i]
			node.Names = engram.OneOf(names...)
			q.Memories = append(q.Memories, node)
		}
	}
	return q
}

// pattern returns the part of a pattern that selects what the share has.
func (sh *share) pattern(p engram.Pattern) engram.Pattern {
	if sh.whole {
		return p
	}
	levels := slices.Clone(p.Levels)
	if len(levels) == 0 {
		levels = make([]engram.NameSelector, 1)
	}
	levels[0] = engram.OneOf(sh.locals...)
	return engram.Pattern{Levels: levels}
}

// here returns an ID of the server as it is known here; ok is false if it is of a
// memory that the server was not asked about.
func (sh *share) here(id engram.ID) (engram.ID, bool) {
	if sh.names == nil || id.IsRoot() {
		return id, true
	}
	name, ok := sh.names[id.Memory()]
	if !ok {
		return id, false
	}
	id, err := id.InMemory(name)
	return id, err == nil
}

// missing returns what the server says is missing, by the names here.
func (sh *share) missing(m engram.Missing) engram.Missing {
	m.ID, _ = sh.here(m.ID)
	m.Example, _ = sh.here(m.Example)
	return m
}

// translate makes the server's answer one with the names that memories have here.
func (sh *share) translate(r *engram.Result) {
	for i := range r.Copies {
		r.Copies[i].Server = sh.conn.server
		r.Copies[i].Away = sh.away
	}
	if sh.names == nil {
		return
	}
	sorted := true
	for i, n := range r.Memories {
		if name, ok := sh.names[n.Name]; ok {
			n.Name = name
		}
		sorted = sorted && (i == 0 || r.Memories[i-1].Name < n.Name)
	}
	if !sorted {
		slices.SortFunc(r.Memories, func(a, b *engram.ResultNode) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
	}
	for i := range r.Missing {
		r.Missing[i] = sh.missing(r.Missing[i])
	}
	for i := range r.Copies {
		if name, ok := sh.names[r.Copies[i].Memory]; ok {
			r.Copies[i].Memory = name
		}
	}
}

// used adds to the first part of an answer from copies that it is from them.
func (sh *share) used(r *engram.Result) {
	if !sh.copies {
		return
	}
	for _, h := range sh.hosts {
		if !slices.ContainsFunc(r.Copies, func(c engram.CopyUsed) bool { return c.Memory == h.memory }) {
			r.Copies = append(r.Copies, engram.CopyUsed{Memory: h.memory, Server: sh.conn.server, Away: sh.away})
		}
	}
}

// missing says that the owners of memories have not answered, and why.
func missing(hosts []*host, reason string) []engram.Missing {
	var out []engram.Missing
	for _, h := range hosts {
		out = append(out, missingMemory(h.memory, reason, h.lastHeard())...)
	}
	return out
}

func missingMemory(memory, reason string, since engram.Time) []engram.Missing {
	id, err := engram.NewID(memory)
	if err != nil {
		return nil // no memory has such a name
	}
	return []engram.Missing{{ID: id, Reason: reason, Interval: engram.Always(), Since: since}}
}
