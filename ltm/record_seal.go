package ltm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/codec"
	"github.com/seed-301d4374/engram/ltm/episode"
	"github.com/seed-301d4374/engram/ltm/wal"
)

// sealing is an episode that is to be sealed as soon as it holds all up to a
// checkpoint.
type sealing struct {
	why     string
	point   *checkpoint // nil until it is known
	waiting []chan<- error
}

// job is an episode to be sealed by the goroutine that does that.
type job struct {
	handle  *handle
	writer  *episode.Writer
	ends    map[string]wal.Position // the log is cut off up to these
	broken  error                   // the disk refused to sync it
	upTo    uint64                  // no version in it has a higher number
	waiting []chan<- error
}

// maxMarks is from how many marks on an episode is sealed: what it says of itself is
// written anew whenever it changes. Tests change it.
var maxMarks = 1000

// checkSize has the open episode sealed if it is large or old enough.
func (r *recorder) checkSize() {
	if r.writer == nil || r.seal != nil {
		return
	}
	switch o, info := &r.s.options, r.writer.Info(); {
	case info.Bytes >= o.SealBytes:
		r.startSeal("size")
	case len(info.Marks) >= maxMarks:
		r.startSeal("marks")
	case o.Now().Sub(r.began) >= o.SealAge:
		r.startSeal("age")
	}
}

// startSeal has the open episode, which may not be open yet, sealed when it holds all
// that has been committed so far.
func (r *recorder) startSeal(why string) {
	g := &sealing{why: why}
	if r.seal != nil { // its checkpoint lies before this one
		g.waiting = r.seal.waiting
	}
	r.seal = g
	r.checkpoint(r.s.journal.Rotate, func(c *checkpoint) { g.point = c })
}

// checkpoint has a moment found up to which the log, whose ends are found by a
// function, and the working memory agree, and has the recorder's goroutine note it.
func (r *recorder) checkpoint(ends func() map[string]wal.Position, note func(*checkpoint)) {
	r.ended.Go(func() {
		var c checkpoint
		c.number, c.err = r.wm.Settle(r.ctx, func() {
			c.moves = r.s.journal.Moves() // first: what is moved afterwards is noticed
			c.ends, c.whole = ends(), r.wm.Number()
		})
		select {
		case r.settled <- func() { note(&c) }:
		case <-r.over:
		}
	})
}

// sealIfDue hands the open episode over if it holds what it is to hold.
func (r *recorder) sealIfDue() {
	g := r.seal
	if g == nil || g.point == nil || r.progress.done.Load() < r.progress.told(g.point.number) {
		return
	}
	ends := g.point.ends
	if g.point.err != nil || !r.refill(g.point) {
		ends = nil // the log stays as it is
	}
	r.keepNewest()
	if r.gaveUp || r.withheld {
		ends = nil
	}
	if r.seal == g { // else another one was wanted meanwhile, and waits for this one too
		r.seal = nil
	} else {
		g.waiting = nil
	}
	r.handOver(g.why, job{ends: ends, waiting: g.waiting})
}

// keepNewest records the newest states of durable segments that their policy left out,
// so that they outlive the log.
func (r *recorder) keepNewest() {
	for id, e := range r.entities {
		if s := e.newest; s != nil {
			e.newest = nil
			r.add(id, e, s, false)
		}
	}
}

// rotate ends the open episode where it stands, without touching the log.
func (r *recorder) rotate(why string, broken error) {
	r.s.options.Log.Info("the long-term memory begins another episode early", "why", why)
	j := job{broken: broken}
	if r.seal != nil && broken != nil { // else the rest of what they wait for is still to be sealed
		j.waiting = r.seal.waiting
		r.seal.waiting = nil
	}
	r.handOver(why, j)
}

// handOver gives the open episode to the goroutine that seals. If that is busy, it
// waits, and updates wait in the working memory.
func (r *recorder) handOver(why string, j job) {
	j.handle, j.writer, j.upTo = r.handle, r.writer, r.wm.Number()
	r.handle, r.writer, r.channels = nil, nil, 0
	if j.writer == nil && j.ends == nil {
		answer(j.waiting, nil)
		return
	}
	if j.writer != nil {
		j.writer.Label("sealed for", why)
	}
	for handed := false; !handed; {
		select {
		case r.jobs <- j:
			handed = true
		case order := <-r.orders:
			order()
		}
	}
}

// open makes sure that there is an open episode, which begins with the values in force.
func (r *recorder) open() error {
	if r.writer != nil {
		return nil
	}
	o := &r.s.options
	r.began = o.Now()
	info := episode.Info{
		Name: r.s.nextName(r.began), Robot: o.Robot, Epoch: r.wm.Epoch(), Losses: r.counts.losses.Texts(),
	}
	w, err := episode.Create(filepath.Join(o.Dir, episodesDir), info.Name, info, r.s.episodeOptions())
	if err != nil {
		return err
	}
	r.counts.losses = episode.Losses{}
	r.writer, r.handle, r.trained = w, r.s.episodes.begin(w, info), dictionaries{}
	r.inForce()
	return nil
}

// nextName returns the name of an episode that begins at t.
func (s *Store) nextName(t engram.Time) string {
	return sequenced(t.Std().Format("2006-01-02T15-04-05Z"), s.sequence.Add(1))
}

func sequenced(began string, n uint64) string { return fmt.Sprintf("%s-%06d%s", began, n, sealedExt) }

// sequenceOf returns the number at the end of an episode's name.
func sequenceOf(name string) uint64 {
	name, _, _ = strings.Cut(name, ".")
	n, _ := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	return n
}

// sealJobs seals what is handed over, and cuts the log off then, unless something that
// it still has was lost on its way into an episode.
func (r *recorder) sealJobs() {
	cut := true
	for j := range r.jobs {
		err := j.broken
		if err == nil && j.writer != nil { // else all is in sealed episodes already
			err = r.sealOne(j)
		}
		if err != nil {
			r.s.options.Log.Error("an episode could not be sealed", "episode", j.handle.name, "error", err)
			var whole bool
			whole, err = r.saveBroken(j, err)
			cut = cut && whole
		}
		if cut {
			r.cutLog(j.ends)
		}
		answer(j.waiting, err)
	}
}

// answer tells those who wait for an episode to be sealed what became of it. Who was told
// before that the disk refuses does not wait any more.
func answer(waiting []chan<- error, err error) {
	for _, w := range waiting {
		select {
		case w <- err:
		default:
		}
	}
}

// impatient are those who wait for the disk as long as it does not refuse. Safe for
// concurrent use.
type impatient struct {
	mu      sync.Mutex
	waiting []chan<- error
}

func (i *impatient) add(w chan<- error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = append(i.waiting, w)
}

func (i *impatient) remove(w chan<- error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = slices.DeleteFunc(i.waiting, func(x chan<- error) bool { return x == w })
}

// refused tells them that a try failed: there will be others.
func (i *impatient) refused(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(i.waiting, engram.Errorf(engram.CodeOf(err), "", "the episode is not sealed yet; that goes on by itself when the disk works again: %w", err))
}

// sealOne seals an episode and puts it into the catalogue, trying again while the disk
// refuses. Corrupt says that it must be repaired; any other error, that the store is
// closing.
func (r *recorder) sealOne(j job) error {
	var info episode.Info
	err := r.persist("sealing "+j.handle.name, func() (err error) {
		info, err = j.writer.Seal(r.ctx)
		return err
	})
	if err != nil {
		return err
	}
	return r.adopt(j, info, j.writer.Entities())
}

// adopt makes a sealed episode known.
func (r *recorder) adopt(j job, info episode.Info, entities []episode.Entity) error {
	err := r.persist("the catalogue", func() error { return r.s.catalogue.Put(r.ctx, info, entities) })
	r.s.episodes.sealed(j.handle, info, j.upTo)
	r.s.account.change() // what was left out
	r.s.health.set("the account", r.s.saveAccount())
	return err
}

// saveBroken repairs an episode that cannot be sealed, and reports whether all that it
// was given is there.
func (r *recorder) saveBroken(j job, cause error) (whole bool, err error) {
	if engram.CodeOf(cause) != engram.Corrupt {
		return false, cause // closing: the next life salvages it
	}
	dir := filepath.Join(r.s.options.Dir, episodesDir)
	from := filepath.Join(dir, strings.TrimSuffix(j.handle.name, sealedExt)+openExt)
	var info episode.Info
	var entities []episode.Entity
	err = r.persist("repairing "+j.handle.name, func() error {
		var err error
		if info, _, err = episode.Repair(r.ctx, from, filepath.Join(dir, j.handle.name), r.s.episodeOptions()); err != nil {
			return err
		}
		repaired, err := episode.Open(filepath.Join(dir, j.handle.name), r.s.episodeOptions())
		if err != nil {
			return err
		}
		entities = repaired.Entities()
		return errors.Join(repaired.Close(), r.s.options.FS.Remove(from))
	})
	if err != nil {
		r.s.episodes.abandon(j.handle)
		return false, err
	}
	return info.Snapshots == j.writer.Info().Snapshots, r.adopt(j, info, entities)
}

// persist does something with the disk, again and again until it succeeds, it cannot
// be mended (Corrupt), or the store is closing.
func (r *recorder) persist(what string, act func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := act()
		if err == nil || engram.CodeOf(err) == engram.Corrupt {
			r.s.health.set(what, nil)
			return err
		}
		r.s.health.set(what, err)
		r.impatient.refused(err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.stop:
			timer.Stop()
			return err
		}
	}
}

// cutLog lets go of what the sealed episodes hold.
func (r *recorder) cutLog(ends map[string]wal.Position) {
	for memory, end := range ends {
		l := r.s.journal.Log(memory)
		if l == nil || r.s.foreign[memory] {
			continue
		}
		err := l.Sync(r.ctx, end) // the file that goes on there is begun
		if err == nil {
			err = l.Truncate(end)
		}
		r.s.health.set("cutting the log of "+memory, err)
	}
}

// finish records nothing more: it hands the last episode over.
func (r *recorder) finish() {
	var j job
	if r.seal != nil {
		j.waiting = r.seal.waiting
	}
	n := r.wm.Number() // the last one: the memory is closed
	all := checkpoint{number: n, whole: n, moves: r.s.journal.Moves(), ends: r.s.journal.Rotate()}
	whole := r.refill(&all)
	r.keepNewest()
	if whole && !r.gaveUp && !r.withheld {
		j.ends = all.ends
	}
	r.handOver("the end", j)
}

// closePatience bounds how long closing tries to write what a disk refuses.
const closePatience = 10 * time.Second

// close waits until all that the working memory, which was closed, still held for the
// recorder is sealed.
func (r *recorder) close() error {
	done := make(chan struct{})
	go func() { r.ended.Wait(); close(done) }()
	timer := time.NewTimer(closePatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		close(r.stop)
		<-done
	}
	r.cancel()
	if r.stream != nil {
		return r.stream.Close()
	}
	return nil
}

// Seal implements [Service]. What was committed before the call is sealed then.
func (s *Store) Seal(ctx context.Context, why string) error {
	if s.recorder == nil {
		return errNotBegun
	}
	sealed := make(chan error, 1)
	s.recorder.impatient.add(sealed)
	defer s.recorder.impatient.remove(sealed)
	err := s.recorder.do(ctx, func() error {
		s.recorder.startSeal(why)
		s.recorder.seal.waiting = append(s.recorder.seal.waiting, sealed)
		return nil
	})
	if err != nil {
		return err
	}
	select {
	case err := <-sealed:
		return err
	case <-ctx.Done():
		return engram.Errorf(engram.Canceled, "", "the call was given up: %w", context.Cause(ctx))
	}
}

var errNotBegun = engram.Errorf(engram.Unavailable, "", "the long-term memory was opened without a working memory")

// channel returns how an entity is stored, and whether its commits are logged.
func (r *recorder) channel(id engram.ID) (*episode.Channel, bool) {
	p := r.s.policies.Of(id)
	typ, durability := engram.ValueType, engram.Volatile
	if d, err := r.wm.Describe(r.ctx, engram.PatternOf(id.Truncate(engram.LevelProviderSegment))); err == nil && len(d) > 0 {
		typ, durability = d[len(d)-1].Type, d[0].Durability
	}
	t, _ := r.s.options.Types.Get(typ)
	// Payloads may extend the segment's type, as images do: what they are tells the codec.
	payload := t
	if s, err := r.wm.Latest(r.ctx, id); err == nil {
		if own, ok := r.s.options.Types.Get(s.Instances[0].Payload.Type); ok {
			payload = own
		}
	}
	c := &episode.Channel{Entity: id, Policy: describe(p), Codec: codec.Config{
		Codec: codec.Choose(p.Codec, payload, p.MaxError), Payload: t, Types: r.s.options.Types, Quality: p.Quality, MaxError: p.MaxError,
	}}
	if t != nil {
		c.Type = t.Def()
	}
	return c, durability != engram.Volatile
}
