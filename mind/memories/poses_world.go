package memories

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/mind/world"
)

// maxItemEdges bounds the items of the world that the store has edges of.
const maxItemEdges = 20_000

// moveWithin is how soon an item must be stated elsewhere to have moved there evenly; else it was
// where it was until then.
const moveWithin = time.Second

// worldEdges keeps the edges of the world's items in the store. Nothing of it is kept beside the
// memories: what the store has comes from the statements, and comes back from them.
type worldEdges struct {
	p       *poses
	model   *world.Memory
	watcher world.Watcher
	// pending are items that wait: for the pose of a robot at the time at which an item was
	// seen, or for another item to go out of the way.
	pending map[string]waiting
	lacks   lack        // the pose that was not known yet when it was asked for last
	newest  engram.Time // of all that the store has of items
	// otherwise says that something else is pending than is waited for.
	otherwise bool
}

// waiting says how often an item was tried in vain, until when it is tried, and what it lacks.
type waiting struct {
	tries int
	until time.Time
	lacks lack
}

// lack is a pose that is not known yet.
type lack struct {
	path         *pose.Path // nil if none lacks
	stays, frame string     // its frames
	at           engram.Time
}

// retryFor is for how long what is pending is tried again.
const retryFor = 10 * time.Second

// itemEdge is what the store has of an item. The room's goroutine writes it under [poses].mu.
type itemEdge struct {
	handle  *pose.FreeEdge
	parent  string      // what it hangs on; "" if on nothing
	from    engram.Time // since when
	last    engram.Time // the newest sample
	changes int         // of the parent
	link    string      // the robot's frame that it is the same as
}

// startWorld brings the items of the world into the store, if the server has the memory World.
func (p *poses) startWorld(ctx context.Context, svc engram.Service) error {
	model, err := world.Over(ctx, svc, "RobotState", world.DefaultRules(), world.Robots("*"))
	if engram.CodeOf(err) == engram.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	p.service.SetForeignSources(itemSources(ctx, svc))
	w := &worldEdges{p: p, model: model, pending: map[string]waiting{}}
	w.watcher, err = model.Watch(ctx)
	var f *world.Forest
	if err == nil {
		f, err = model.View(ctx)
	}
	if err != nil {
		return errors.Join(err, model.Close())
	}
	for name := range f.Spoken() {
		w.pending[name] = waiting{}
	}
	w.retry(ctx, f)
	p.world = w
	return nil
}

// itemSources returns what tells where items are, of all robots.
func itemSources(ctx context.Context, svc engram.Service) (ids []engram.ID) {
	names := []string{"World", "Object"}
	if s, ok := svc.(interface {
		MemoriesFor(ctx context.Context) []string
	}); ok {
		names = s.MemoriesFor(ctx)
	}
	for _, name := range names {
		for _, p := range world.PatternsIn(name) {
			id := name
			if segment := p.Levels[1]; segment.Kind == engram.NameOneOf { // else it is most of the memory
				id += "/" + segment.String()
			}
			ids = append(ids, engram.MustID(id))
		}
	}
	return ids
}

// followWorld is the memory's Run hook: it follows what is committed to the world.
func (p *poses) followWorld(ctx context.Context, _ engram.Service) error {
	w := p.world
	if w == nil {
		return nil
	}
	defer w.model.Close()
	changes := make(chan world.Change)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := w.watcher.Next(ctx) // what nobody took yet is told together
			if err != nil {
				ended <- err
				return
			}
			select {
			case changes <- c:
			case <-ctx.Done():
			}
		}
	}()
	l := &lackers{came: make(chan struct{}, 1)}
	defer l.end()
	for {
		if w.otherwise {
			w.otherwise = false
			w.await(ctx, l)
		}
		select {
		case c := <-changes:
			for _, name := range c.Names {
				w.follow(ctx, c.Forest, name, c.Since(name))
			}
			w.retry(ctx, c.Forest)
		case <-p.frames:
			if f, err := w.model.View(ctx); err == nil {
				w.relink(ctx, f)
			}
		case <-l.came:
			if f, err := w.model.View(ctx); err == nil {
				w.retry(ctx, f)
			}
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// lackers wait for the poses that pending items lack.
type lackers struct {
	came   chan struct{} // has something when one is known, or an item is tried no more
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// await has lackers wait for what is pending by now, instead of what was pending before.
func (w *worldEdges) await(ctx context.Context, l *lackers) {
	l.end()
	var until time.Time
	first := map[[2]string]lack{}
	for _, waits := range w.pending {
		if until.IsZero() || waits.until.Before(until) {
			until = waits.until
		}
		frames := [2]string{waits.lacks.stays, waits.lacks.frame}
		if o, has := first[frames]; !has || waits.lacks.at < o.at {
			first[frames] = waits.lacks
		}
	}
	if len(first) == 0 {
		return
	}
	ctx, l.cancel = context.WithDeadline(ctx, until)
	for _, lacks := range first {
		l.all.Go(func() {
			if lacks.path == nil { // a change brings it, or nothing does
				<-ctx.Done()
			} else {
				_, _, _ = lacks.path.Wait(ctx, lacks.at) // the next try tells why it is not known
			}
			if context.Cause(ctx) == context.Canceled {
				return
			}
			select {
			case l.came <- struct{}{}:
			default:
			}
		})
	}
}

func (l *lackers) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.all.Wait()
}

// tellFrames says that robots have frames that they had not.
func (p *poses) tellFrames() {
	select {
	case p.frames <- struct{}{}:
	default:
	}
}

// yieldLocked makes room for an edge of a robot's own: an item of the name of its frame has none then.
func (p *poses) yieldLocked(frame string) {
	if p.items[frame] == nil {
		return
	}
	if _, err := p.store.Retrace(frame, nil); err == nil {
		delete(p.items, frame)
		p.tellFrames()
	}
}

// retry does again what is pending.
func (w *worldEdges) retry(ctx context.Context, f *world.Forest) {
	names := slices.Sorted(maps.Keys(w.pending))
	for range 4 { // one that is out of the way makes room for another
		for _, name := range names {
			if _, waits := w.pending[name]; waits {
				w.follow(ctx, f, name, engram.MaxTime)
			}
		}
	}
}

// relink looks again at what may be the same as a robot's frame, or may give way to one.
func (w *worldEdges) relink(ctx context.Context, f *world.Forest) {
	for m := range f.All() {
		e, _ := w.edge(f, m.Name)
		w.p.mu.Lock()
		known := w.p.items[m.Name]
		w.p.mu.Unlock()
		if e.Frame == "" || m.Is(world.KindRobot) || known == nil || strings.Contains(m.Name, "/") {
			w.follow(ctx, f, m.Name, engram.MaxTime)
		}
		w.bare(f, e.Frame)
	}
}

// follow brings the edge of an item up to date, from a time on.
func (w *worldEdges) follow(ctx context.Context, f *world.Forest, name string, since engram.Time) {
	w.lacks = lack{}
	err := w.update(ctx, f, name, since)
	if _, waits := w.pending[name]; waits || err != nil {
		w.otherwise = true
	}
	switch engram.CodeOf(err) {
	case 0:
		delete(w.pending, name)
	case engram.TooNew, engram.Conflict:
		waits := w.pending[name]
		waits.lacks = w.lacks
		if waits.tries == 0 {
			waits.until = time.Now().Add(retryFor)
		}
		waits.tries++
		if w.pending[name] = waits; time.Now().Before(waits.until) {
			return
		}
		fallthrough
	default:
		delete(w.pending, name)
		w.leaveOut(f, name, err)
	}
}

// leaveOut tells that the store has not what is said of an item.
func (w *worldEdges) leaveOut(f *world.Forest, name string, err error) {
	provider, when := "World", engram.Now()
	if e, ok := f.Edge(name); ok && e.Provider != "" {
		provider, when = e.Provider, e.Time
	}
	if id, idErr := engram.NewID("World", "Item", provider, name); idErr == nil {
		w.p.service.LeaveOut(id, when, engram.Errorf(engram.CodeOf(err), id.String(), "%w", err))
	}
}

func (w *worldEdges) update(ctx context.Context, f *world.Forest, name string, since engram.Time) error {
	p := w.p
	now, exists := w.edge(f, name)
	p.mu.Lock()
	known := p.items[name]
	if known == nil && p.store.Structure().Hangs(name) {
		p.mu.Unlock()
		if exists && now.Frame != "" {
			w.leaveOut(f, name, engram.Errorf(engram.Conflict, name, "it is a robot's own frame, which has its place from the robot; where %s says that it is does not count", now.Provider))
		}
		return nil
	}
	if link := w.linkLocked(f, name, now); link != "" || known != nil && known.link != "" {
		if known == nil || known.link != link {
			err := p.linkItemLocked(name, link)
			if err != nil || link != "" {
				p.mu.Unlock()
				return err
			}
			known = nil
		} else {
			p.mu.Unlock()
			return nil
		}
	}
	if known == nil && len(p.items) >= maxItemEdges {
		p.mu.Unlock()
		return engram.Errorf(engram.Exhausted, name, "the poses have the edges of %d items already", maxItemEdges)
	}
	from := engram.MinTime
	last := w.pending[name].tries > 1 // others had the chance to go out of its way
	if known != nil && !last {
		if from = min(since, known.last); from < known.from {
			from = engram.MinTime
		}
	}
	p.mu.Unlock()
	err := w.trace(ctx, f, name, known, from, last)
	if err == errWhole {
		err = w.trace(ctx, f, name, known, engram.MinTime, last)
	}
	return err
}

// errWhole says that more than the end of a track has changed.
var errWhole = errors.New("the whole track is needed")

// trace brings the edge of an item up to date with what is known of it from a time on. At last it
// takes what it gets.
func (w *worldEdges) trace(ctx context.Context, f *world.Forest, name string, known *itemEdge, from engram.Time, last bool) error {
	p := w.p
	track, err := w.model.Track(ctx, f, name, from)
	if err != nil {
		return err
	}
	for i := range track {
		track[i].Frame = w.local(f, track[i].Frame)
	}
	track, late := w.carryAll(f, w.ended(f, name, known, track))
	p.mu.Lock()
	if p.items[name] != known {
		p.mu.Unlock()
		return engram.Errorf(engram.Conflict, name, "a robot's own edge took its place meanwhile")
	}
	if len(track) > 0 {
		w.newest = max(w.newest, track[len(track)-1].Time)
	}
	if known == nil || from == engram.MinTime {
		err = p.retraceLocked(name, track)
	} else {
		err = p.extendLocked(name, known, track, from)
	}
	if spans, end := spansOf(track); last && len(spans) > 0 && engram.CodeOf(err) == engram.Conflict {
		// At some time it was in a loop, which was cut at another item. The present counts.
		spans = spans[len(spans)-1:]
		if err = p.setSpansLocked(name, spans, end.Time); engram.CodeOf(err) == engram.Conflict {
			spans[0].From, spans[0].Samples = w.newest, []pose.Sample{{Time: w.newest, Pose: end.Pose, Cov: end.Cov}}
			err = p.setSpansLocked(name, spans, w.newest)
		}
	}
	p.mu.Unlock()
	for _, e := range track {
		w.bare(f, e.Frame)
	}
	return cmp.Or(err, late)
}

// ended lets a track end where the forest has the item in no frame, at a loop that is cut there or
// when the frame was removed, and go on when that is over.
func (w *worldEdges) ended(f *world.Forest, name string, known *itemEdge, track []world.Edge) []world.Edge {
	now, exists := w.edge(f, name)
	if len(track) == 0 || !exists {
		return track
	}
	last := &track[len(track)-1]
	since := last.Time
	for _, s := range f.Statements(last.Frame) {
		since = max(since, s.Time)
	}
	switch {
	case now.Frame == "" && last.Frame != "" && f.Has(last.Frame):
		*last = world.Edge{Time: last.Time}
	case now.Frame == "" && last.Frame != "":
		track = append(track, world.Edge{Time: since + 1})
	case now.Frame != "" && known != nil && known.link == "" && known.parent == "" && last.Time <= known.last:
		now.Time = max(since, known.last+1)
		track = append(track, now)
	}
	return track
}

// extendLocked makes a track that begins at or before a time what the store has of an item from then
// on. It is errWhole if that is more than the present parent tells.
func (p *poses) extendLocked(name string, known *itemEdge, track []world.Edge, from engram.Time) error {
	i := 0
	for i < len(track) && track[i].Time < from {
		i++
	}
	if len(track) == 0 || track[len(track)-1].Time < known.last {
		return errWhole // what the store has after it was of a forest in which the item hung elsewhere
	}
	if known.changes >= maxParentChanges || i > 0 && track[i-1].Frame != known.parent && known.parent != "" {
		return errWhole
	}
	for ; i < len(track); i++ {
		e := &track[i]
		if e.Frame != known.parent {
			if e.Time <= known.last {
				return errWhole
			}
			handle, err := p.store.Reparent(e.Time, e.Frame, name, pose.Rest(), pose.MaxGap(0), pose.Foreign())
			if err != nil {
				return err
			}
			known.handle, known.parent, known.from, known.last = handle, e.Frame, e.Time, e.Time
			known.changes++
		} else if e.Frame != "" && i > 0 && e.Time.Sub(track[i-1].Time) > moveWithin {
			if err := known.set(e.Time-1, &track[i-1]); err != nil {
				return err
			}
		}
		if e.Frame == "" {
			continue
		}
		if err := known.set(e.Time, e); err != nil {
			return err
		}
		known.last = max(known.last, e.Time)
	}
	return nil
}

func (k *itemEdge) set(t engram.Time, e *world.Edge) error {
	if e.Cov.Mask != 0 {
		return k.handle.SetCov(t, e.Pose, e.Cov)
	}
	return k.handle.Set(t, e.Pose)
}

// retraceLocked makes a track all that the store has of an item. Of many parents the newest are kept.
func (p *poses) retraceLocked(name string, track []world.Edge) error {
	spans, last := spansOf(track)
	spans = spans[max(0, len(spans)-maxParentChanges/2):]
	if len(spans) == 0 && p.items[name] == nil {
		return nil
	}
	return p.setSpansLocked(name, spans, last.Time)
}

// spansOf returns a track by parents, and its last edge.
func spansOf(track []world.Edge) (spans []pose.Span, last world.Edge) {
	for i := range track {
		e := &track[i]
		if len(spans) == 0 || spans[len(spans)-1].Parent != e.Frame {
			spans = append(spans, pose.Span{From: e.Time, Parent: e.Frame})
		}
		s := &spans[len(spans)-1]
		if last = *e; e.Frame == "" {
			continue
		}
		if len(s.Samples) > 0 && e.Time.Sub(track[i-1].Time) > moveWithin {
			s.Samples = append(s.Samples, pose.Sample{Time: e.Time - 1, Pose: track[i-1].Pose, Cov: track[i-1].Cov})
		}
		s.Samples = append(s.Samples, pose.Sample{Time: e.Time, Pose: e.Pose, Cov: e.Cov})
	}
	return spans, last
}

// setSpansLocked makes spans, the last of which has its last sample at a time, all that the store has of
// an item.
func (p *poses) setSpansLocked(name string, spans []pose.Span, newest engram.Time) error {
	handle, err := p.store.Retrace(name, spans, pose.Rest(), pose.MaxGap(0), pose.Foreign())
	if err != nil {
		return err
	}
	delete(p.items, name)
	if len(spans) == 0 {
		return nil
	}
	last := &spans[len(spans)-1]
	p.items[name] = &itemEdge{handle: handle, parent: last.Parent, from: last.From, last: newest, changes: len(spans)}
	return nil
}

// bases are the usual names of a robot's base, as in REP 105.
var bases = []string{"base_link", "base_footprint", "base"}

// linkLocked returns the robot's frame that an item or a bare frame is the same as, or "". A robot is where
// its base is. What is in no frame, such as map, is the frame of that name of the only robot
// that has one.
func (w *worldEdges) linkLocked(f *world.Forest, name string, now world.Edge) string {
	m, err := f.Get(name)
	if err == nil && m.Is(world.KindRobot) {
		names := bases
		if r := m.Description.Robot; r != nil && r.Base != "" {
			names = []string{r.Base}
		}
		for _, base := range names {
			if base = lookup.Absolute(name, base); base != name && !f.Has(base) && w.p.store.Structure().Hangs(base) {
				return base
			}
		}
	}
	if now.Frame != "" || strings.Contains(name, "/") {
		return ""
	}
	found := ""
	for robot := range w.p.robots {
		frame := robot + "/" + name
		if !w.p.store.Structure().Has(frame) || f.Has(frame) {
			continue
		}
		if found != "" {
			return "" // several robots have one: nobody knows whether they are the same
		}
		found = frame
	}
	return found
}

// meetLocked remembers the robots of frames, and tells that there are others than before.
func (p *poses) meetLocked(frames ...string) {
	for _, frame := range frames {
		if robot, _, ok := strings.Cut(frame, "/"); ok {
			p.robots[robot] = true
		}
	}
	p.tellFrames()
}

// linkItemLocked makes an item the same as a robot's frame; "" is none.
func (p *poses) linkItemLocked(name, link string) error {
	if p.items[name] != nil {
		if _, err := p.store.Retrace(name, nil); err != nil {
			return err
		}
		delete(p.items, name)
	}
	if link == "" {
		return nil
	}
	if err := p.store.Fixed(link, name, pose.Identity(), pose.ExactCov(), pose.Foreign()); err != nil {
		return err
	}
	p.items[name] = &itemEdge{parent: link, link: link}
	return nil
}

// local returns what the poses call a frame: one that is said to be this robot's, as a fleet calls the
// robot, may have another name in its description. See linkLocked.
func (w *worldEdges) local(f *world.Forest, frame string) string {
	robot := w.model.Robot()
	own, ok := strings.CutPrefix(frame, robot+"/")
	if robot == "" || !ok || f.Has(frame) || w.p.store.Structure().Has(frame) {
		return frame
	}
	return own
}

// edge is [world.Forest.Edge] in such a frame.
func (w *worldEdges) edge(f *world.Forest, name string) (world.Edge, bool) {
	e, ok := f.Edge(name)
	e.Frame = w.local(f, e.Frame)
	return e, ok
}

// bare looks whether a frame that no item is of is the same as a robot's.
func (w *worldEdges) bare(f *world.Forest, frame string) {
	// What was placed before the robot's own frames came is by now in these; who asks uses the old name.
	if own, ok := strings.CutPrefix(frame, w.model.Robot()+"/"); ok && w.p.store.Structure().Has(own) {
		frame = own
	}
	if frame == "" || f.Has(frame) || strings.Contains(frame, "/") {
		return
	}
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	known := w.p.items[frame]
	if known == nil && w.p.store.Structure().Hangs(frame) {
		return
	}
	link := w.linkLocked(f, frame, world.Edge{})
	if known == nil && link == "" || known != nil && known.link == link {
		return
	}
	if err := w.p.linkItemLocked(frame, link); err != nil {
		w.leaveOut(f, frame, err)
	}
}

// carryAll carries what was seen. Without what is not known yet the track ends there; what is not known
// any more is left out.
func (w *worldEdges) carryAll(f *world.Forest, track []world.Edge) (carried []world.Edge, err error) {
	for _, e := range track {
		switch failed := w.carry(f, &e); engram.CodeOf(failed) {
		case 0:
			carried = append(carried, e)
		case engram.TooNew:
			return carried, failed
		default:
			err = failed
		}
	}
	return carried, err
}

// carry takes what a localiser saw from a robot's frame that moves into one that stays, at the time at
// which it was seen: that below which the robot's odometry is. A revision of where the robot was moves it
// then. The error is TooNew while the robot's pose at that time is not known. Frames that are not
// absolute are those of the robot that the provider is named after, if it has them.
func (w *worldEdges) carry(f *world.Forest, e *world.Edge) error {
	if e.Home == world.InWorld || e.Frame == "" || f.Has(e.Frame) {
		return nil
	}
	p := w.p
	if own := lookup.Absolute(e.Provider, e.Frame); own != e.Frame && p.store.Structure().Hangs(own) {
		e.Frame = own
	}
	if e.Home != world.InInstance {
		return nil
	}
	stays := ""
	for _, above := range p.store.Structure().Above(e.Time, e.Frame) {
		if above.Kind == pose.KindFree || above.Kind == pose.KindJoint {
			stays = above.Parent
		}
	}
	if stays == "" || stays == e.Frame {
		return nil
	}
	path, err := p.store.Path(stays, e.Frame)
	if err != nil {
		return err
	}
	at, cov, _, fail := path.AtCov(e.Time)
	if fail.Code == pose.TooNew {
		w.lacks = lack{path, stays, e.Frame, e.Time}
	}
	if fail.Code != pose.OK {
		return fail.Err()
	}
	e.Cov = pose.ComposeCov(&cov, e.Pose, &e.Cov)
	e.Pose, e.Frame = at.Mul(e.Pose), stays
	return nil
}
