package memorytest

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// cases are parts of the suite as data, which clients in other languages run, too: steps, and
// what is expected of each. They know the types in types.json.
//
//go:embed cases/*.json
var cases embed.FS

// testCase is a file of cases. Names of entities and patterns begin with a key of Segments,
// which stands for a core segment that is made for the case.
type testCase struct {
	Doc      string            `json:"doc"`
	Segments map[string]string `json:"segments"` // the type of payloads, "" for any data
	Steps    []step            `json:"steps"`
}

// step is one call and what it is to answer. Exactly one of the first five is set.
type step struct {
	Commit    []caseUpdate `json:"commit"`
	Query     *caseQuery   `json:"query"`
	Latest    string       `json:"latest"` // an entity, with At
	Subscribe *caseWatch   `json:"subscribe"`
	Updates   int          `json:"updates"` // how many come next of what was subscribed to last

	At *int64 `json:"at"`

	// Want is what is answered, in any order but of updates; of a commit, for each update.
	Want []caseSnapshot `json:"want"`
	// Error is the code of the call's error; "" for none.
	Error string `json:"error"`
}

type caseUpdate struct {
	Entity    string         `json:"entity"`
	Time      int64          `json:"time"`
	Type      string         `json:"type"` // "": the segment's
	Instances []caseInstance `json:"instances"`
}

type caseInstance struct {
	Value      map[string]any `json:"value"`
	Confidence *float32       `json:"confidence"`
}

type caseQuery struct {
	Pattern     string         `json:"pattern"`
	Select      []caseSelector `json:"select"` // none: the latest
	Where       string         `json:"where"`
	Type        string         `json:"type"`
	Fields      []string       `json:"fields"`
	FilterFirst bool           `json:"filter_first"`
	NoPayload   bool           `json:"without_payload"`
	Target      string         `json:"target"`
}

// caseSelector has one of its members.
type caseSelector struct {
	All        bool     `json:"all"`
	Latest     int      `json:"latest"`
	Exactly    *int64   `json:"exactly"`
	AtOrBefore *int64   `json:"at"`
	Nearest    *int64   `json:"nearest"`
	Within     int64    `json:"within"` // ns, with Nearest
	Range      []*int64 `json:"range"`  // start and end; null is open
	Index      []int    `json:"index"`  // first and last
}

type caseWatch struct {
	Pattern string `json:"pattern"`
	Last    int    `json:"last"`
	Since   *int64 `json:"since"`
	Where   string `json:"where"`
}

// caseSnapshot is a snapshot, or of a commit the result of an update: its entity and time, or the
// code of its error. Of the rest is compared what is given.
type caseSnapshot struct {
	Entity     string         `json:"entity"`
	Time       int64          `json:"time"`
	Error      string         `json:"error"`
	Instances  int            `json:"instances"`
	Value      map[string]any `json:"value"` // members of the first instance
	Confidence *float32       `json:"confidence"`
}

// testCases runs all files of cases.
func testCases(s *suite) {
	files, err := fs.Glob(cases, "cases/*.json")
	s.must(err)
	for _, file := range files {
		if file == "cases/types.json" {
			continue
		}
		text, err := cases.ReadFile(file)
		s.must(err)
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var all map[string]testCase
		if err := d.Decode(&all); err != nil {
			s.Fatalf("%s: %v", file, err)
		}
		for name, c := range all {
			s.runCase(fmt.Sprintf("%s: %s", strings.TrimPrefix(file, "cases/"), name), c)
		}
	}
}

// caseRun is a case at work.
type caseRun struct {
	*suite
	name     string
	segments map[string]engram.ID
	types    map[string]string
	stream   engram.UpdateStream
}

func (s *suite) runCase(name string, c testCase) {
	s.addTypes()
	r := &caseRun{suite: s, name: name, segments: map[string]engram.ID{}, types: c.Segments}
	for key, typ := range c.Segments {
		r.segments[key] = s.coreSegment(engram.CoreSegment{Type: typ})
	}
	for i, st := range c.Steps {
		got, err := r.step(st)
		at := fmt.Sprintf("%s, step %d", name, i)
		if code := codeName(err); code != st.Error {
			s.Errorf("%s: the error is %q (%v), want %q", at, code, err, st.Error)
			continue
		}
		if st.Subscribe == nil && err == nil {
			r.compare(at, st, got)
		}
	}
}

func codeName(err error) string {
	if err == nil {
		return ""
	}
	return engram.CodeOf(err).String()
}

// place puts a case's own core segment in the place of its key.
func (r *caseRun) place(text string) string {
	key, rest, below := strings.Cut(text, "/")
	segment, ok := r.segments[key]
	if !ok {
		r.Fatalf("%s: %q does not begin with a segment of the case", r.name, text)
	}
	if below {
		return segment.String() + "/" + rest
	}
	return segment.String()
}

func (r *caseRun) step(st step) ([]caseSnapshot, error) {
	switch {
	case st.Commit != nil:
		return r.commitStep(st.Commit)
	case st.Query != nil:
		return r.queryStep(st.Query)
	case st.Latest != "":
		id, err := engram.Parse(r.place(st.Latest))
		r.must(err)
		var snap *engram.Snapshot
		if st.At != nil {
			snap, err = r.m.AtOrBefore(r.ctx(), id, engram.Time(*st.At))
		} else {
			snap, err = r.m.Latest(r.ctx(), id)
		}
		if err != nil {
			return nil, err
		}
		return []caseSnapshot{r.describe(id, snap)}, nil
	case st.Subscribe != nil:
		return nil, r.subscribeStep(st.Subscribe)
	}
	var got []caseSnapshot
	for _, u := range r.next(r.stream, st.Updates) {
		got = append(got, r.describe(u.ID.Truncate(engram.LevelEntity), u.Snapshot))
	}
	return got, nil
}

func (r *caseRun) commitStep(updates []caseUpdate) (got []caseSnapshot, err error) {
	var c engram.Commit
	for _, u := range updates {
		id, err := engram.Parse(r.place(u.Entity))
		r.must(err)
		key, _, _ := strings.Cut(u.Entity, "/")
		typ := cmp.Or(u.Type, r.types[key], engram.ValueType)
		update := engram.EntityUpdate{Entity: id, Time: engram.Time(u.Time)}
		for _, i := range u.Instances {
			text, err := json.Marshal(i.Value)
			r.must(err)
			b, err := typeOf(typ).FromJSON(text)
			r.must(err)
			instance := engram.NewInstance(engram.Payload{Type: typ, Bytes: b})
			if i.Confidence != nil {
				instance.Confidence = *i.Confidence
			}
			update.Instances = append(update.Instances, instance)
		}
		c.Updates = append(c.Updates, update)
	}
	results, err := r.m.Commit(r.ctx(), c)
	for _, res := range results {
		t, _ := res.ID.Time()
		got = append(got, caseSnapshot{Entity: r.back(res.ID.Truncate(engram.LevelEntity)), Time: int64(t), Error: codeName(res.Err)})
	}
	return got, err
}

func (r *caseRun) queryStep(c *caseQuery) (got []caseSnapshot, err error) {
	p, err := engram.ParsePattern(r.place(c.Pattern))
	if err != nil {
		return nil, err
	}
	var selectors []engram.SnapshotSelector
	for _, s := range c.Select {
		selectors = append(selectors, s.selector())
	}
	if len(selectors) == 0 {
		selectors = append(selectors, engram.Latest(1))
	}
	q := p.Select(selectors...)
	q.Where, q.Type, q.Fields, q.WithoutPayload = c.Where, c.Type, c.Fields, c.NoPayload
	if !c.FilterFirst {
		q.FilterOrder = engram.SelectThenFilter
	}
	switch c.Target {
	case "wm":
		q.Target = engram.TargetWM
	case "ltm":
		q.Target = engram.TargetLTM
	}
	result, err := r.m.Query(r.ctx(), q)
	if err != nil {
		return nil, err
	}
	for item := range result.All() {
		got = append(got, r.describe(item.ID.Truncate(engram.LevelEntity), item.Snapshot))
	}
	return got, nil
}

func (s caseSelector) selector() engram.SnapshotSelector {
	switch {
	case s.All:
		return engram.All()
	case s.Exactly != nil:
		return engram.At(engram.Time(*s.Exactly))
	case s.AtOrBefore != nil:
		return engram.AtOrBefore(engram.Time(*s.AtOrBefore))
	case s.Nearest != nil:
		return engram.Nearest(engram.Time(*s.Nearest), time.Duration(s.Within))
	case s.Range != nil:
		span := engram.Always()
		if s.Range[0] != nil {
			span.Start = engram.Time(*s.Range[0])
		}
		if s.Range[1] != nil {
			span.End = engram.Time(*s.Range[1])
		}
		return engram.In(span)
	case s.Index != nil:
		return engram.Indices(s.Index[0], s.Index[1])
	}
	return engram.Latest(s.Latest)
}

func (r *caseRun) subscribeStep(c *caseWatch) error {
	p, err := engram.ParsePattern(r.place(c.Pattern))
	if err != nil {
		return err
	}
	sub := engram.Subscription{Patterns: []engram.Pattern{p}, Where: c.Where, WithData: true}
	switch {
	case c.Last > 0:
		sub.Start = engram.Start{Kind: engram.StartLast, N: c.Last}
	case c.Since != nil:
		sub.Start = engram.Start{Kind: engram.StartTime, Time: engram.Time(*c.Since)}
	}
	stream, err := r.m.Subscribe(r.ctx(), sub)
	if err == nil {
		r.Cleanup(func() { stream.Close() })
		r.stream = stream
	}
	return err
}

// back writes an entity as the case does.
func (r *caseRun) back(entity engram.ID) string {
	for key, segment := range r.segments {
		if rest, ok := strings.CutPrefix(entity.String(), segment.String()+"/"); ok {
			return key + "/" + rest
		}
	}
	return entity.String()
}

func (r *caseRun) describe(entity engram.ID, snap *engram.Snapshot) caseSnapshot {
	d := caseSnapshot{Entity: r.back(entity), Time: int64(snap.Time), Instances: len(snap.Instances)}
	if len(snap.Instances) > 0 {
		first := snap.Instances[0]
		d.Confidence = &first.Confidence
		if len(first.Payload.Bytes) > 0 {
			text, err := typeOf(first.Payload.Type).JSON(first.Payload.Bytes, idf.JSONOptions{})
			r.must(err)
			r.must(json.Unmarshal(text, &d.Value))
		}
	}
	return d
}

// compare compares what was answered with what is wanted.
func (r *caseRun) compare(at string, st step, got []caseSnapshot) {
	r.Helper()
	want := slices.Clone(st.Want)
	if st.Query != nil {
		byPlace := func(a, b caseSnapshot) int {
			return cmp.Or(cmp.Compare(a.Entity, b.Entity), cmp.Compare(a.Time, b.Time))
		}
		slices.SortFunc(got, byPlace)
		slices.SortFunc(want, byPlace)
	}
	if st.Commit != nil && want == nil {
		for _, g := range got {
			if g.Error != "" {
				r.Errorf("%s: %s was refused: %s", at, g.Entity, g.Error)
			}
		}
		return
	}
	if len(got) != len(want) {
		r.Errorf("%s: got %+v, want %+v", at, got, want)
		return
	}
	for i, w := range want {
		g := got[i]
		same := g.Entity == w.Entity && g.Error == w.Error && (w.Error != "" || g.Time == w.Time) &&
			(w.Instances == 0 || g.Instances == w.Instances) && (w.Confidence == nil || g.Confidence != nil && *g.Confidence == *w.Confidence)
		for member, value := range w.Value {
			same = same && reflect.DeepEqual(g.Value[member], value)
		}
		if !same {
			r.Errorf("%s: got %+v, want %+v", at, g, w)
		}
	}
}
