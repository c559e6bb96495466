package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
)

// killed reports whether an error may be, as the server was killed or the client gave up.
func killed(err error) bool {
	code := engram.CodeOf(err)
	return code == engram.Unavailable || code == engram.Canceled
}

// read asks for whole histories while clients write, until the server is killed or ctx
// ends. It returns what is wrong with an answer: one that lacks what was acknowledged before
// it was asked for, or has a part of a snapshot, one twice, or one without those before it.
// What a tight memory has evicted may be on its way from the log to the disk.
func (b *book) read(ctx context.Context, r engram.Reader, chance *rand.Rand, tight bool, s *stats) error {
	for ctx.Err() == nil {
		client, d := chance.IntN(len(b.tracks)), engram.Logged
		if chance.IntN(2) == 0 {
			d = engram.Synced
		}
		b.Lock()
		least := b.tracks[client][d].promised()
		b.Unlock()
		res, err := r.Query(ctx, engram.SelectID(entityOf(client, d), engram.All()))
		if killed(err) {
			return nil
		}
		if err != nil {
			return err
		}
		b.Lock()
		most := b.tracks[client][d].sent
		b.Unlock()
		bad := func(format string, args ...any) {
			err = fmt.Errorf("a query for %v: %s; missing is %+v", entityOf(client, d), fmt.Sprintf(format, args...), res.Missing)
		}
		last := 0
		for _, it := range res.Items() {
			if n := int(it.Time); n <= last || n > last+1 && !tight {
				bad("number %d follows %d", n, last)
			}
			last = int(it.Time)
			checkWhole(it, client, bad)
		}
		if last < least && !tight || last > most {
			bad("number %d is the last that is there, %d was acknowledged before, %d was sent", last, least, most)
		}
		if len(res.Missing) > 0 && !tight {
			bad("it is said to lack something")
		}
		if err != nil {
			return err
		}
		s.count(&s.read)
	}
	return nil
}

// promised returns the highest number that is to be there.
func (t *track) promised() int {
	if n := len(t.acks); n > 0 {
		return t.acks[n-1].number
	}
	return t.found
}

// follow begins a subscription with what is there while clients write, and follows it until
// it fails or ctx ends. It returns what is wrong with what came: a gap, also between what
// was there and what comes, of which no loss is told, something twice, out of order or in
// part. first holds the first numbers of the life.
func (b *book) follow(ctx context.Context, c engram.Subscriber, first [][len(segments)]int, tight bool, s *stats) error {
	sub := engram.Subscription{WithData: true, Queue: 4, Start: engram.Start{Kind: engram.StartTime, Time: engram.MinTime}}
	type of struct {
		client, d int
	}
	tracks := map[engram.ID]of{}
	for client := range first {
		for d := range segments {
			id := entityOf(client, engram.Durability(d))
			tracks[id] = of{client, d}
			sub.Patterns = append(sub.Patterns, engram.PatternOf(id))
		}
	}
	stream, err := c.Subscribe(ctx, sub)
	if killed(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var wrong error
	last, seen := uint64(0), map[engram.ID]int{}
	var holes, told uint64
	for u, err := range engram.Updates(ctx, stream) {
		if killed(err) {
			break
		}
		if err != nil {
			return err
		}
		id := u.ID.Truncate(engram.LevelEntity)
		at := tracks[id]
		bad := func(format string, args ...any) {
			wrong = fmt.Errorf("a subscription, update %d of %v: %s", u.Number, u.ID, fmt.Sprintf(format, args...))
		}
		if u.Number <= last {
			bad("it comes after update %d", last)
		}
		last = u.Number
		n, before := int(u.Snapshot.Time), seen[id]
		seen[id] = n
		told += u.Dropped
		switch {
		case before > 0 && n <= before:
			bad("it comes after number %d", before)
		case before > 0:
			holes += uint64(n - before - 1)
		case !tight:
			holes += uint64(max(0, n-first[at.client][at.d]))
		}
		if holes > told {
			bad("%d updates are missing, and %d are said to be lost", holes, told)
		}
		checkWhole(engram.Item{ID: u.ID, Snapshot: u.Snapshot}, at.client, bad)
		if wrong != nil {
			return wrong
		}
		s.count(&s.followed)
	}
	return nil
}

// removed is a segment that is added, written to and removed in each epoch.
var removed = engram.MustID("GeneralPurpose/CrashRemoved")

// define adds the segments, and one that it removes again with what it holds. After a kill
// it returns what is wrong with those that are there: what was added is, as it was added,
// and what was removed is not, nor what it held when it is added again.
func define(ctx context.Context, c *client.Client, tight, after bool) error {
	if after {
		all, err := c.Describe(ctx, engram.MustPattern("GeneralPurpose/~Crash.*"))
		if err != nil {
			return err
		}
		there := map[engram.ID]engram.Description{}
		for _, d := range all {
			there[d.ID] = d
		}
		for d, id := range segments {
			if got, ok := there[id]; !ok || got.Durability != engram.Durability(d) || (got.History.MaxCount == 2) != tight {
				return fmt.Errorf("after a kill, of %v, which was added as %v, there is %+v", id, engram.Durability(d), got)
			}
		}
		if got, ok := there[removed]; ok {
			return fmt.Errorf("after a kill, %+v is there, which was removed", got)
		}
	}
	if err := addSegments(ctx, c, tight); err != nil {
		return err
	}
	if err := c.AddCoreSegment(ctx, engram.CoreSegment{ID: removed, Durability: engram.Synced}); err != nil {
		return err
	}
	id := engram.MustID(removed.String() + "/p/e")
	res, err := c.Query(ctx, engram.SelectID(id, engram.All()))
	if err == nil && len(res.Items()) > 0 {
		return fmt.Errorf("%v was removed with its segment, and %d snapshots of it are back", id, len(res.Items()))
	}
	if err != nil && engram.CodeOf(err) != engram.NotFound {
		return err
	}
	p, err := idf.ValuePayload("removed")
	if err != nil {
		return err
	}
	results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		return err
	}
	return c.RemoveSegment(ctx, removed)
}

// believed is an entity of one snapshot that is superseded again and again: what was read
// of it, and when that arrived.
type believed struct {
	sent   int
	before []version
}

type version struct {
	number  int
	arrived engram.Time
}

// entity is the one that believed is about.
func (b *believed) entity() engram.ID {
	return engram.MustID(segments[engram.Synced].String() + "/p/believed")
}

// supersede commits versions until that fails or ctx ends, and reads each.
func (b *believed) supersede(ctx context.Context, c *client.Client) error {
	for ctx.Err() == nil {
		b.sent++
		p, err := idf.ValuePayload(b.sent)
		if err != nil {
			return err
		}
		results, err := c.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: b.entity(), Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}}}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if killed(err) {
			return nil
		}
		if err != nil {
			return err
		}
		s, err := c.Latest(ctx, b.entity())
		if killed(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if n, err := numberIn(s); err != nil || n != b.sent {
			return fmt.Errorf("version %d of %v was acknowledged, and %d is read (%v)", b.sent, b.entity(), n, err)
		}
		b.before = append(b.before, version{b.sent, s.Arrived})
	}
	return nil
}

// check says what is wrong with what a server says after a kill of the current version, which
// is the last that was read, or one that was sent after it, and of earlier ones.
func (b *believed) check(ctx context.Context, r *client.Client, chance *rand.Rand, s *stats) error {
	if len(b.before) > 0 {
		now, err := r.Latest(ctx, b.entity())
		if err != nil {
			return err
		}
		if n, err := numberIn(now); err != nil || n < b.before[len(b.before)-1].number || n > b.sent {
			return fmt.Errorf("%v is version %d, of which %d was read, and %d was sent (%v)", b.entity(), n, b.before[len(b.before)-1].number, b.sent, err)
		}
	}
	for range min(5, len(b.before)) {
		v := b.before[chance.IntN(len(b.before))]
		q := engram.SelectID(b.entity(), engram.All())
		q.AsOf = &v.arrived
		res, err := r.Query(ctx, q)
		if err != nil {
			return err
		}
		items := res.Items()
		if len(items) != 1 {
			return fmt.Errorf("of %v, as of version %d of %d, there are %d snapshots; missing is %+v", b.entity(), v.number, b.sent, len(items), res.Missing)
		}
		if n, err := numberIn(items[0].Snapshot); err != nil || n != v.number || items[0].Arrived != v.arrived {
			return fmt.Errorf("%v, as of version %d that arrived at %v, is %d that arrived at %v (%v)", b.entity(), v.number, v.arrived, n, items[0].Arrived, err)
		}
		s.count(&s.believed)
	}
	return nil
}

// numberIn returns the number that a version holds.
func numberIn(s *engram.Snapshot) (int, error) {
	v, err := idf.DecodeValue(s.Instances[0].Payload.Bytes)
	if err != nil {
		return 0, err
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("it holds %T", v)
	}
	return int(n), nil
}

// counted says what is wrong with what the statistics say of what is on disk: each snapshot
// once, whether its episode is sealed or not, and nothing else. Nobody writes meanwhile.
func counted(ctx context.Context, c *client.Client, clients int) error {
	for client := range clients {
		id := entityOf(client, engram.Synced)
		q := engram.SelectID(id, engram.All())
		q.Target = engram.TargetLTM
		res, err := c.Query(ctx, q)
		if err != nil {
			return err
		}
		has := len(res.Items())
		all, err := c.Stats(ctx, engram.PatternOf(id), engram.LevelEntity)
		if err != nil {
			return err
		}
		for _, st := range all {
			if st.ID == id && int(st.Disk.Snapshots) != has {
				return fmt.Errorf("of %v %d snapshots are on disk, and the statistics say %+v", id, has, st)
			}
			if st.ID == id {
				has = -1
			}
		}
		if has > 0 {
			return fmt.Errorf("the statistics say nothing of %v: %+v", id, all)
		}
	}
	return nil
}
