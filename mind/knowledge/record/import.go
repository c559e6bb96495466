package record

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Options say how a document is imported.
type Options struct {
	// At is since when it is so; 0 is now.
	At engram.Time
	// Ontology is the IRI that stands for the document if it declares no ontology; the provider's name if
	// it is empty.
	Ontology string
	// Document is where it comes from.
	Document Document
	// Replace has the document take the place of what the provider has said of other ontologies, and of most names.
	Replace bool
	// DryRun only compares.
	DryRun bool
}

// Summary is what an import changes: how many records are new, say something else than before, are
// said no more, and are the same.
type Summary struct {
	New, Changed, Gone, Same int
	Triples                  int         // of the document
	At                       engram.Time // since when it is so
}

// Service is what an import needs of a memory server.
type Service interface {
	engram.Reader
	engram.Writer
}

// A commit of an import has at most so many updates and about so many bytes.
const (
	maxUpdates = 1_000
	maxBytes   = 4 << 20
)

// Import has a provider say what a document says, and nothing else: it commits the records that
// differ from what the provider has said of that time, and withdraws those that the document does not have. What
// was said before stays asked for, and what is so from the next time on of which the provider has said something stays
// so. Records are committed in batches; who reads the provider meanwhile ([Codec.Read], and questions) finds what it said
// before. If the memory refuses one, such as for want of room, what was committed is taken back. An import that was cut off says
// nothing until one of the same provider comes to its end.
//
// The error is Conflict if the provider has said something of other ontologies, and nothing of one of this
// document, or if the document has less than half of the names of which it has said something, unless the options say that it is replaced, and if an import of the provider for a later time was cut off; and Invalid if
// the name of the provider is none.
func (c *Codec) Import(ctx context.Context, svc Service, provider string, triples []rdf.Triple, o Options) (Summary, error) {
	if err := engram.CheckName(provider); err != nil {
		return Summary{}, err
	}
	if o.At == 0 {
		o.At = engram.Now()
	}
	if o.Ontology == "" {
		o.Ontology = provider
	}
	if err := engram.CheckName(o.Ontology); err != nil {
		return Summary{}, err
	}
	return c.state(ctx, svc, provider, Records(triples, o.Ontology, o.Document), o)
}

// Withdraw has a provider say nothing any more. What it said before stays asked for. It uses At and
// DryRun of the options.
func (c *Codec) Withdraw(ctx context.Context, svc Service, provider string, o Options) (Summary, error) {
	if err := engram.CheckName(provider); err != nil {
		return Summary{}, err
	}
	if o.At == 0 {
		o.At = engram.Now()
	}
	o.Replace = true
	return c.state(ctx, svc, provider, nil, o)
}

// state has a provider say what is in records, and nothing else.
func (c *Codec) state(ctx context.Context, svc Service, provider string, records []Record, o Options) (Summary, error) {
	found, missing, err := find(ctx, svc, []engram.Pattern{By(provider)}, o.At, nil)
	if err != nil {
		return Summary{}, err
	}
	was := byEntity(found)
	before := maps.Clone(was)
	sum := Summary{At: o.At}
	var updates []engram.EntityUpdate
	others, known := []string(nil), false // ontologies of before, and whether one of them is here
	var gone []string                     // names of before that are not here
	kept := 0                             // names that are
	for i := range records {
		r := &records[i]
		sum.Triples += len(r.Triples)
		id, err := entityOf(r, provider)
		if err != nil {
			return Summary{}, err
		}
		payload, err := c.Encode(r)
		if err != nil {
			return Summary{}, engram.Errorf(engram.CodeOf(err), r.Name, "%w", err)
		}
		said, there := before[id]
		delete(before, id)
		there = there && !c.withdrawn(id, said)
		known = known || there && r.Kind == Ontology
		if there && r.Kind != Ontology && !Begins(said) {
			kept++
		}
		switch {
		case there && !Begins(said) && c.same(id, said, payload, r):
			sum.Same++
			continue
		case there:
			sum.Changed++
		default:
			sum.New++
		}
		updates = append(updates, engram.EntityUpdate{Entity: id, Time: o.At, Instances: []engram.Instance{engram.NewInstance(payload)}})
	}
	for id, said := range before {
		if c.withdrawn(id, said) && !Begins(said) {
			continue
		}
		if id.CoreSegment() == Ontology.String() {
			others = append(others, id.Entity())
		} else {
			gone = append(gone, id.Entity())
		}
		payload, err := c.nothing(id)
		if err != nil {
			return Summary{}, err
		}
		sum.Gone++
		updates = append(updates, engram.EntityUpdate{Entity: id, Time: o.At, Instances: []engram.Instance{engram.NewInstance(payload)}})
	}
	if len(others) > 0 && !known && !o.Replace {
		slices.Sort(others)
		return Summary{}, engram.Errorf(engram.Conflict, provider, "the provider says what is in %s, which is another ontology than %s; choose another provider, or replace it", others[0], records[0].Name)
	}
	if len(gone) > kept && !o.Replace {
		return Summary{}, engram.Errorf(engram.Conflict, provider, "%d of the %d names that the provider knows, such as %s, are not in this document and would go; choose another provider if this is another document (--provider), or replace what the provider says (--replace)", len(gone), len(gone)+kept, slices.Min(gone))
	}
	if o.DryRun || len(updates) == 0 {
		return sum, nil
	}
	later, more, err := c.later(ctx, svc, provider, o.At, updates, found)
	if err != nil {
		return Summary{}, err
	}
	slices.SortFunc(updates, func(a, b engram.EntityUpdate) int { return a.Entity.Compare(b.Entity) })
	last, stored := updates[:1], []engram.EntityUpdate(nil)
	if others := append(later, updates[1:]...); len(others) > 0 {
		stored, err = commit(ctx, svc, slices.Insert(others, 0, begin(last[0])))
	}
	if err == nil {
		_, err = commit(ctx, svc, last)
	}
	switch engram.CodeOf(err) {
	case engram.Unavailable, engram.Canceled: // who is not reached takes nothing back
		return sum, err
	}
	if err != nil {
		return Summary{}, errors.Join(err, c.takeBack(ctx, svc, stored, o.At, was, len(was) == 0 && !more && len(missing) == 0))
	}
	return sum, nil
}

// byEntity returns the snapshot of each entity.
func byEntity(found []engram.Item) map[engram.ID]*engram.Snapshot {
	of := make(map[engram.ID]*engram.Snapshot, len(found))
	for _, it := range found {
		of[it.ID.Truncate(engram.LevelEntity)] = it.Snapshot
	}
	return of
}

// takeBack has a provider say what it said before an import of which some updates were stored. If it has said nothing else of
// any time, its segments are removed, where the caller may, so that they take no room.
func (c *Codec) takeBack(ctx context.Context, svc Service, stored []engram.EntityUpdate, at engram.Time, was map[engram.ID]*engram.Snapshot, nothingElse bool) error {
	var back []engram.EntityUpdate
	for _, u := range stored {
		if u.Time != at {
			continue // that is what it said
		}
		nothing, err := c.nothing(u.Entity)
		if err != nil {
			return err
		}
		u.Instances = []engram.Instance{engram.NewInstance(nothing)}
		if s := was[u.Entity]; s != nil {
			u.Instances = s.Instances
		}
		back = append(back, u)
	}
	if len(back) == 0 {
		return nil
	}
	if _, err := commit(ctx, svc, append(back[1:], back[0])); err != nil { // the first one ends it
		return engram.Errorf(engram.CodeOf(err), back[0].Entity.ProviderSegment(), "what was stated before that could not be taken back: %w", err)
	}
	segments, ok := svc.(engram.Segments)
	if !ok || !nothingElse {
		return nil
	}
	empty := map[engram.ID]bool{}
	for _, u := range back {
		empty[u.Entity.Parent()] = true
	}
	for segment := range empty {
		_ = segments.RemoveSegment(ctx, segment) // who may not leaves records that say nothing
	}
	return nil
}

// later states again what is so from the next time on at which the provider has said something, of entities that
// it has said nothing of then: an import of a document into the past says nothing of what came after. found is what was said at
// the time of the import. more reports whether anything was said after it. The error is Conflict if an import of a later time has
// not come to its end: what it says would be known with this one.
func (c *Codec) later(ctx context.Context, r engram.Reader, provider string, at engram.Time, updates []engram.EntityUpdate, found []engram.Item) (later []engram.EntityUpdate, more bool, err error) {
	q := By(provider).Select(engram.In(engram.Interval{Start: at.Add(1), End: engram.MaxTime}))
	q.WithoutPayload = true
	res, err := r.Query(ctx, q)
	if err != nil {
		return nil, false, err
	}
	next := engram.MaxTime
	first, newest := map[engram.ID]engram.Time{}, map[engram.ID]*engram.Snapshot{}
	for it := range res.All() { // of an entity by time
		id := it.ID.Truncate(engram.LevelEntity)
		if _, ok := first[id]; !ok {
			first[id] = it.Time
		}
		newest[id] = it.Snapshot
		next = min(next, it.Time)
	}
	for _, s := range newest {
		if Begins(s) {
			return nil, true, engram.Errorf(engram.Conflict, provider, "an import for a later time, %v, has not come to its end; import for that time again, or for one after it, or withdraw what the provider says, before something is said of earlier times", s.Time)
		}
	}
	if next == engram.MaxTime {
		return nil, len(res.Missing) > 0, nil
	}
	found, _, err = Settle(ctx, r, []engram.Pattern{By(provider)}, engram.AtOrBefore(at), nil, found)
	if err != nil {
		return nil, true, err
	}
	was := byEntity(found)
	for _, u := range updates {
		if first[u.Entity] == next {
			continue
		}
		again := engram.EntityUpdate{Entity: u.Entity, Time: next}
		if s := was[u.Entity]; s != nil {
			again.Instances = s.Instances
		} else {
			nothing, err := c.nothing(u.Entity)
			if err != nil {
				return nil, true, err
			}
			again.Instances = []engram.Instance{engram.NewInstance(nothing)}
		}
		later = append(later, again)
	}
	return later, true, nil
}

// nothing returns the payload that withdraws an entity.
func (c *Codec) nothing(id engram.ID) (engram.Payload, error) {
	return c.Encode(&Record{Kind: Kind(slices.Index(kindNames[:], id.CoreSegment())), Name: id.Entity()})
}

func entityOf(r *Record, provider string) (engram.ID, error) {
	return engram.NewID(Memory, r.Kind.String(), provider, r.Name)
}

// withdrawn reports whether a snapshot says nothing. What cannot be read says something else.
func (c *Codec) withdrawn(id engram.ID, s *engram.Snapshot) bool {
	if s == nil || len(s.Instances) > 0 && len(s.Instances[0].Payload.Bytes) > 0 {
		return false
	}
	r, err := c.decode(id, s, "")
	return err == nil && r.Withdrawn()
}

// same reports whether a snapshot says what a record does.
func (c *Codec) same(id engram.ID, s *engram.Snapshot, p engram.Payload, r *Record) bool {
	if len(s.Instances) > 0 && bytes.Equal(s.Instances[0].Payload.Bytes, p.Bytes) {
		return true
	}
	was, err := c.decode(id, s, "")
	if err != nil || len(was.Triples) != len(r.Triples) {
		return false
	}
	slices.SortFunc(was.Triples, compareTriples)
	return slices.Equal(was.Triples, r.Triples) && was.Document.equal(r.Document)
}

func (d *Document) equal(o *Document) bool {
	if d == nil || o == nil {
		return d == o
	}
	if d.Source != o.Source || d.Base != o.Base || len(d.Prefixes) != len(o.Prefixes) {
		return false
	}
	for name, namespace := range d.Prefixes {
		if was, ok := o.Prefixes[name]; !ok || was != namespace {
			return false
		}
	}
	return true
}

// commit commits updates in batches. It returns those that were stored, in their order.
func commit(ctx context.Context, w engram.Writer, updates []engram.EntityUpdate) (stored []engram.EntityUpdate, err error) {
	for len(updates) > 0 {
		n, size := 0, 0
		for n < len(updates) && n < maxUpdates && (n == 0 || size < maxBytes) {
			size += len(updates[n].Instances[0].Payload.Bytes)
			n++
		}
		results, err := w.Commit(ctx, engram.Commit{Updates: updates[:n], Recorded: true})
		for i := range results {
			if results[i].Err == nil {
				stored = append(stored, updates[i])
			}
		}
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			return stored, err
		}
		updates = updates[n:]
	}
	return stored, nil
}

// ProviderOf returns a pleasant name for who says what is in an ontology: the last part of its IRI's
// path without an extension, such as "knowrob" for http://knowrob.org/kb/knowrob.owl#. Characters
// but letters, digits, ".", "_" and "-" become "-". An IRI without a path gives its host, one with nothing
// else "knowledge".
func ProviderOf(iri string) string {
	s, _, _ := strings.Cut(iri, "#")
	s, _, _ = strings.Cut(s, "?")
	if _, rest, ok := strings.Cut(s, ":"); ok {
		s = rest
	}
	s = strings.TrimRight(s, "/:")
	if host, ok := strings.CutPrefix(s, "//"); !ok || strings.Contains(host, "/") {
		s = s[strings.LastIndexAny(s, "/:")+1:]
		s = strings.TrimSuffix(s, path.Ext(s))
	} else {
		s = host
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	if s = strings.Trim(s, "-."); s == "" {
		return "knowledge"
	}
	return s[:min(len(s), engram.MaxNameLen)]
}
