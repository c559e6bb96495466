package episode

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	ltmv1 "github.com/seed-301d4374/engram/gen/engram/ltm/v1"
	"github.com/seed-301d4374/engram/query"
)

// maxListed bounds the links that a writer gathers, in RAM. An episode with more of them
// has no list.
const maxListed = 1 << 20

// linkList is the list of links that a writer gathers.
type linkList struct {
	query.Links        // names and paths
	count       int    // of links
	none        bool   // not all links are known: there will be no list
	sealed      []byte // as it was written
	from        *adoptedLinks
}

// adoptedLinks are the links in an episode that another one is made of.
type adoptedLinks struct {
	*query.Links
	of map[engram.ID]map[[2]engram.Time][]query.Link // by entity, time and arrival
}

// listLocked gathers the links of a version whose payloads are given.
func (w *coder) listLocked(e *writeEntity, s *engram.Snapshot) {
	l := &w.mu.links
	if l.none {
		return
	}
	can, known := query.CanLink(w.opts.Types, s)
	if l.none = !known; !can || !known {
		return
	}
	n := len(e.links)
	e.canLink, e.links = true, l.Append(e.links, w.opts.Types, s)
	l.grow(len(e.links) - n)
}

// adoptLinksLocked takes over the links of a version of the episode that is adopted.
func (w *coder) adoptLinksLocked(e *writeEntity, s *engram.Snapshot) {
	l := &w.mu.links
	if l.none {
		return
	}
	of, can := l.from.of[e.id]
	if !can {
		return
	}
	e.canLink = true
	links := of[[2]engram.Time{s.Time, s.Arrived}]
	for _, x := range links {
		x.Member, x.Target = l.Member(l.from.Members[x.Member]), l.Name(l.from.Names[x.Target])
		e.links = append(e.links, x)
	}
	l.grow(len(links))
}

func (l *linkList) grow(n int) {
	l.count += n
	l.none = l.none || l.count > maxListed
}

// adoptFrom prepares to take over the list of another episode; data is nil if it has none.
func (l *linkList) adoptFrom(data []byte) {
	found, err := ParseLinks(data)
	if data == nil || err != nil {
		l.none = true
		return
	}
	l.from = &adoptedLinks{found, map[engram.ID]map[[2]engram.Time][]query.Link{}}
	rest := found.List
	for _, e := range found.Entities {
		id, err := engram.Parse(found.Names[e.Name])
		if err != nil {
			l.none = true
			return
		}
		of := map[[2]engram.Time][]query.Link{}
		for _, x := range rest[:e.Count] {
			k := [2]engram.Time{x.Time, x.Arrived}
			of[k] = append(of[k], x)
		}
		l.from.of[id], rest = of, rest[e.Count:]
	}
}

// end returns the list as it is written, nil if there is none; entities are sorted.
func (l *linkList) end(entities []*writeEntity) (list []byte, err error) {
	if l.none {
		return nil, nil
	}
	m := &ltmv1.Links{}
	var last query.Link
	for _, e := range entities {
		if !e.canLink {
			continue
		}
		e.view.Lock()
		recorded, arrived, late := e.view.Recorded, e.view.Arrived.End, e.view.late
		e.view.Unlock()
		m.Entity, m.Links = append(m.Entity, l.Name(e.topic)), append(m.Links, uint32(len(e.links)))
		m.RecordedStart, m.RecordedSpan = append(m.RecordedStart, int64(recorded.Start)), append(m.RecordedSpan, uint64(recorded.End-recorded.Start))
		m.ArrivedEnd, m.Late = append(m.ArrivedEnd, int64(arrived)), append(m.Late, late)
		for _, x := range e.links {
			m.Time, m.Arrived = append(m.Time, int64(x.Time-last.Time)), append(m.Arrived, int64(x.Arrived-last.Arrived))
			m.Instance, m.AtMember, m.Target = append(m.Instance, x.Instance), append(m.AtMember, x.Member), append(m.Target, x.Target)
			m.TargetTime, m.TargetLevel = append(m.TargetTime, int64(x.TargetTime-last.TargetTime)), append(m.TargetLevel, x.TargetLevel)
			last = x
		}
	}
	m.Name, m.Member = l.Names, l.Members
	l.sealed, err = proto.MarshalOptions{}.MarshalAppend([]byte{}, m)
	return l.sealed, err
}

// ParseLinks reads a list of links.
func ParseLinks(data []byte) (*query.Links, error) { return new(LinksParser).Parse(data) }

// LinksParser reads lists of links, in which the same names stand again and again. Its zero
// value is ready.
type LinksParser struct {
	texts   map[string]string
	columns [linksTargetLevel + 1][]uint64
	links   query.Links
}

// Numbers of the members of engram.ltm.v1.Links.
const (
	linksName = iota + 1
	linksMember
	linksEntity
	linksLinks
	linksRecordedStart
	linksRecordedSpan
	linksArrivedEnd
	linksLate
	linksTime
	linksArrived
	linksInstance
	linksAtMember
	linksTarget
	linksTargetTime
	linksTargetLevel
)

// maxTexts bounds the names that are kept.
const maxTexts = 100_000

// text returns a text, one that was there before if it can.
func (p *LinksParser) text(b []byte) string {
	if s, ok := p.texts[string(b)]; ok {
		return s
	}
	if p.texts == nil || len(p.texts) == maxTexts {
		p.texts = map[string]string{}
	}
	s := string(b)
	p.texts[s] = s
	return s
}

var errLinks = engram.Errorf(engram.Corrupt, "", "the list of links cannot be read")

// Parse reads a list. It holds until the next one is read.
func (p *LinksParser) Parse(data []byte) (*query.Links, error) {
	l, c := &p.links, &p.columns
	l.Names, l.Members, l.Entities, l.List = l.Names[:0], l.Members[:0], l.Entities[:0], l.List[:0]
	for i := range c {
		c[i] = c[i][:0]
	}
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, errLinks
		}
		data = data[n:]
		if typ != protowire.BytesType || num > linksTargetLevel { // what later versions may add
			if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
				return nil, errLinks
			}
			data = data[n:]
			continue
		}
		b, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return nil, errLinks
		}
		data = data[n:]
		switch num {
		case linksName:
			l.Names = append(l.Names, p.text(b))
		case linksMember:
			l.Members = append(l.Members, p.text(b))
		default:
			for len(b) > 0 {
				v, n := protowire.ConsumeVarint(b)
				if n < 0 {
					return nil, errLinks
				}
				c[num], b = append(c[num], v), b[n:]
			}
		}
	}
	return l, p.join()
}

// join makes entities and links of the columns.
func (p *LinksParser) join() error {
	l, c := &p.links, &p.columns
	for i := linksEntity; i <= linksTargetLevel; i++ {
		first := linksEntity
		if i >= linksTime {
			first = linksTime
		}
		if len(c[i]) != len(c[first]) {
			return errLinks
		}
	}
	counted := uint64(0)
	for i, name := range c[linksEntity] {
		n := c[linksLinks][i]
		if counted += n; name >= uint64(len(l.Names)) || n > uint64(len(c[linksTime])) {
			return errLinks
		}
		start := engram.Time(protowire.DecodeZigZag(c[linksRecordedStart][i]))
		l.Entities = append(l.Entities, query.LinkingEntity{
			Name: uint32(name), Count: uint32(n), Recorded: engram.Interval{Start: start, End: start + engram.Time(c[linksRecordedSpan][i])},
			ArrivedEnd: engram.Time(protowire.DecodeZigZag(c[linksArrivedEnd][i])), Late: c[linksLate][i] != 0,
		})
	}
	if counted != uint64(len(c[linksTime])) {
		return errLinks
	}
	add := func(t *engram.Time, difference uint64) { *t += engram.Time(protowire.DecodeZigZag(difference)) }
	var last query.Link
	for i := range c[linksTime] {
		add(&last.Time, c[linksTime][i])
		add(&last.Arrived, c[linksArrived][i])
		add(&last.TargetTime, c[linksTargetTime][i])
		instance, member, target, level := c[linksInstance][i], c[linksAtMember][i], c[linksTarget][i], c[linksTargetLevel][i]
		if instance > engram.MaxIndex || member >= uint64(len(l.Members)) || target >= uint64(len(l.Names)) || level > engram.MaxIndex+2 {
			return errLinks
		}
		last.Instance, last.Member, last.Target, last.TargetLevel = uint32(instance), uint32(member), uint32(target), uint32(level)
		l.List = append(l.List, last)
	}
	return nil
}

// Links implements [Source].
func (w *Writer) Links() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.links.sealed
}
