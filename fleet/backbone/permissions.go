package backbone

import (
	"context"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
)

// permissions knows what an existing NATS cluster denies this program. NATS tells so
// beside the call that is concerned, which would wait for an answer in vain.
type permissions struct {
	thing string // for errors
	log   *slog.Logger

	mu      sync.Mutex
	heard   map[string]denial    // subscriptions that were denied of late, by purpose
	logged  map[string]time.Time // what was logged when
	waiting map[*waiting]struct{}
}

// denial is a subscription that the NATS cluster denied.
type denial struct {
	subject string
	err     error
	until   time.Time // holds so long; without end if zero
}

// Bounds of what is remembered of denials.
const (
	maxDenials = 100              // purposes
	denialFor  = 30 * time.Second // an administrator may allow it: who needs it tries again
)

// waiting is a call that cannot succeed without some subjects.
type waiting struct {
	needs func(subject string) bool
	stop  context.CancelCauseFunc
}

func newPermissions(thing string, log *slog.Logger) *permissions {
	return &permissions{thing: thing, log: log, heard: map[string]denial{}, logged: map[string]time.Time{}, waiting: map[*waiting]struct{}{}}
}

var violation = regexp.MustCompile(`(?i)violation for (publish|subscription) to "([^"]+)"`)

// note takes an error that NATS tells beside a call; it reports whether it is one of
// permissions.
func (p *permissions) note(err error) bool {
	found := violation.FindStringSubmatch(err.Error())
	if found == nil {
		return false
	}
	publish, subject := strings.EqualFold(found[1], "publish"), found[2]
	what := "subscribe to"
	if publish {
		what = "publish on"
	}
	denied := engram.Errorf(engram.Forbidden, p.thing, "the NATS cluster does not let this program %s %q; have its administrator allow what docs/security.md lists (\"The backbone\")", what, subject)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !publish {
		p.rememberLocked(subject, denied)
	}
	for w := range p.waiting {
		if w.needs(subject) {
			w.stop(denied)
		}
	}
	const again, most = 5 * time.Minute, 1000
	kind := what + " " + purposeOf(subject)
	if now := time.Now(); now.Sub(p.logged[kind]) > again && len(p.logged) < most {
		p.logged[kind] = now
		p.log.Error("backbone", "error", denied)
	}
	return true
}

// rememberLocked remembers a subscription that was denied, for calls that come.
func (p *permissions) rememberLocked(subject string, denied error) {
	p.expireLocked()
	d := denial{subject, denied, time.Now().Add(denialFor)}
	purpose := purposeOf(subject)
	if answersOf(subject) {
		d.until = time.Time{}
	}
	if _, known := p.heard[purpose]; known || answersOf(subject) || len(p.heard) < maxDenials {
		p.heard[purpose] = d
	}
}

// expireLocked forgets what was denied too long ago.
func (p *permissions) expireLocked() {
	now := time.Now()
	maps.DeleteFunc(p.heard, func(_ string, d denial) bool { return !d.until.IsZero() && !now.Before(d.until) })
}

// answersOf reports whether a subject is that of the one subscription by which a
// connection gets all of its answers. It is not made again.
func answersOf(subject string) bool {
	return strings.HasPrefix(subject, "_INBOX.") && strings.HasSuffix(subject, ".*")
}

// purposeOf returns what subjects of one purpose have in common.
func purposeOf(subject string) string {
	switch {
	case answersOf(subject):
		return "_INBOX.*.*"
	case strings.HasPrefix(subject, "_INBOX."):
		return "_INBOX.*"
	}
	tokens := strings.SplitN(subject, ".", 4)
	return strings.Join(tokens[:min(len(tokens), 3)], ".")
}

// forget forgets what was denied, on a new connection.
func (p *permissions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.heard)
}

// allowed calls f with a context that ends when something is denied that it needs, with
// the error that says what.
func (p *permissions) allowed(ctx context.Context, needs func(subject string) bool, f func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &waiting{needs, stop}
	p.mu.Lock()
	p.expireLocked()
	for _, d := range p.heard {
		if needs(d.subject) {
			stop(d.err)
		}
	}
	p.waiting[w] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, w)
		p.mu.Unlock()
	}()
	err := f(ctx)
	if why := context.Cause(ctx); err != nil && engram.CodeOf(why) == engram.Forbidden {
		return why
	}
	return err
}

// Names calls f, which asks or changes the name system on the backbone, with a context
// that ends when the NATS cluster denies what that takes: the error then says what, as
// Forbidden.
func (b *Backbone) Names(ctx context.Context, f func(context.Context) error) error {
	return b.permissions.allowed(ctx, func(subject string) bool {
		return strings.HasPrefix(subject, "$JS.") || strings.HasPrefix(subject, "$KV.") || strings.HasPrefix(subject, "_INBOX.")
	}, f)
}

// Flush waits until the NATS server has seen all that was sent to it so far. The error is
// Forbidden if it denies a subscription: then what was to be heard never will be.
func (b *Backbone) Flush(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, nats.DefaultTimeout*2)
		defer cancel()
	}
	if err := b.conn.FlushWithContext(ctx); err != nil {
		return engram.Errorf(engram.Unavailable, b.permissions.thing, "the backbone does not answer: %w", err)
	}
	if err := b.conn.LastError(); err != nil { // told before the answer, to others later
		b.permissions.note(err)
	}
	b.permissions.mu.Lock()
	defer b.permissions.mu.Unlock()
	for _, d := range b.permissions.heard {
		return d.err
	}
	return nil
}
