//go:build linux

package fleet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/netlab"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

var (
	given  = flag.String("engram", "", "the engram program to test, instead of one that is built")
	cutFor = flag.Duration("cut", 60*time.Second, "how long the link is cut in TestLinkCut")
)

func TestMain(m *testing.M) {
	code := m.Run()
	program.Remove()
	os.Exit(code)
}

// built returns the engram program to test.
func built(t *testing.T) string {
	if *given != "" {
		return *given
	}
	return program.Engram(t)
}

// fleet lays a fleet out for a test, and says what the servers printed if it fails.
func fleet(t *testing.T) *Fleet {
	f, err := New(t.TempDir(), built(t))
	if errors.Is(err, engram.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			for _, s := range f.Servers() {
				t.Logf("%s:\n%s", s.Host.Name, s.tail())
			}
		}
	})
	return f
}

// bench is a fleet in which producers write into provider segments of robots, and the
// base station holds copies of them.
type bench struct {
	*testing.T
	*Fleet
	ctx       context.Context
	producers []*Producer
	owners    []*Server // by producer
	robots    []string  // by producer
	clients   map[*Server]*client.Client
	writing   sync.WaitGroup
	written   context.Context // of the producers that write
	stop      context.CancelFunc
}

// begin lays out a fleet whose base station copies what the producers write. No server
// is started.
func begin(t *testing.T) *bench {
	return beginWith(t, "robot1:GeneralPurpose", "robot1:Vision/Work", "robot2:GeneralPurpose", "robot2:Vision/Work")
}

// beginWith is begin for a base station that copies other things.
func beginWith(t *testing.T, copies ...string) *bench {
	f := fleet(t)
	for _, text := range copies {
		f.Base.Args = append(f.Base.Args, "--copy", text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	b := &bench{T: t, Fleet: f, ctx: ctx, clients: map[*Server]*client.Client{}, stop: func() {}}
	t.Cleanup(func() {
		b.halt()
		for _, c := range b.clients {
			c.Close()
		}
	})
	return b
}

// start starts servers, all if none is named.
func (b *bench) start(servers ...*Server) {
	b.Helper()
	if len(servers) == 0 {
		servers = b.Servers()
	}
	for _, s := range servers {
		if err := s.Start(b.ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) client(s *Server) *client.Client {
	b.Helper()
	if c := b.clients[s]; c != nil {
		return c
	}
	c, err := s.Client(b.ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.clients[s] = c
	return c
}

// produce adds a producer of a segment of a robot's server, with the durability that
// its core segment gets.
func (b *bench) produce(robot string, s *Server, segment string, d engram.Durability, p *Producer) *Producer {
	b.Helper()
	p.Segment = engram.MustID(segment)
	core := engram.CoreSegment{ID: p.Segment.Parent(), Durability: d, History: engram.Bounds{MaxCount: 1000}}
	if err := b.client(s).AddCoreSegment(b.ctx, core); err != nil && engram.CodeOf(err) != engram.AlreadyExists {
		b.Fatal(err)
	}
	b.producers, b.owners, b.robots = append(b.producers, p), append(b.owners, s), append(b.robots, robot)
	return p
}

// write has all producers write until halt.
func (b *bench) write() {
	b.written, b.stop = context.WithCancel(b.ctx)
	for i := range b.producers {
		b.writeOf(i)
	}
}

// writeOf has producer i write with the others.
func (b *bench) writeOf(i int) {
	b.Helper()
	ctx, p, c := b.written, b.producers[i], b.client(b.owners[i])
	b.writing.Go(func() {
		if err := p.Run(ctx, c); err != nil {
			b.Error(err)
		}
	})
}

func (b *bench) halt() {
	b.stop()
	b.writing.Wait()
}

func (b *bench) sleep(d time.Duration) {
	b.Helper()
	select {
	case <-time.After(d):
	case <-b.ctx.Done():
		b.Fatal(b.ctx.Err())
	}
}

// copyOf returns the name that producer i's segment has at the base station.
func (b *bench) copyOf(i int) engram.ID {
	id := b.producers[i].Segment
	return engram.MustID(engram.EscapeName(b.robots[i]+":"+id.Memory()) + "/" + engram.EscapeName(id.CoreSegment()) + "/" + engram.EscapeName(id.ProviderSegment()))
}

// caughtUp waits until the base station has all that was promised, and returns how
// long that took.
func (b *bench) caughtUp() time.Duration {
	b.Helper()
	began := time.Now()
	for i, p := range b.producers {
		if err := p.Await(b.ctx, Copies{b.client(b.Base)}, b.copyOf(i)); err != nil {
			status, _ := b.Base.Engram(b.ctx, "copy", "status")
			b.Fatalf("%v\n%s", err, status)
		}
	}
	return time.Since(began)
}

// goOn waits until all producers are promised updates again.
func (b *bench) goOn() {
	b.Helper()
	b.promised(func(*Producer) int { return 10 })
}

// writes waits until all producers that write were promised as many more updates as are
// due in a time; that takes as long on a machine that keeps up.
func (b *bench) writes(d time.Duration) {
	b.Helper()
	b.promised(func(p *Producer) int { return int(d / p.Period) })
}

// promised waits until each producer was promised so many more updates.
func (b *bench) promised(more func(*Producer) int) {
	b.Helper()
	due := make([]int, len(b.producers))
	for i, p := range b.producers {
		now, _ := p.Promised()
		due[i] = now + more(p)
	}
	for i, p := range b.producers {
		b.until(func() (string, bool) {
			now, _ := p.Promised()
			return fmt.Sprintf("of %s %d updates were promised, %d are waited for", b.copyOf(i), now, due[i]), now >= due[i]
		})
	}
}

// judge compares what was promised, what owners have and what the base station has.
// Commits that were under way when the producers were halted may still come: what is
// wrong has to stay so.
func (b *bench) judge() {
	b.Helper()
	const patience = time.Minute
	for i, p := range b.producers {
		var wrong []string
		for deadline := time.Now().Add(patience); ; b.sleep(100 * time.Millisecond) {
			owner, err := contents(b.ctx, b.client(b.owners[i]), p.Segment, engram.SourceOwner)
			if err != nil {
				b.Fatal(err)
			}
			held, err := contents(b.ctx, b.client(b.Base), b.copyOf(i), engram.SourceCopy)
			if err != nil {
				b.Fatal(err)
			}
			if wrong = p.Judge(owner, held); len(wrong) > 0 && time.Now().Before(deadline) {
				continue
			}
			n, _ := p.Promised()
			was, meant := p.Rate()
			b.Logf("%s: %d updates were promised, %.0f a second of %.0f, the owner has %d snapshots, the copy %d", b.copyOf(i), n, was, meant, len(owner), len(held))
			break
		}
		for _, problem := range wrong {
			b.Errorf("%s: %s", b.copyOf(i), problem)
		}
	}
}

func TestLinkCut(t *testing.T) {
	testkit.RealTime(t, "producers keep their rates over real links, and a cut is noticed")
	t.Parallel() // it waits, mostly
	b := begin(t)
	f := b.Fleet
	b.start()
	b.produce("robot1", f.Robots[0].First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 10, Period: time.Millisecond, Size: 100})
	b.produce("robot1", f.Robots[0].Second, "Vision/Work/second", engram.Logged, &Producer{Entities: 3, Period: 20 * time.Millisecond, Size: 2000})
	b.produce("robot2", f.Robots[1].First, "GeneralPurpose/Work/other", engram.Logged, &Producer{Entities: 5, Period: 10 * time.Millisecond, Size: 100})
	// The base station itself is asked, not, by way of a client, the owners.
	holder, err := transport.Dial(b.ctx, f.Base.Socket(), rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	w, err := watch(b.ctx, holder, engram.MustPattern("~robot[12]:(GeneralPurpose|Vision)/Work"))
	if err != nil {
		t.Fatal(err)
	}
	b.write()
	b.writes(3 * time.Second)
	f.Robots[0].Radio.Set(netlab.Condition{Cut: true})
	b.sleep(*cutFor)
	before, _ := b.producers[0].Promised()
	f.Robots[0].Radio.Set(netlab.Condition{})
	t.Logf("%v after a cut of %v, the base station had all %d updates", b.caughtUp(), *cutFor, before)
	b.writes(2 * time.Second) // the tail flows on
	b.halt()
	b.caughtUp()
	b.judge()
	for _, problem := range w.missed(b.producers...) {
		t.Error("subscription at the base station: ", problem)
	}
}

func TestLossyLink(t *testing.T) {
	testkit.RealTime(t, "producers keep their rates over real links")
	t.Parallel() // it waits, mostly
	b := begin(t)
	f := b.Fleet
	b.start()
	b.produce("robot1", f.Robots[0].First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 10, Period: 10 * time.Millisecond, Size: 100})
	b.produce("robot2", f.Robots[1].Second, "Vision/Work/second", engram.Logged, &Producer{Entities: 3, Period: 50 * time.Millisecond, Size: 500})
	b.write()
	b.writes(3 * time.Second)
	for _, r := range f.Robots {
		r.Radio.Set(netlab.Condition{Loss: 0.3, Delay: 200 * time.Millisecond})
	}
	b.writes(30 * time.Second)
	b.halt()
	t.Logf("over links that lose 30 %% of the packets and delay the others by 200 ms, the base station had all after %v", b.caughtUp())
	b.judge()
}

func TestKillEach(t *testing.T) {
	testkit.RealTime(t, "servers that are killed answer again within a minute")
	b := begin(t)
	f := b.Fleet
	b.start()
	first, second := f.Robots[0].First, f.Robots[0].Second
	b.produce("robot1", first, "GeneralPurpose/Work/first", engram.Synced, &Producer{Entities: 10, Period: 2 * time.Millisecond, Size: 100})
	b.produce("robot1", second, "Vision/Work/second", engram.Synced, &Producer{Entities: 3, Period: 10 * time.Millisecond, Size: 500})
	b.produce("robot2", f.Robots[1].First, "GeneralPurpose/Work/other", engram.Synced, &Producer{Entities: 5, Period: 10 * time.Millisecond, Size: 100})
	b.write()
	for _, s := range []*Server{f.Base, first, second, f.Robots[1].First, f.Robots[1].Second, f.Base, first} {
		b.writes(2 * time.Second)
		s.Kill()
		b.sleep(500 * time.Millisecond)
		began := time.Now()
		b.start(s)
		t.Logf("%s was killed, and answered %v after its next start", s.Host.Name, time.Since(began).Round(time.Millisecond))
		b.goOn()
	}
	b.writes(2 * time.Second)
	b.halt()
	t.Logf("the base station had all after %v more", b.caughtUp().Round(time.Millisecond))
	b.judge()
}

func TestBaseRestarted(t *testing.T) {
	testkit.RealTime(t, "a server that is told to end does so within 30 s")
	b := begin(t)
	f := b.Fleet
	b.start()
	b.produce("robot1", f.Robots[0].First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 10, Period: 2 * time.Millisecond, Size: 100})
	b.write()
	b.writes(2 * time.Second)
	// It gives up what does not end after 4.5 s; this machine may be loaded.
	if took := f.Base.Stop(); took > 30*time.Second {
		t.Errorf("the base station took %v to end", took)
	}
	b.writes(2 * time.Second)
	b.start(f.Base)
	b.writes(time.Second)
	b.halt()
	b.caughtUp()
	b.judge()
}

func TestRobotJoinsLater(t *testing.T) {
	testkit.RealTime(t, "producers keep their rates, and copies come within a minute")
	b := begin(t)
	f := b.Fleet
	robot := f.Robots[0]
	b.start(robot.First, robot.Second)
	b.produce("robot1", robot.First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 10, Period: 2 * time.Millisecond, Size: 100})
	b.produce("robot1", robot.Second, "Vision/Work/second", engram.Logged, &Producer{Entities: 3, Period: 20 * time.Millisecond, Size: 500})
	b.write()
	b.writes(3 * time.Second)
	// A program on the first computer sees the second one's memory without the base.
	if _, err := b.client(robot.First).Latest(b.ctx, engram.MustID("Vision/Work/second/thing 0")); err != nil {
		t.Errorf("without the base station, the second computer's memory is not seen on the first: %v", err)
	}
	b.start(f.Base)
	b.writes(2 * time.Second)
	b.halt()
	b.caughtUp()
	b.judge()
}

// The base station copies the memory of every robot there is, and of one that comes
// later; what is there of a robot that has gone stays, and goes on when it is back.
func TestCopiesOfEveryRobot(t *testing.T) {
	testkit.RealTime(t, "producers keep their rates, and what was written is in the copy at the time of a kill")
	b := beginWith(t, "*:GeneralPurpose")
	f := b.Fleet
	one, two := f.Robots[0], f.Robots[1]
	b.start(f.Base, one.First, one.Second)
	b.produce("robot1", one.First, "GeneralPurpose/Work/first", engram.Synced, &Producer{Entities: 5, Period: 5 * time.Millisecond, Size: 100})
	b.write()
	b.writes(time.Second)
	b.caughtUp()
	b.start(two.First, two.Second)
	b.produce("robot2", two.First, "GeneralPurpose/Work/other", engram.Synced, &Producer{Entities: 5, Period: 5 * time.Millisecond, Size: 100})
	b.writeOf(1)
	b.writes(time.Second)
	b.caughtUp()

	one.First.Kill()
	held, err := contents(b.ctx, b.client(f.Base), b.copyOf(0), engram.SourceCopy)
	if err != nil || len(held) == 0 {
		t.Errorf("of a robot that has gone there are %d snapshots, %v", len(held), err)
	}
	status, err := f.Base.Engram(b.ctx, "copy", "ls")
	rows := regexp.MustCompile(`(?m)^\*:GeneralPurpose .* 2 copies .*\n  robot1:GeneralPurpose .*\n  robot2:GeneralPurpose .*$`)
	if err != nil || !rows.MatchString(status) {
		t.Errorf("the copies are %v\n%s", err, status)
	}
	b.start(one.First)
	b.writes(time.Second)
	b.halt()
	b.caughtUp()
	b.judge()
}

func TestClocksDiffer(t *testing.T) {
	testkit.RealTime(t, "producers keep their rates, and clocks are measured")
	b := begin(t)
	f := b.Fleet
	f.Robots[0].First.Args = append(f.Robots[0].First.Args, "--clock-offset", "10s")
	f.Robots[1].First.Args = append(f.Robots[1].First.Args, "--clock-offset", "-10s")
	b.start()
	b.produce("robot1", f.Robots[0].First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 5, Period: 5 * time.Millisecond, Size: 100})
	b.produce("robot2", f.Robots[1].First, "GeneralPurpose/Work/other", engram.Logged, &Producer{Entities: 5, Period: 5 * time.Millisecond, Size: 100})
	b.write()
	b.writes(2 * time.Second)
	f.Base.Kill()
	b.start(f.Base)
	b.writes(2 * time.Second)
	b.halt()
	b.caughtUp()
	b.judge()
}

func TestSlowCopyBesideFast(t *testing.T) {
	testkit.RealTime(t, "a fast link carries 200 kB/s and is done within 30 s")
	b := begin(t)
	f := b.Fleet
	b.start()
	b.produce("robot1", f.Robots[0].First, "GeneralPurpose/Work/first", engram.Logged, &Producer{Entities: 10, Period: 5 * time.Millisecond, Size: 1000})
	b.produce("robot2", f.Robots[1].First, "GeneralPurpose/Work/other", engram.Logged, &Producer{Entities: 10, Period: 5 * time.Millisecond, Size: 1000})
	f.Robots[0].Radio.Set(netlab.Condition{Rate: 30_000})
	b.write()
	b.writes(10 * time.Second)
	// The fast one is not held up by the slow one, which needs a minute for what was written.
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	if err := b.producers[1].Await(ctx, Copies{b.client(f.Base)}, b.copyOf(1)); err != nil {
		t.Errorf("beside a slow copy: %v", err)
	}
	b.halt()
	f.Robots[0].Radio.Set(netlab.Condition{})
	b.caughtUp()
	b.judge()
}
