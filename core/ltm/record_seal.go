package ltm

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// sealing is an episode that is to be sealed as soon as it holds all up to a
// checkpoint.
type sealing struct {
	why     string
	point   *checkpoint // nil until it is known
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
	switch o, info := r.options, r.writer.Info(); {
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
	r.checkpoint(r.logs.Rotate, func(c *checkpoint) { g.point = c })
}

// checkpoint has a moment found up to which the log, whose ends are found by a
// function, and the working memory agree, and has the recorder's goroutine note it.
func (r *recorder) checkpoint(ends func() map[string]wal.Position, note func(*checkpoint)) {
	r.ended.Go(func() {
		var c checkpoint
		c.number, c.err = r.wm.Barrier(r.ctx, func() {
			c.moves = r.logs.Moves() // first: what is moved afterwards is noticed
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
	if g.point.err != nil || !r.readLog(g.point) {
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
			if r.add(id, e, s, false) {
				e.tally.record(s)
				e.tally.unfilter(s)
			}
		}
	}
}

// rotate ends the open episode where it stands, without touching the log.
func (r *recorder) rotate(why string, broken error) {
	r.options.Log.Info("the long-term memory begins another episode early", "why", why)
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
		case r.sealer.jobs <- j:
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
	o := r.options
	r.began = o.Now()
	info := episode.Info{
		Name: r.folder.nextName(r.began), Robot: o.Robot, Epoch: r.wm.Epoch(), Losses: r.counts.losses.Texts(),
	}
	w, err := episode.Create(filepath.Join(o.Dir, episodesDir), info.Name, info, r.disk.episodes.options)
	if err != nil {
		return err
	}
	r.counts.losses = episode.Losses{}
	r.writer, r.handle, r.trained = w, r.disk.episodes.begin(w, info), dictionaries{}
	r.inForce()
	return nil
}

// finish records nothing more: it hands the last episode over.
func (r *recorder) finish() {
	j := job{last: true}
	if r.seal != nil {
		j.waiting = r.seal.waiting
	}
	n := r.wm.Number() // the last one: the memory is closed
	if lost := r.left.lost(); lost > 0 {
		r.lose(lost, fmt.Sprintf("the server ended before the recorder was done: %v", r.left))
	}
	all := checkpoint{number: n, whole: n, moves: r.logs.Moves(), ends: r.logs.Rotate()}
	whole := r.readLog(&all)
	r.keepNewest()
	if whole && !r.gaveUp && !r.withheld {
		j.ends = all.ends
	}
	r.handOver("the end", j)
}

// Seal implements [Service]. What was committed before the call is sealed then.
func (a *administration) Seal(ctx context.Context, why string) error {
	if a.recorder == nil {
		return errNotBegun
	}
	return a.recorder.sealNow(ctx, why)
}

// sealNow seals what was committed before the call, and waits for that as long as the disk
// does not refuse.
func (r *recorder) sealNow(ctx context.Context, why string) error {
	sealed := make(chan error, 1)
	r.sealer.impatient.add(sealed)
	defer r.sealer.impatient.remove(sealed)
	err := r.do(ctx, func() error {
		r.startSeal(why)
		r.seal.waiting = append(r.seal.waiting, sealed)
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
	p := r.policies.Of(id)
	typ, durability := engram.ValueType, engram.Volatile
	if d, err := r.wm.Describe(r.ctx, engram.PatternOf(id.Truncate(engram.LevelProviderSegment))); err == nil && len(d) > 0 {
		typ, durability = d[len(d)-1].Type, d[0].Durability
	}
	t, _ := r.options.Types.Get(typ)
	// Payloads may extend the segment's type, as images do: what they are tells the codec.
	payload, newest := t, []byte(nil)
	if s, err := r.wm.Latest(r.ctx, id); err == nil {
		newest = s.Instances[0].Payload.Bytes
		if own, ok := r.options.Types.Get(s.Instances[0].Payload.Type); ok {
			payload = own
		}
	}
	c := &episode.Channel{Entity: id, Policy: describe(p), Codec: codec.Config{
		Codec: codec.Choose(p.Codec, payload, newest, p.MaxError), Payload: t, Types: r.options.Types, Quality: p.Quality, MaxError: p.MaxError,
		Shown: codec.Shown(p.Codec),
	}}
	if t != nil {
		c.Type = t.Def()
	}
	return c, durability != engram.Volatile
}
