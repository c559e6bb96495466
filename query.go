package engram

import (
	"strings"
	"time"
)

// Target says which memory answers a query.
type Target uint8

// The targets of a query. TargetBoth is the default: the merge of both.
const (
	TargetBoth Target = iota
	TargetWM
	TargetLTM
)

// Source says who may answer for a memory of which copies are held.
type Source uint8

// The sources of a query. SourceAny is the default: the owner, and a copy where the
// owner is not reached.
const (
	SourceAny   Source = iota
	SourceOwner        // never a copy
	SourceCopy         // a copy where there is one, so that the owner's link is spared
	SourceNear         // a copy of another robot's where the own robot holds one; else as SourceAny
)

// FilterOrder says which of a query's two choices comes first: the filter's, among all
// snapshots, or the selectors', of times and positions. It makes a difference to [Latest],
// [AtOrBefore], [Nearest] and [Indices], and none to [All], [In] and [At].
type FilterOrder uint8

// The orders of filter and selectors.
const (
	// FilterThenSelect has selectors choose among the snapshots that satisfy the filter:
	// the latest that satisfies, even where a newer one does not.
	FilterThenSelect FilterOrder = iota
	// SelectThenFilter leaves out of what selectors choose among all snapshots what does
	// not satisfy the filter: the latest, if that satisfies.
	SelectThenFilter
)

// Query is a tree shaped like the hierarchy: per level which names, per entity
// which snapshots. Several nodes or selectors at one level form a union.
type Query struct {
	Memories []QueryNode
	Target   Target
	Source   Source

	// AsOf asks what the memory knew then: only what had arrived at or before it,
	// in the version of that time. Nil means now.
	AsOf *Time
	// Type keeps only instances whose payload is of this type or of one that extends it, such
	// as "engram.object.Instance": of the whole hierarchy, what is of that kind. A memory that
	// does not know the type has nothing of it, but payloads of that very name. Like Where it
	// is a filter; where both are given an instance satisfies both. Empty means all.
	//
	// What is missing is then told of entities that something was found of; of others, whose
	// losses may have been of the type, together under their provider segment. So it is with LinksTo.
	Type string
	// LinksTo keeps only instances whose payload has a link to one of these, or to something in it: of an entity, to
	// itself, its snapshots and their instances. So who asks all memories has what points at a thing, which the thing does
	// not know. A link in the memory of another robot is to what it names there. Like Where it is a filter, and needs the
	// payload's type to be known. None means all.
	LinksTo []ID
	// LinksExactly takes LinksTo at its word: a link to a snapshot is none to its entity. One to an entity is to what is in
	// force there at the time of the snapshot that has the link.
	LinksExactly bool
	// Where is a CEL expression over an instance (see package idf), the filter: results
	// hold only instances that satisfy it. Where evaluating it fails, the result says so
	// ([MissingFilterFailed]). Empty means all.
	Where string
	// FilterOrder says whether Type, LinksTo and Where or the selectors come first.
	FilterOrder FilterOrder
	// Fields keeps only these members of the payloads: dotted paths, and such as position[3]
	// for an element of a list, whose other elements become zero. Empty means all.
	Fields []string
	// WithoutPayload leaves the payloads' bytes out.
	WithoutPayload bool
	// Numbers takes numbers out of the snapshots instead of these, which are not in the result then. Only a memory in the
	// same process, asked for parts, gives them; clients of others answer Unsupported. They are taken out of whole payloads:
	// with Fields or WithoutPayload the query is Invalid.
	Numbers *Numbers
}

// Numbers are the same few numbers of many snapshots, which are read in far less time than the snapshots.
type Numbers struct {
	Paths    []string // of members that are numbers, as idf.Type.Numbers takes them
	Instance int      // which of a snapshot's instances they are of, counted among those that satisfy Type and Where
	// Take is called for each snapshot, in the order of results, with its numbers by path, as idf.Numbers.Read gives them:
	// NaN where it has none. It must not keep or change row. Its error ends the query, and is returned. So does a payload that
	// is not one of its type, with Corrupt.
	Take func(t Time, row []float64) error
	// Met is called with the name of each type of payloads that may have been met, once or more often. One that the memory
	// does not know has no numbers.
	Met func(typ string)
}

// QueryNode selects names at one level and says what is wanted below them. A node
// without Children and Snapshots asks for the names alone.
type QueryNode struct {
	Names     NameSelector
	Children  []QueryNode        // for memories, core segments and provider segments
	Snapshots []SnapshotSelector // for entities
}

// SnapshotKind is the kind of a [SnapshotSelector].
type SnapshotKind uint8

// The kinds of snapshot selectors.
const (
	KindAll SnapshotKind = iota + 1
	KindLatest
	KindAt
	KindAtOrBefore
	KindNearest
	KindRange
	KindIndexRange
)

// SnapshotSelector selects snapshots of an entity by time or index. Make one with
// [All], [Latest], [At] …
type SnapshotSelector struct {
	Kind     SnapshotKind
	N        int           // KindLatest: how many
	Time     Time          // KindAt, KindAtOrBefore, KindNearest
	Within   time.Duration // KindNearest: the largest distance, inclusive
	Interval Interval      // KindRange
	First    int           // KindIndexRange: first index, negative counts from the end
	Last     int           // KindIndexRange: last index, inclusive, negative counts from the end
}

// All selects every snapshot.
func All() SnapshotSelector { return SnapshotSelector{Kind: KindAll} }

// Latest selects the n snapshots with the highest times that are not beyond the present
// ([CoreSegment.Present]): a clock that was ahead once does not hide what is. Where all are
// beyond it, as of a recording from another time, it selects among these. The result tells
// what it passed over ([MissingAhead]).
func Latest(n int) SnapshotSelector { return SnapshotSelector{Kind: KindLatest, N: n} }

// At selects the snapshot with exactly time t.
func At(t Time) SnapshotSelector { return SnapshotSelector{Kind: KindAt, Time: t} }

// AtOrBefore selects the latest snapshot whose time is not after t: what was in
// force at t.
func AtOrBefore(t Time) SnapshotSelector { return SnapshotSelector{Kind: KindAtOrBefore, Time: t} }

// Nearest selects the snapshot closest to t, at most within away; of two equally
// close ones the earlier.
func Nearest(t Time, within time.Duration) SnapshotSelector {
	return SnapshotSelector{Kind: KindNearest, Time: t, Within: within}
}

// In selects the snapshots whose times lie in the half-open interval.
func In(iv Interval) SnapshotSelector { return SnapshotSelector{Kind: KindRange, Interval: iv} }

// Indices selects by position among the entity's retained snapshots in order of
// time, both ends inclusive; 0 is the first, -1 the last, be it beyond the present.
func Indices(first, last int) SnapshotSelector {
	return SnapshotSelector{Kind: KindIndexRange, First: first, Last: last}
}

// Check returns an Invalid error if the selector makes no sense.
func (s SnapshotSelector) Check() error {
	switch s.Kind {
	case KindAll, KindAt, KindAtOrBefore, KindIndexRange:
	case KindLatest:
		if s.N < 1 {
			return Errorf(Invalid, "", "latest %d snapshots: at least 1 must be asked for", s.N)
		}
	case KindNearest:
		if s.Within < 0 {
			return Errorf(Invalid, "", "nearest within %v: the distance is negative", s.Within)
		}
	case KindRange:
		if s.Interval.End < s.Interval.Start {
			return Errorf(Invalid, "", "the range %v ends before it starts", s.Interval)
		}
	default:
		return Errorf(Invalid, "", "a snapshot selector of unknown kind %d", s.Kind)
	}
	return nil
}

// SelectID returns the query for the given snapshots of one entity, or of all
// entities below a shallower ID.
func SelectID(id ID, snapshots ...SnapshotSelector) Query {
	if id.level < LevelEntity {
		return PatternOf(id).Select(snapshots...)
	}
	// The same in one piece of memory: this is what programs ask again and again.
	q := &struct {
		names [4]string
		nodes [4]QueryNode
	}{names: id.names}
	for i := range q.nodes {
		q.nodes[i].Names = OneOf(q.names[i : i+1 : i+1]...)
		if i+1 < len(q.nodes) {
			q.nodes[i].Children = q.nodes[i+1 : i+2 : i+2]
		}
	}
	q.nodes[3].Snapshots = snapshots
	return Query{Memories: q.nodes[:1:1]}
}

// Select returns the query for the given snapshots of every entity that the
// pattern matches.
func (p Pattern) Select(snapshots ...SnapshotSelector) Query {
	node := QueryNode{Names: p.selector(3), Snapshots: snapshots}
	for level := 2; level >= 0; level-- {
		node = QueryNode{Names: p.selector(level), Children: []QueryNode{node}}
	}
	return Query{Memories: []QueryNode{node}}
}

// maxTypeName bounds the name of the type that a query asks for, in bytes.
const maxTypeName = 1024

// Check returns an Invalid or Exhausted error if the query's form is wrong: too
// deep, snapshots asked of what is not an entity, a bad selector. limit bounds the
// number of nodes and selectors; 0 means no bound.
func (q *Query) Check(limit int) error {
	if q.FilterOrder > SelectThenFilter {
		return Errorf(Invalid, "", "a query of unknown filter order %d; there are filter then select (%d) and select then filter (%d)", q.FilterOrder, FilterThenSelect, SelectThenFilter)
	}
	if len(q.Type) > maxTypeName {
		return Errorf(Exhausted, "", "a query for a type whose name has %d bytes; at most %d are allowed", len(q.Type), maxTypeName)
	}
	if limit > 0 && len(q.LinksTo) > limit {
		return Errorf(Exhausted, "", "a query for links to %d things; at most %d are allowed; split it", len(q.LinksTo), limit)
	}
	for _, id := range q.LinksTo {
		if id.IsRoot() {
			return Errorf(Invalid, "", "a query for links to everything; name what they are to, a memory at least")
		}
	}
	n := 0
	return checkNodes(q.Memories, LevelMemory, &n, limit)
}

func checkNodes(nodes []QueryNode, level Level, n *int, limit int) error {
	if len(nodes) > 0 && level > LevelEntity {
		return Errorf(Invalid, "", "a query has more levels of names than memory, core segment, provider segment and entity")
	}
	for i := range nodes {
		nd := &nodes[i]
		breadth, err := nd.Names.breadth()
		if err != nil {
			return err
		}
		*n += 1 + len(nd.Snapshots) + breadth
		if limit > 0 && *n > limit {
			return Errorf(Exhausted, "", "a query has more than %d nodes and selectors; split it, or use a regex, and smaller ones where there are many", limit)
		}
		if len(nd.Snapshots) > 0 && level != LevelEntity {
			return Errorf(Invalid, "", "a query asks a %s for snapshots; only entities have them", level)
		}
		for _, s := range nd.Snapshots {
			if err := s.Check(); err != nil {
				return err
			}
		}
		if err := checkNodes(nd.Children, level+1, n, limit); err != nil {
			return err
		}
	}
	return nil
}

// SplitPath splits a dotted member path such as "pose.position.z".
func SplitPath(path string) []string { return strings.Split(path, ".") }
