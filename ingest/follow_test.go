package ingest

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// running is a robot that publishes what a test has it publish.
type running struct {
	ctx     context.Context
	waiting chan recording.Message
	recording.Reader
}

func (r *running) Next() (recording.Message, error) {
	select {
	case m := <-r.waiting:
		return m, nil
	default:
	}
	select {
	case m := <-r.waiting:
		return m, nil
	case <-r.ctx.Done():
		return recording.Message{}, io.EOF
	}
}

func (r *running) Buffered() int          { return len(r.waiting) }
func (r *running) Progress() (a, b int64) { return 0, 0 }
func (r *running) Span() engram.Interval  { return engram.Interval{} }
func (r *running) Loss() []recording.Loss { return nil }

var words = &recording.Channel{Topic: "/words", Type: "my_msgs/Words", Encoding: "ros1", SchemaEncoding: "ros1msg", Schema: []byte("string said")}

func (r *running) say(at engram.Time, text string) {
	r.waiting <- recording.Message{Channel: words, LogTime: at, Data: append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)}
}

// restarting is a memory that can be away, and be another one then.
type restarting struct {
	mu   sync.Mutex
	now  Destination // nil: it is away
	away []error     // what was told of it
}

func (m *restarting) become(d Destination) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = d
}

func (m *restarting) told() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.away
}

func (m *restarting) tell(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = append(m.away, err)
}

func (m *restarting) there() (Destination, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == nil {
		return nil, engram.Errorf(engram.Unavailable, "", "it is away")
	}
	return m.now, nil
}

// asked is a memory as it is when something is asked of it.
type asked struct {
	Destination // nil: what is not below is not asked
	m           *restarting
}

func (a asked) Commit(ctx context.Context, c engram.Commit) ([]engram.UpdateResult, error) {
	d, err := a.m.there()
	if err != nil {
		return nil, err
	}
	return d.Commit(ctx, c)
}

func (a asked) Describe(ctx context.Context, p engram.Pattern) ([]engram.Description, error) {
	d, err := a.m.there()
	if err != nil {
		return nil, err
	}
	return d.Describe(ctx, p)
}

func (a asked) AddType(ctx context.Context, t engram.TypeDef) error {
	d, err := a.m.there()
	if err != nil {
		return err
	}
	return d.AddType(ctx, t)
}

func (a asked) AddCoreSegment(ctx context.Context, c engram.CoreSegment) error {
	d, err := a.m.there()
	if err != nil {
		return err
	}
	return d.AddCoreSegment(ctx, c)
}

// unregistered is a server that answers, whose memory the names do not know yet.
type unregistered struct{ Destination }

func (unregistered) AddCoreSegment(context.Context, engram.CoreSegment) error {
	return engram.Errorf(engram.NotFound, "GeneralPurpose", "there is no such memory")
}

// What is live is committed as it comes; while the memory is away it waits, and goes into
// what comes back, even if that has lost its segments. At the end, all that had come is
// committed, unless the memory is away then.
func TestFollowWaitsForTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newServer(t), newServer(t)
		memory := &restarting{now: first}
		ctx, end := context.WithCancel(t.Context())
		defer end()
		src := &running{ctx: ctx, waiting: make(chan recording.Message, 100)}
		var report *Report
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			report, err = Follow(ctx, asked{m: memory}, src, "robot", Options{Away: memory.tell})
		}()
		names := []string{"GeneralPurpose", "my_msgs/Words", "robot", "/words"}
		src.say(1, "one")
		synctest.Wait()
		if got := snapshots(t, first, names...); len(got) != 1 || got[0].Time != 1 {
			t.Fatalf("before the end there is %v", got)
		}
		memory.become(nil)
		src.say(2, "two")
		synctest.Wait()
		src.say(3, "three")
		time.Sleep(time.Minute)
		synctest.Wait()
		if away := memory.told(); len(away) != 1 || engram.CodeOf(away[0]) != engram.Unavailable {
			t.Fatalf("told %v", away)
		}
		memory.become(unregistered{second})
		time.Sleep(againLacking / 2)
		synctest.Wait()
		if away := memory.told(); len(away) != 1 {
			t.Fatalf("told %v, although the memory is not among the names yet", away)
		}
		memory.become(second)
		time.Sleep(againMost)
		synctest.Wait()
		away := memory.told()
		if got := snapshots(t, second, names...); len(got) != 2 || got[0].Time != 2 || got[1].Time != 3 || len(away) != 2 || away[1] != nil {
			t.Fatalf("then there is %v, told %v", got, away)
		}
		for i := range 50 {
			src.say(engram.Time(10+i), "at the end")
		}
		end()
		<-done
		if err != nil || report.Messages != 53 || report.Stored != 53 || report.Refused != 0 || report.Lossy() || len(snapshots(t, second, names...)) != 52 {
			t.Errorf("%+v %v", report, err)
		}

		// One that is away at the end has what was under way refused.
		ctx, end = context.WithCancel(t.Context())
		defer end()
		src.ctx = ctx
		done = make(chan struct{})
		go func() {
			defer close(done)
			report, err = Follow(ctx, asked{m: memory}, src, "robot", Options{})
		}()
		memory.become(nil)
		src.say(100, "never")
		synctest.Wait()
		end()
		<-done
		if engram.CodeOf(err) != engram.Unavailable || report.Refused != 1 || report.Stored != 0 {
			t.Errorf("%+v %v", report, err)
		}
	})
}
