package ingest

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// Live is a source of messages that come as they happen, such as a live.Source. Its Next
// waits for a message, and returns io.EOF when the source has ended.
type Live interface {
	recording.Reader
	// Buffered returns how many messages can be read without waiting: what was read is
	// committed when there are none.
	Buffered() int
}

// lastCommits is how long what had come before the end of a [Follow] may take to be
// committed.
const lastCommits = 10 * time.Second

// Follow commits what src tells, as [Import] does with a recording of that name, until src
// ends. When ctx ends, src must end, too; what it had until then is still committed, for up
// to 10 s. It does not close src. The report is also returned with an error, which is that of
// a destination that went away.
//
// Of each entity the last 4,096 times are remembered: a message whose stamp is one of them
// gets the next free nanosecond, as in an import.
func Follow(ctx context.Context, dst Destination, src Live, name string, o Options) (*Report, error) {
	if o.Rate != 0 {
		return nil, engram.Errorf(engram.Invalid, name, "what is live comes at its own pace; leave the rate out")
	}
	if err := o.check(name); err != nil {
		return nil, err
	}
	began := time.Now()
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastCommits):
			cancel()
		case <-last.Done():
		}
	})
	defer stop()
	report := &Report{File: name, Source: o.Source, Live: true}
	im := &importer{o: o, rec: src, live: src, ended: ctx, report: report, router: newRouter(last, dst, &o, name)}
	return report, im.importAll(last, dst, began)
}

// How long a memory that is away is left alone before it is looked for again.
const (
	againFirst = 250 * time.Millisecond
	againMost  = 5 * time.Second
	// How long one that answers again may lack segments that cannot be added.
	againLacking = 30 * time.Second
)

// again waits until a memory that went away by err is back, and has all prepared for going
// on; it returns false if the error is another one, or nothing is to be waited for. Messages
// wait in the source, as many as it holds. What was under way is sent again; if it had
// arrived, it takes the place of itself.
func (im *importer) again(ctx context.Context, dst Destination, err error) bool {
	if engram.CodeOf(err) != engram.Unavailable || im.ended.Err() != nil {
		return false
	}
	if im.o.Away != nil {
		im.o.Away(err)
	}
	_ = im.out.finish(false) // it is broken, as err says
	unanswered := im.out.unanswered()
	lacked := time.Duration(0)
	for pause := againFirst; ; pause = min(2*pause, againMost) {
		select {
		case <-time.After(pause):
		case <-im.ended.Done():
			for _, b := range unanswered {
				for _, u := range b.sent {
					u.tally.topic.refuse(err, 1)
				}
			}
			return false
		}
		router, failed := im.router.again(ctx, &im.o)
		if router == nil {
			continue
		}
		if failed != nil && lacked < againLacking {
			lacked += pause
			continue
		}
		out, failed := newSender(ctx, dst, im.out.marks)
		if failed != nil {
			continue
		}
		out.times, out.keep, out.maxRuns = im.out.times, im.out.keep, im.out.maxRuns
		for _, b := range unanswered {
			if failed = out.send(b); failed != nil {
				break
			}
		}
		if failed != nil {
			_ = out.finish(false) // likewise
			continue
		}
		im.router, im.out, im.notes.ready = router, out, false
		if im.o.Away != nil {
			im.o.Away(nil)
		}
		return true
	}
}

// again returns a router that knows the destination anew, which may have lost segments and
// types: those of routes that were in use are added. The error is that of a destination that
// is still away, or, with the router, of a route that it has no place for.
func (r *router) again(ctx context.Context, o *Options) (*router, error) {
	n := newRouter(ctx, r.dst, o, r.file)
	n.topics, n.timed, n.joints = r.topics, r.timed, r.joints
	var lacking error
	for c, old := range r.channels {
		ch := n.channel(c)
		for i := range old.routes {
			if !old.routes[i].built {
				continue
			}
			if err := n.build(ch, &ch.routes[i]); err != nil {
				lacking = err
				if engram.CodeOf(err) == engram.Unavailable {
					return nil, err
				}
			}
		}
	}
	n.damaged = r.damaged
	return n, lacking
}
