package fleet

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
)

// held is a snapshot as a memory shows it.
type held struct {
	arrived engram.Time
	number  int // of the producer's update
}

// contents reads all that a memory holds of a provider segment.
func contents(ctx context.Context, m engram.PartReader, segment engram.ID, source engram.Source) (map[place]held, error) {
	q := engram.SelectID(segment, engram.All())
	q.Source = source
	all := map[place]held{}
	err := m.QueryParts(ctx, q, func(r *engram.Result) error {
		if len(r.Missing) > 0 {
			return fmt.Errorf("%s is not whole: %+v", segment, r.Missing)
		}
		for item := range r.All() {
			at := place{entity: item.ID.Entity(), time: item.Snapshot.Time}
			if _, twice := all[at]; twice {
				return fmt.Errorf("%s is in the answer twice", item.ID)
			}
			n, err := numberOf(item.Snapshot)
			if err != nil {
				return fmt.Errorf("%s: %w", item.ID, err)
			}
			all[at] = held{arrived: item.Arrived, number: n}
		}
		return nil
	})
	return all, err
}

// numberOf returns which of its producer's updates made a snapshot.
func numberOf(s *engram.Snapshot) (int, error) {
	if len(s.Instances) != 1 {
		return 0, fmt.Errorf("%d instances", len(s.Instances))
	}
	v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
	if err != nil {
		return 0, err
	}
	text, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("it holds %T", v)
	}
	number, _, _ := strings.Cut(text, " ")
	return strconv.Atoi(number)
}

// problems collects what is wrong, a bounded number of examples of each kind.
type problems map[string][]string

func (p problems) add(kind, format string, args ...any) {
	p[kind] = append(p[kind], fmt.Sprintf(format, args...))
}

func (p problems) list() []string {
	var out []string
	for kind, all := range p {
		out = append(out, fmt.Sprintf("%d %s, such as %s", len(all), kind, strings.Join(all[:min(3, len(all))], "; ")))
	}
	slices.Sort(out)
	return out
}

// Judge compares what the producer was promised with what the owner and a holder of
// a copy have of its segment.
func (p *Producer) Judge(owner, copied map[place]held) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	wrong := problems{}
	for at, numbers := range p.acked {
		promised := numbers[len(numbers)-1]
		has, ok := owner[at]
		switch later := slices.Max(append([]int{-1}, p.unsure[at]...)); {
		case !ok:
			wrong.add("promised updates the owner has lost", "%v (%d)", at, promised)
		case has.number != promised && !(has.number == later && later > promised):
			wrong.add("snapshots of the owner that are not the promised ones", "%v: %d, not %d", at, has.number, promised)
		}
	}
	for at, has := range owner {
		if !slices.Contains(p.acked[at], has.number) && !slices.Contains(p.unsure[at], has.number) {
			wrong.add("snapshots of the owner that nobody wrote", "%v: %d", at, has.number)
		}
		switch c, ok := copied[at]; {
		case !ok:
			wrong.add("snapshots the copy lacks", "%v (%d)", at, has.number)
		case c != has:
			wrong.add("snapshots of the copy that differ", "%v: %+v, not %+v", at, c, has)
		}
	}
	for at, c := range copied {
		if _, ok := owner[at]; !ok {
			wrong.add("snapshots of the copy that the owner does not have", "%v (%d)", at, c.number)
		}
	}
	return wrong.list()
}

// newest returns the last promised update of every entity, by the entity's name.
func (p *Producer) newest() (numbers map[string]int, times map[string]engram.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers, times = make(map[string]int, len(p.last)), make(map[string]engram.Time, len(p.last))
	for entity, at := range p.last {
		all := p.acked[at]
		numbers[entity], times[entity] = all[len(all)-1], at.time
	}
	return numbers, times
}

// shows reports whether a memory has an update of an entity, or a later one.
func shows(ctx context.Context, m engram.LatestReader, entity engram.ID, t engram.Time, number int) (bool, error) {
	s, err := m.AtOrBefore(ctx, entity, t)
	if code := engram.CodeOf(err); code == engram.NotFound || code == engram.Unavailable {
		return false, nil
	}
	if err != nil || s.Time != t {
		return false, err
	}
	n, err := numberOf(s)
	return n >= number, err
}

// Copies reads the copies that a server holds, never their owners.
type Copies struct{ *client.Client }

// AtOrBefore returns an entity's snapshot as a copy has it.
func (c Copies) AtOrBefore(ctx context.Context, entity engram.ID, t engram.Time) (*engram.Snapshot, error) {
	q := engram.SelectID(entity, engram.AtOrBefore(t))
	q.Source = engram.SourceCopy
	r, err := c.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, item := range r.Items() {
		return item.Snapshot, nil
	}
	return nil, engram.Errorf(engram.NotFound, entity.String(), "it is not in the copy")
}

// Await waits until a memory has all that the producer was promised before the call.
// segment is the name that the producer's has there.
func (p *Producer) Await(ctx context.Context, c Copies, segment engram.ID) error {
	numbers, times := p.newest()
	for entity, number := range numbers {
		id, err := segment.Child(entity)
		if err != nil {
			return err
		}
		for {
			there, err := shows(ctx, c, id, times[entity], number)
			if err != nil {
				return err
			}
			if there {
				break
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("%s does not have update %d: %w", id, number, ctx.Err())
			}
		}
	}
	return nil
}

// watcher follows a subscription at the holder and remembers what is wrong with it.
type watcher struct {
	done sync.WaitGroup

	mu    sync.Mutex
	seen  map[place][]engram.Time // the arrivals of the versions told of
	last  map[string]engram.Time  // by entity, the latest arrival
	wrong problems
}

// watch begins to follow a pattern; it ends with ctx.
func watch(ctx context.Context, m engram.Subscriber, pattern engram.Pattern) (*watcher, error) {
	w := &watcher{seen: map[place][]engram.Time{}, last: map[string]engram.Time{}, wrong: problems{}}
	stream, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{pattern}, Queue: 1 << 16})
	if err != nil {
		return nil, err
	}
	w.done.Go(func() {
		for u, err := range engram.Updates(ctx, stream) {
			if err != nil {
				if ctx.Err() == nil {
					w.mu.Lock()
					w.wrong.add("ends of the subscription", "%v", err)
					w.mu.Unlock()
				}
				return
			}
			w.told(&u)
		}
	})
	return w, nil
}

func (w *watcher) told(u *engram.Update) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, _ := u.ID.Time()
	// Producers' segments differ by their provider; one entity's name is unique there.
	at := place{entity: u.ID.ProviderSegment() + "/" + u.ID.Entity(), time: t}
	if u.Dropped > 0 {
		w.wrong.add("drops of updates", "%d before %s", u.Dropped, u.ID)
	}
	if slices.Contains(w.seen[at], u.Arrived) {
		w.wrong.add("updates told twice", "%s, which arrived at %v", u.ID, u.Arrived)
	}
	w.seen[at] = append(w.seen[at], u.Arrived)
	if u.Arrived < w.last[at.entity] {
		w.wrong.add("updates out of order", "%s arrived at %v, after one that arrived at %v", u.ID, u.Arrived, w.last[at.entity])
	}
	w.last[at.entity] = max(w.last[at.entity], u.Arrived)
}

// missed returns what is wrong with what was told, if all that the producers were
// promised was to be told.
func (w *watcher) missed(producers ...*Producer) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range producers {
		p.mu.Lock()
		for at, numbers := range p.acked {
			told := len(w.seen[place{p.Segment.ProviderSegment() + "/" + at.entity, at.time}])
			if told < len(numbers) || told > len(numbers)+len(p.unsure[at]) {
				w.wrong.add("snapshots of which too few or too many versions were told", "%v: %d of %d", at, told, len(numbers))
			}
		}
		p.mu.Unlock()
	}
	return w.wrong.list()
}
