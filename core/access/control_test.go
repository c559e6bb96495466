package access

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noted keeps what is audited.
type noted struct {
	mu     sync.Mutex
	events []Event
}

func (n *noted) Audit(e Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

func (n *noted) of(kind EventKind) (out []Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// The rules in a file count as soon as it changes; a file that cannot be read changes
// nothing; who is revoked is cut.
func TestRulesFileIsFollowed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.yaml")
	write := func(text string) {
		t.Helper()
		if err := WriteFile(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(file, Options{}); engram.CodeOf(err) != engram.NotFound {
		t.Fatal(err)
	}
	write("rules: [{allow: read, to: eye, on: A}]")
	n := &noted{}
	c, err := Load(file, Options{Audit: n, Log: testkit.Quiet, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cut := make(chan error, 1)
	if _, err := c.Connection("eye", "1f", time.Time{}, "here", func(why error) { cut <- why }); err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	end, err := c.Connection("eye", "2f", time.Time{}, "here", func(why error) { kept <- why })
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		testkit.Until(t, func() (string, bool) { return "not yet: " + what, ok() })
	}
	write("rules: [{allow: reed, to: eye, on: A}]")
	until("the damaged file is noted", func() bool { return len(n.of(EventRulesRefused)) == 1 })
	if !c.Allows("eye", Read, engram.MustID("A/B")) {
		t.Error("a file that cannot be read took a right away")
	}
	os.Remove(file)
	write("rules: [{allow: read, to: eye, on: B}]\nrevoked: [{serial: '00:1F', why: lost}]")
	if why := <-cut; engram.CodeOf(why) != engram.Forbidden {
		t.Error(why)
	}
	if c.Allows("eye", Read, engram.MustID("A/B")) || !c.Allows("eye", Read, engram.MustID("B")) {
		t.Error("the new rules are not in force")
	}
	if _, err := c.Connection("eye", "1f", time.Time{}, "here", nil); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("a revoked certificate: %v", err)
	}
	write("rules: [{allow: read, to: eye, on: B}]\nrevoked: [{identity: eye}]")
	if why := <-kept; engram.CodeOf(why) != engram.Forbidden {
		t.Error(why)
	}
	end()
	if c.Allows("eye", Read, engram.MustID("B")) {
		t.Error("a revoked identity has rights")
	}
	if r, v := n.of(EventRules), n.of(EventRevoked); len(r) != 3 || len(v) != 2 || v[0].Text != "lost" {
		t.Errorf("noted: %v %v", r, v)
	}
}

// A connection ends when its certificate expires.
func TestExpiredIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Log: testkit.Quiet})
		cut := make(chan error, 1)
		if _, err := c.Connection("eye", "1f", time.Now().Add(time.Minute), "", func(why error) { cut <- why }); err != nil {
			t.Fatal(err)
		}
		c.expire(time.Now().Add(59 * time.Second))
		select {
		case why := <-cut:
			t.Fatal("too early: ", why)
		default:
		}
		c.expire(time.Now().Add(61 * time.Second))
		if why := <-cut; engram.CodeOf(why) != engram.Forbidden {
			t.Error(why)
		}
	})
}

// What 'engram auth check' says is what the guard does.
func TestDecideIsWhatTheGuardDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := drawRules(t)
		table, err := Compile(Policy{Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		levels := [][]string{worldMemories, worldSegments, worldProviders, worldEntities}
		for i := range rapid.IntRange(0, 4).Draw(t, "depth") {
			names = append(names, rapid.SampledFrom(levels[i]).Draw(t, "name"))
		}
		id, err := engram.NewID(names...)
		if err != nil {
			t.Fatal(err)
		}
		a := rapid.SampledFrom([]Actions{Read, Write, Subscribe, Read | Subscribe}).Draw(t, "action")
		d := table.Decide("alice", a, id)
		if got := table.grant("alice").may(a, id); got != d.Allowed {
			t.Fatalf("may %v %v: %v; decided %+v; rules %v", a, id, got, d, rules)
		}
	})
}

// Whoever asks for however many names, what is remembered is bounded.
func TestCachesAreBounded(t *testing.T) {
	table, err := Compile(Policy{Rules: []Rule{{Actions: Read, To: []string{"*"}, On: []engram.Pattern{engram.MustPattern("A/*/*/~x.*")}}}})
	if err != nil {
		t.Fatal(err)
	}
	g := table.grant("eye")
	for i := range 3 * maxNodes {
		id, err := engram.NewID("A", fmt.Sprint(i), "p", fmt.Sprint("x", i))
		if err != nil {
			t.Fatal(err)
		}
		if !g.may(Read, id) {
			t.Fatal(id)
		}
	}
	for i := range 3 * maxGrants {
		table.grant(Identity(fmt.Sprint("uid:", i)))
	}
	if n := g.nodes.len(); n > maxNodes {
		t.Errorf("%d nodes", n)
	}
	if n := g.entities.len(); n > maxEntities {
		t.Errorf("%d entities", n)
	}
	if n := table.grants.len(); n > maxGrants {
		t.Errorf("%d grants", n)
	}
}

// Who tries again and again is noted now and then, with how often.
func TestRepeatsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &noted{}
		c := New(Options{Audit: n})
		for range 1000 {
			_ = c.forbidden("thief", Write, "A/B")
		}
		time.Sleep(repeatEvery)
		c.repeats.due(n, time.Now())
		time.Sleep(repeatEvery)
		c.repeats.due(n, time.Now())
		got := n.of(EventDenied)
		if len(got) != 2 || got[0].Count != 1 || got[1].Count != 999 || got[1].Thing != "A/B" {
			t.Errorf("noted: %+v", got)
		}
		if len(c.repeats.byKey) != 0 {
			t.Error("what has stopped is remembered")
		}
		for i := range 2 * maxRepeats {
			_ = c.forbidden(Identity(fmt.Sprint("uid:", i)), Write, "A")
		}
		if len(c.repeats.byKey) > maxRepeats+1 {
			t.Errorf("%d are counted apart", len(c.repeats.byKey))
		}
	})
}

// Commits in a pipeline are looked at one by one, by the rules in force.
func TestCommitStreamBehindRules(t *testing.T) {
	w := bare{WM: wm.New(wm.Config{}), names: []string{"A"}}
	if err := w.AddMemory("A", engram.Bounds{}); err != nil {
		t.Fatal(err)
	}
	if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("A/X")}); err != nil {
		t.Fatal(err)
	}
	c := New(Options{})
	set := func(on string) {
		t.Helper()
		if err := c.Set(Policy{Rules: []Rule{{Actions: Write, To: []string{"hand"}, On: []engram.Pattern{engram.MustPattern(on)}}}}); err != nil {
			t.Fatal(err)
		}
	}
	set("A/X/mine")
	update := func(entity string) engram.EntityUpdate {
		return engram.EntityUpdate{Entity: engram.MustID(entity), Time: 1, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: engram.ValueType})}}
	}
	s, err := NewGuard(streaming{w}, c).CommitStream(WithIdentity(context.Background(), "hand"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, commit := range []engram.Commit{
		{Updates: []engram.EntityUpdate{update("A/X/mine/a"), update("A/X/other/a"), update("A/X/mine/b")}},
		{Updates: []engram.EntityUpdate{update("A/X/other/a")}},
	} {
		if err := s.Send(commit); err != nil {
			t.Fatal(err)
		}
	}
	set("A/X/other")
	if err := s.Send(engram.Commit{Updates: []engram.EntityUpdate{update("A/X/mine/a"), update("A/X/other/a")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		results, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			got = append(got, fmt.Sprintf("%s %v", r.ID.Truncate(engram.LevelEntity), engram.CodeOf(r.Err)))
		}
	}
	want := []string{
		"A/X/mine/a code 0", "A/X/other/a forbidden", "A/X/mine/b code 0",
		"A/X/other/a forbidden",
		"A/X/mine/a forbidden", "A/X/other/a code 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := s.Send(engram.Commit{}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("sent after CloseSend: %v", err)
	}
}

// streaming is a memory with a pipeline.
type streaming struct{ bare }

func (s streaming) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	return &pipeline{w: s.WM, answers: make(chan []engram.UpdateResult, 10)}, nil
}

type pipeline struct {
	w       *wm.WM
	answers chan []engram.UpdateResult
}

func (p *pipeline) Send(c engram.Commit) error {
	r, err := p.w.Commit(context.Background(), c)
	p.answers <- r
	return err
}
func (p *pipeline) Recv() ([]engram.UpdateResult, error) { return <-p.answers, nil }
func (p *pipeline) Flush() error                         { return nil }
func (p *pipeline) CloseSend() error                     { return nil }
func (p *pipeline) Close() error                         { return nil }
