package crashtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The segments that are written to, by durability.
var segments = [...]engram.ID{
	engram.Volatile: engram.MustID("GeneralPurpose/CrashVolatile"),
	engram.Logged:   engram.MustID("GeneralPurpose/CrashLogged"),
	engram.Synced:   engram.MustID("GeneralPurpose/CrashSynced"),
}

// addSegments makes sure that they are there. Tight ones keep little in RAM.
func addSegments(ctx context.Context, s engram.Segments, tight bool) error {
	var history engram.Bounds
	if tight {
		history.MaxCount = 2
	}
	for d, id := range segments {
		if err := s.AddCoreSegment(ctx, engram.CoreSegment{ID: id, Durability: engram.Durability(d), History: history}); err != nil {
			return err
		}
	}
	return nil
}

// partsOf is how many instances a snapshot has: enough to see half of one.
const partsOf = 3

// contentOf returns a part of what a client writes with a number: known to whoever
// knows both.
func contentOf(client int, number, part int) string {
	h := fnv.New64a()
	fmt.Fprint(h, client, number, part)
	text := fmt.Sprintf("client %d number %d part %d ", client, number, part)
	return text + strings.Repeat(fmt.Sprintf("%x ", h.Sum64()), int(h.Sum64()%40))
}

func updateOf(client int, d engram.Durability, number int) (engram.EntityUpdate, error) {
	u := engram.EntityUpdate{Entity: entityOf(client, d), Time: engram.Time(number)}
	for part := range partsOf {
		p, err := idf.ValuePayload(contentOf(client, number, part))
		if err != nil {
			return u, err
		}
		u.Instances = append(u.Instances, engram.NewInstance(p))
	}
	return u, nil
}

func entityOf(client int, d engram.Durability) engram.ID {
	id, err := segments[d].Child("p")
	if err == nil {
		id, err = id.Child(fmt.Sprint("client", client))
	}
	if err != nil {
		panic(err)
	}
	return id
}

// ack is an acknowledged commit.
type ack struct {
	number int
	at     time.Time
}

// track is what is known of one client's entity in one segment.
type track struct {
	found int   // all up to this one survived an earlier crash
	sent  int   // the highest that was ever sent
	acks  []ack // since then
}

// book is what all clients of a server know; safe for concurrent use.
type book struct {
	sync.Mutex
	tracks [][len(segments)]track // by client and durability
}

func newBook(clients int) *book { return &book{tracks: make([][len(segments)]track, clients)} }

// write commits as client until it fails or ctx ends: each commit is an update of every
// segment. refused says whether an update may be refused; the client then sends it again.
func (b *book) write(ctx context.Context, w engram.Writer, client int, mayRefuse bool) error {
	for ctx.Err() == nil {
		var c engram.Commit
		b.Lock()
		for d := range segments {
			t := &b.tracks[client][d]
			next := t.found + 1
			if n := len(t.acks); n > 0 {
				next = t.acks[n-1].number + 1
			}
			u, err := updateOf(client, engram.Durability(d), next)
			if err != nil {
				b.Unlock()
				return err
			}
			t.sent = max(t.sent, next)
			c.Updates = append(c.Updates, u)
		}
		b.Unlock()
		results, err := w.Commit(ctx, c)
		if err != nil {
			return nil // killed
		}
		b.Lock()
		for d, r := range results {
			switch code := engram.CodeOf(r.Err); {
			case r.Err == nil:
				t := &b.tracks[client][d]
				t.acks = append(t.acks, ack{int(c.Updates[d].Time), time.Now()})
			case mayRefuse && (code == engram.Unavailable || code == engram.Exhausted):
			default:
				b.Unlock()
				return fmt.Errorf("client %d, %v: %w", client, engram.Durability(d), r.Err)
			}
		}
		b.Unlock()
	}
	return nil
}

// wait waits until n commits of each client were acknowledged.
func (b *book) wait(t *testing.T, n int) {
	t.Helper()
	testkit.Until(t, func() (string, bool) {
		b.Lock()
		defer b.Unlock()
		few := slices.ContainsFunc(b.tracks, func(t [len(segments)]track) bool {
			return slices.ContainsFunc(t[:], func(t track) bool { return len(t.acks) < n })
		})
		return fmt.Sprintf("%d commits of each client are not acknowledged", n), !few
	})
}

// stats counts over all crashes.
type stats struct {
	sync.Mutex
	kills, commits int
	lostLogged     int           // acknowledged logged commits that were lost
	oldestLost     time.Duration // how long before the crash the oldest of them was acknowledged
	// What was compared beside that: answers while clients wrote, updates of subscriptions,
	// and earlier beliefs after crashes.
	read, followed, believed int
}

// count counts one more.
func (s *stats) count(what *int) {
	s.Lock()
	defer s.Unlock()
	*what++
}

// looked reports whether there was something of each to be compared.
func (s *stats) looked() bool {
	s.Lock()
	defer s.Unlock()
	return s.read > 0 && s.followed > 0 && s.believed > 0
}

func (s *stats) String() string {
	return fmt.Sprintf("%d crashes, %d acknowledged commits; of the logged ones %d were lost, the oldest acknowledged %v before its crash; %d answers, %d updates and %d earlier beliefs were compared",
		s.kills, s.commits, s.lostLogged, s.oldestLost.Round(time.Millisecond), s.read, s.followed, s.believed)
}

// check compares what a server has after a crash with what is known, and begins anew
// from there. at is when it crashed.
func (b *book) check(ctx context.Context, r engram.Reader, at time.Time, s *stats) (problems []string) {
	b.Lock()
	defer b.Unlock()
	s.Lock()
	defer s.Unlock()
	s.kills++
	for client := range b.tracks {
		for d := range segments {
			t := &b.tracks[client][d]
			bad := func(format string, args ...any) {
				problems = append(problems, fmt.Sprintf("%v: ", entityOf(client, engram.Durability(d)))+fmt.Sprintf(format, args...))
			}
			res, err := r.Query(ctx, engram.SelectID(entityOf(client, engram.Durability(d)), engram.All()))
			if err != nil {
				bad("%v", err)
				continue
			}
			items := res.Items()
			s.commits += len(t.acks)
			if engram.Durability(d) == engram.Volatile {
				// Nothing is promised; what is there is whole.
				for _, it := range items {
					checkWhole(it, client, bad)
				}
				*t = track{found: t.sent, sent: t.sent}
				continue
			}
			for i, it := range items {
				if int(it.Time) != i+1 {
					bad("number %d follows %d: something between is lost", it.Time, i)
					break
				}
				if i > 0 && it.Arrived < items[i-1].Arrived {
					bad("number %d arrived before the one before it", it.Time)
				}
				checkWhole(it, client, bad)
			}
			has := len(items)
			if has < t.found {
				bad("%d were there after an earlier crash, %d are now", t.found, has)
			}
			if has > t.sent {
				bad("%d are there, %d were sent", has, t.sent)
			}
			lost := t.acks[sortedBehind(t.acks, has):]
			switch {
			case len(lost) == 0:
			case engram.Durability(d) == engram.Synced:
				bad("%d acknowledged synced commits are lost, from number %d on", len(lost), lost[0].number)
			default:
				s.lostLogged += len(lost)
				age := at.Sub(lost[0].at)
				s.oldestLost = max(s.oldestLost, age)
				if age > time.Second {
					bad("number %d was acknowledged %v before the crash and is lost", lost[0].number, age)
				}
			}
			// What was sent and not acknowledged may be there.
			*t = track{found: has, sent: max(has, t.sent)}
		}
	}
	return problems
}

// sortedBehind returns how many of the acknowledged numbers are at most has.
func sortedBehind(acks []ack, has int) int {
	n, _ := slices.BinarySearchFunc(acks, has+1, func(a ack, n int) int { return a.number - n })
	return n
}

func checkWhole(it engram.Item, client int, bad func(string, ...any)) {
	if len(it.Instances) != partsOf {
		bad("number %d has %d of %d instances", it.Time, len(it.Instances), partsOf)
		return
	}
	for part := range it.Instances {
		v, err := idf.DecodeValue(it.Instances[part].Payload.Bytes)
		if want := contentOf(client, int(it.Time), part); err != nil || v != any(want) {
			bad("number %d, part %d holds %v (%v); want %q", it.Time, part, v, err, want)
		}
	}
}
