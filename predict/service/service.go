// Package service answers calls to Predict from the snapshots of a memory: what package predict
// says of an entity's numbers, as a snapshot. A memory's own Predict hook comes first; this is for
// all others.
//
// Nothing is computed before somebody asks. The first question about an entity reads its last
// snapshots, up to [Warm] of them; later ones read what is new. So commits pay nothing, and a memory
// that nobody asks for predictions keeps nothing for them. What is kept is bounded by [MaxBytes],
// those that were not asked for longest go first.
//
// An entity that is followed ([Following], an entity of the memory Prediction) is predicted with each
// of its snapshots, in a queue beside the commits ([Service.Run]): how good its predictions are, and
// that they suddenly fail, are written to that memory. [Train] makes models of level 2 from episodes; the
// newest that is kept takes part in predictions.
package service

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/predict"
)

const (
	// Warm is how many snapshots an entity's predictions begin with, and the most that one question reads; of
	// entities of few numbers as many as [predict.Remembered] says.
	Warm = 1000
	// MaxBytes bounds what is kept of entities that were asked for; one takes about 2.9 KiB a member,
	// with a trained model 5 KiB more, and at most 64 KiB for past situations.
	MaxBytes = 64 << 20
	// MaxAnswer bounds the bytes of the images that one call answers; the error of the others is Exhausted.
	MaxAnswer = 128 << 20
)

// smallAnswer is up to which size payloads are not counted: a query has 1,000 predicted snapshots at most.
const smallAnswer = 16 << 10

// Reader is what predictions are made from.
type Reader interface {
	engram.Reader
	engram.LatestReader
}

// Service predicts entities. Safe for concurrent use.
type Service struct {
	from  Reader
	types *idf.Registry

	mu       sync.Mutex
	entities map[engram.ID]*entity
	bytes    int                    // of all entities
	models   map[engram.ID]*trained // by the entity they predict
	asked    uint64                 // questions until now

	resets atomic.Uint64 // counts that some were written, so that they are read again
}

// entity is what is known of one.
type entity struct {
	mu        sync.Mutex
	*layout              // of the newest snapshot; one that knows nothing before the first
	layouts   []*layout  // all, that of the newest snapshot first
	model     *trained   // in use, or what of could not be used
	input     *inForce   // of the model
	camera    *camera    // nil unless its payload holds an image
	following *Following // how it is followed, in full; nil if it is not
	live      bool       // what was there when that began is read
	news      []news     // what is to be written
	resets    []Reset    // by time, as they were when
	counted   uint64     // Service.resets was this
	used      uint64     // the question that it was asked for last; under Service.mu, as are
	bytes     int        // what it takes, and
	pinned    bool       // whether it is followed
}

// layout is what is known of the snapshots of an entity that have the same numbers. There are several where
// programs write to one entity and each tells numbers of its own, such as publishers of joint states.
type layout struct {
	tracker *predict.Tracker // nil before the first snapshot
	members *predict.Members
	past    *predict.Situations // nil where there are too many members
	texts   []string            // paths of the texts that these have
	said    []string            // and the newest ones
	last    *engram.Snapshot
	whole   *engram.Snapshot // the last one that tells all members: predictions are made of it
	row     []float64
	uses    bool   // the model
	watch   *watch // nil unless the entity is followed
}

// maxLayouts bounds those of an entity; the one whose snapshots ended longest ago goes.
const maxLayouts = 4

// anew forgets what was learned of an entity.
func (e *entity) anew() { e.layout, e.layouts = &layout{}, nil }

// New returns a Service over a memory whose payloads are of types of a registry.
func New(from Reader, types *idf.Registry) *Service {
	return &Service{from: from, types: types, entities: map[engram.ID]*entity{}, models: map[engram.ID]*trained{}}
}

// typeOf is a TypeSource.
func (s *Service) typeOf(name string) (*idf.Type, error) {
	t, ok := s.types.Get(name)
	if !ok {
		return nil, engram.Errorf(engram.NotFound, name, "the type is not known here")
	}
	return t, nil
}

// Predict implements engram.Predictor, one ID after another. The error of an ID is NotFound without
// a snapshot, Unsupported without numbers, Unavailable for a time before the newest that is not
// kept here, and Invalid for an ID without a time.
func (s *Service) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	answers := make([]engram.Prediction, len(ids))
	images := 0 // bytes
	for i, id := range ids {
		answers[i].ID = id
		if images > MaxAnswer {
			answers[i].Err = engram.Errorf(engram.Exhausted, id.String(), "more than %d MiB of predicted images at once; ask for fewer", MaxAnswer>>20)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, engram.Errorf(engram.Canceled, "", "given up: %w", err)
		}
		if err := s.one(ctx, id, &answers[i]); err != nil {
			answers[i] = engram.Prediction{ID: id, Err: err}
			continue
		}
		if n := answers[i].Snapshot; n.Predicted && len(n.Instances) > 0 && len(n.Instances[0].Payload.Bytes) > smallAnswer {
			images += len(n.Instances[0].Payload.Bytes)
		}
	}
	return answers, nil
}

func (s *Service) one(ctx context.Context, id engram.ID, p *engram.Prediction) error {
	at, ok := id.Time()
	if !ok {
		return engram.Errorf(engram.Invalid, id.String(), "a prediction is asked of an entity at a time")
	}
	of := id.Truncate(engram.LevelEntity)
	e := s.entity(of)
	e.mu.Lock()
	defer e.mu.Unlock()
	defer s.bound(of, e)
	latest, t, path, err := s.pictured(ctx, of)
	if err != nil {
		return err
	}
	if t != nil && path == "" {
		return s.answerPicture(ctx, of, e, latest, t, at, p)
	}
	if err := s.follow(ctx, of, e); err != nil {
		return err
	}
	if at <= e.last.Time {
		// What was needs no prediction where it is known.
		known, err := s.from.AtOrBefore(ctx, of, at)
		if err != nil {
			return err
		}
		if known.Time == at {
			p.Snapshot, p.From, p.Members = known, []engram.ID{of.At(at)}, s.known(known)
			return nil
		}
	}
	for i := range e.resets {
		if r := &e.resets[i]; r.all() && r.At > e.last.Time && r.At <= at {
			return engram.Errorf(engram.Unavailable, id.String(), "%s, and nothing came since", r.text())
		}
	}
	var f predict.Forecast
	if err := e.tracker.Predict(at, &f); err != nil {
		return engram.Errorf(engram.CodeOf(err), id.String(), "%w", err)
	}
	e.members.Normalise(&f)
	e.forget(at, &f)
	var outcomes []predict.Outcome
	if !slices.ContainsFunc(e.resets, func(r Reset) bool { return r.At > e.last.Time && r.At <= at }) {
		outcomes = e.past.Outcomes(f.Horizon * 1e9)
	}
	if len(outcomes) == 0 && len(e.row) == 0 && at > e.last.Time {
		return engram.Errorf(engram.Unsupported, id.String(), "a payload without numbers is predicted only where its texts change in a pattern, and none is known")
	}
	if err := e.answer(of, at, &f, outcomes, p); err != nil {
		return err
	}
	if t != nil && at > latest.Time {
		s.addPicture(ctx, of, e, latest, t, at, p)
	}
	return nil
}

// known returns the numbers of a snapshot.
func (s *Service) known(n *engram.Snapshot) []engram.PredictedMember {
	if len(n.Instances) == 0 {
		return nil
	}
	payload := n.Instances[0].Payload
	t, err := s.typeOf(payload.Type)
	if err != nil {
		return nil
	}
	m, err := predict.MembersOf(t, payload.Bytes)
	if err != nil {
		return nil // it has none
	}
	row := make([]float64, len(m.Paths))
	if m.Read(payload.Bytes, row) != nil {
		return nil
	}
	members := make([]engram.PredictedMember, len(row))
	for i, x := range row {
		members[i] = engram.PredictedMember{Path: m.Paths[i], Mean: x, Low: x, High: x, Model: "known", Skill: math.NaN()}
	}
	return members
}

// entity returns what is kept of an entity.
func (s *Service) entity(of engram.ID) *entity {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	e := s.entities[of]
	if e == nil {
		e = &entity{layout: &layout{}}
		s.entities[of] = e
	}
	e.used = s.asked
	return e
}

// bound counts what an entity takes, and lets others go where that is too much; e.mu is held.
func (s *Service) bound(of engram.ID, e *entity) {
	bytes := 1 << 10
	for _, l := range e.layouts {
		bytes += l.tracker.Bytes() + l.past.Bytes() + 256*len(l.row)
	}
	if e.camera != nil {
		bytes += e.camera.tracker.Bytes()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entities[of] != e {
		return // it had to go meanwhile
	}
	s.bytes += bytes - e.bytes
	e.bytes = bytes
	for s.bytes > MaxBytes {
		var oldest engram.ID
		used := s.asked + 1
		for id, o := range s.entities {
			if o.used < used && !o.pinned && o != e {
				oldest, used = id, o.used
			}
		}
		if used > s.asked {
			return
		}
		s.bytes -= s.entities[oldest].bytes
		delete(s.entities, oldest)
	}
}

// follow reads what is new.
func (s *Service) follow(ctx context.Context, of engram.ID, e *entity) error {
	latest, err := s.from.Latest(ctx, of)
	if err != nil {
		return err
	}
	m := s.model(of)
	if m != e.model {
		e.model = m
		e.anew()
	}
	if counted := s.resets.Load(); counted != e.counted {
		resets, err := resetsOf(engram.WithScope(ctx, nil), s.from, s.typeOf, of) // they hold whoever asks
		if err != nil {
			return err
		}
		if !slices.EqualFunc(resets, e.resets, Reset.same) {
			e.resets = resets
			e.anew()
		}
		e.counted = counted
	}
	if e.last != nil && latest.Time == e.last.Time && latest.Arrived == e.last.Arrived {
		return nil
	}
	warm := Warm
	if e.tracker == nil {
		warm = max(Warm, predict.Remembered(s.numbers(latest)))
	}
	selector := engram.Latest(warm)
	if e.last != nil && latest.Time > e.last.Time {
		selector = engram.In(engram.Interval{Start: e.last.Time + 1, End: latest.Time + 1})
	} else {
		e.anew() // what it learned from has changed
	}
	r, err := s.from.Query(ctx, engram.PatternOf(of).Select(selector))
	if err != nil {
		return err
	}
	snapshots := r.Items()
	if extra := len(snapshots) - warm; extra > 0 {
		snapshots = snapshots[extra:]
		e.anew()
	}
	e.input = nil
	if m != nil && len(snapshots) > 0 {
		if e.input, err = readInput(ctx, s.from, s.typeOf, m.version.Input, snapshots[0].Time, snapshots[len(snapshots)-1].Time); err != nil {
			e.input = nil // it is predicted without
		}
	}
	refused := error(engram.Errorf(engram.NotFound, of.String(), "it has no snapshot to predict from"))
	for _, n := range snapshots {
		if err := s.observe(e, n.Snapshot); err != nil {
			e.anew() // what comes after it may be of another kind
			refused = err
		}
	}
	if e.tracker == nil {
		return refused
	}
	e.live = true
	return nil
}

func (s *Service) observe(e *entity, n *engram.Snapshot) error {
	if len(n.Instances) == 0 {
		return nil
	}
	p := n.Instances[0].Payload
	t, err := s.typeOf(p.Type)
	if err != nil {
		return err
	}
	if err := e.arrange(t, n); err != nil {
		return err
	}
	if err := e.members.Read(p.Bytes, e.row); err != nil {
		return err
	}
	begins := e.last != nil && e.reset(e.last.Time, n.Time)
	if e.watch != nil && begins {
		e.watch.restart()
	}
	if e.watch != nil {
		e.watch.judge(e, n.Time)
	}
	if e.past != nil {
		e.readTexts(t, p.Bytes)
		e.past.Observe(n.Time, e.row, e.said, begins || e.last != nil && n.Time.Sub(e.last.Time) > gap*e.tracker.Period())
	}
	e.tracker.Observe(n.Time, e.row, e.input.at(n.Time))
	if e.watch != nil {
		e.watch.expect(e, n.Time)
	}
	e.last = n
	if !slices.ContainsFunc(e.row, notTold) {
		e.whole = n
	}
	return nil
}

// arrange has the layout of a snapshot be that of the entity. A new one takes the place of all whose members have
// no labels: without these it is not known whether members of the same path are the same things.
func (e *entity) arrange(t *idf.Type, n *engram.Snapshot) error {
	p := n.Instances[0].Payload
	i := slices.IndexFunc(e.layouts, func(l *layout) bool { return l.members.Fit(t, p.Bytes) })
	if i >= 0 {
		e.layout = e.layouts[i]
		copy(e.layouts[1:i+1], e.layouts[:i])
		e.layouts[0] = e.layout
		return nil
	}
	m, err := predict.MembersOf(t, p.Bytes)
	texts := textsOf(t, p.Bytes)
	if engram.CodeOf(err) == engram.Unsupported && len(texts) > 0 {
		m, err = predict.NoMembers(t), nil // its texts may change in a pattern
	}
	if err != nil {
		return err
	}
	tr, err := predict.NewTracker(m.Kinds)
	if err != nil {
		return err
	}
	tr.Tell(m.Rates)
	e.layout = &layout{tracker: tr, members: m, row: make([]float64, len(m.Paths)), whole: n, uses: e.model.use(tr, m),
		past: predict.NewSituations(tr, len(texts)), texts: texts, said: make([]string, len(texts)), watch: newWatch(e.following, len(m.Paths))}
	e.layouts = slices.DeleteFunc(e.layouts, func(l *layout) bool { return len(l.members.Labels) == 0 || len(m.Labels) == 0 })
	if e.layouts = slices.Insert(e.layouts, 0, e.layout); len(e.layouts) > maxLayouts {
		e.layouts = slices.Delete(e.layouts, maxLayouts, len(e.layouts))
	}
	return nil
}

// notTold reports whether a number says nothing of how things go on.
func notTold(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// moved replaces times that were the snapshot's.
func moved(v any, from, to engram.Time) any {
	switch v := v.(type) {
	case engram.Time:
		if v == from {
			return to
		}
	case map[string]any:
		for k, c := range v {
			v[k] = moved(c, from, to)
		}
	case []any:
		for i, c := range v {
			v[i] = moved(c, from, to)
		}
	}
	return v
}

// Entities returns the entities that something is kept of, sorted.
func (s *Service) Entities() []engram.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]engram.ID, 0, len(s.entities))
	for id := range s.entities {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, engram.ID.Compare)
	return ids
}
