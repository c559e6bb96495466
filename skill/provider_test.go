package skill_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

// bubble runs a test over a server with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T, s *server.Server)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := server.New(server.Config{Memories: []server.Memory{memories.Skill(), memories.Object(), memories.Speech()}, Log: testkit.Quiet})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// raw is a provider without this package, which does only what it is told to.
type raw struct {
	t     testing.TB
	s     engram.Service
	types *skill.Types
	name  string
	epoch int64
}

func newRaw(t testing.TB, s engram.Service, name string, d skill.Description) *raw {
	types, err := skill.LoadTypes(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{t: t, s: s, types: types, name: name, epoch: int64(engram.Now())}
	if err := r.beat(); err != nil {
		t.Fatal(err)
	}
	if err := r.commit("Description", d.Name, &d); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *raw) commit(segment, entity string, record any) error {
	id, err := engram.NewID("Skill", segment, r.name, entity)
	if err != nil {
		return err
	}
	u, err := r.types.Update(id, engram.Now(), record)
	if err != nil {
		return err
	}
	results, err := r.s.Commit(r.t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

func (r *raw) beat() error {
	return r.commit("Provider", r.name, &skill.ProviderState{Timestamp: engram.Now(), Epoch: r.epoch, Lease: skill.DefaultLease, InService: true})
}

// Two providers of one name: the second is told that the first lives, and takes its place when
// that has ended or died.
func TestTwoProvidersOfOneName(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		run := func(ctx context.Context) <-chan error {
			p := skill.NewProvider(s, "Arm")
			skill.Handle(p, skill.Spec{Name: "Grasp"}, func(c *skill.Call, _ any) (any, error) { return nil, nil })
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			synctest.Wait()
			return ended
		}
		ctx, stop := context.WithCancel(t.Context())
		first := run(ctx)
		time.Sleep(time.Millisecond)
		if err := <-run(t.Context()); engram.CodeOf(err) != engram.AlreadyExists || !strings.Contains(err.Error(), "another provider of this name lives") {
			t.Errorf("the second: %v", err)
		}
		stop()
		if err := <-first; err != nil {
			t.Error(err)
		}
		ctx, stop = context.WithCancel(t.Context())
		third := run(ctx)
		if e := wait(t, start(t, s, skill.Request{Skill: "Grasp"})); e.Status != skill.Succeeded {
			t.Errorf("after the first has ended: %v", e.Err())
		}
		stop()
		<-third
	})
}

// A provider that never answers an order to stop is fenced: the stop is unconfirmed, its
// resources stay locked until it must have stopped by itself, and nothing it says counts.
func TestSilentProvider(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		r := newRaw(t, s, "Base", skill.Description{Name: "Drive", Resources: []string{"platform"}, StopTimeout: time.Second})
		other := newRaw(t, s, "Other", skill.Description{Name: "Crawl", Resources: []string{"platform"}})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			for ctx.Err() == nil {
				r.beat()
				other.beat()
				time.Sleep(500 * time.Millisecond)
			}
		}()
		x := start(t, s, skill.Request{Skill: "Drive"})
		e := until(t, x, running)
		next := start(t, s, skill.Request{Skill: "Crawl", Timeout: time.Minute})
		asked := engram.Now()
		if a, err := x.Abort(t.Context(), skill.ReasonOperator, "stop!"); a != skill.Unconfirmed || err != nil {
			t.Fatal(a, err)
		}
		if d := engram.Now().Sub(asked); d < time.Second || d > 1100*time.Millisecond {
			t.Errorf("it was given up after %s", d)
		}
		if e := wait(t, x); e.Status != skill.Aborted || !strings.Contains(e.Err().Error(), "not confirmed") {
			t.Errorf("it ended as %+v", e)
		}
		if err := r.beat(); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "fenced") {
			t.Errorf("it is heard again: %v", err)
		}
		report := skill.Report{Timestamp: engram.Now(), Execution: x.ID(), ProviderEpoch: e.ProviderEpoch, Kind: skill.ReportSucceeded}
		if err := r.commit("Report", "unnamed."+x.ID().Entity(), &report); engram.CodeOf(err) != engram.Forbidden {
			t.Errorf("its report: %v", err)
		}
		fenced := engram.Now()
		until(t, next, running)
		if d := engram.Now().Sub(fenced); d < 2400*time.Millisecond || d > 2700*time.Millisecond {
			t.Errorf("the platform was free after %s, not after a lease and the stop timeout", d)
		}
		stop()
		time.Sleep(time.Second)
	})
}

// A provider that dies: what it executes fails at once when its lease ends, and its skills are
// out of service.
func TestLostProvider(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		r := newRaw(t, s, "Base", skill.Description{Name: "Drive", Resources: []string{"platform"}})
		x := start(t, s, skill.Request{Skill: "Drive"})
		until(t, x, running)
		began := engram.Now()
		e := wait(t, x)
		if d := engram.Now().Sub(began); e.Status != skill.Failed || e.Failure.Code != skill.CodeLostProvider || e.Failure.Retry != skill.RetryLater || d > skill.DefaultLease+10*time.Millisecond {
			t.Errorf("after %s it ended as %v: %+v", d, e.Status, e.Failure)
		}
		time.Sleep(3 * time.Second) // the server's start is past
		if e := wait(t, start(t, s, skill.Request{Skill: "Drive"})); e.Failure == nil || e.Failure.Code != skill.CodeOutOfService {
			t.Errorf("of a skill that is out of service: %+v", e)
		}
		patient := start(t, s, skill.Request{Skill: "Drive", Timeout: 10 * time.Second})
		until(t, patient, func(e *skill.Execution) bool { return e.Status == skill.Preparing && e.Message != "" })
		r.epoch = int64(engram.Now())
		if err := r.beat(); err != nil {
			t.Fatal(err)
		}
		until(t, patient, running)
	})
}

// The SDK's provider keeps the contract: cut off for a lease, it stops what it does by itself.
func TestProviderThatIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		cut := &cutOff{Service: s}
		p := skill.NewProvider(cut, "Base")
		stopped := make(chan engram.Time, 1)
		skill.Handle(p, skill.Spec{Name: "Drive", Resources: []string{"platform"}}, func(c *skill.Call, _ any) (any, error) {
			<-c.Done()
			stopped <- engram.Now()
			return nil, c.Err()
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		x := start(t, s, skill.Request{Skill: "Drive"})
		until(t, x, running)
		cut.off.Store(true)
		from := engram.Now()
		if d := (<-stopped).Sub(from); d > skill.DefaultLease+skill.DefaultLease/3 {
			t.Errorf("it stopped after %s", d)
		}
		if e := wait(t, x); e.Failure == nil || e.Failure.Code != skill.CodeLostProvider {
			t.Errorf("it ended as %+v", e)
		}
		cut.off.Store(false)
		time.Sleep(5 * time.Second) // it begins a new epoch
		x = start(t, s, skill.Request{Skill: "Drive"})
		until(t, x, running)
		end()
		if e := wait(t, x); e.Status != skill.Failed {
			t.Errorf("when its provider ends it is %v", e.Status)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// cutOff is a service that can be away.
type cutOff struct {
	engram.Service
	off atomic.Bool
}

func (c *cutOff) Commit(ctx context.Context, commit engram.Commit) ([]engram.UpdateResult, error) {
	if c.off.Load() {
		return nil, engram.Errorf(engram.Unavailable, "", "the link is cut")
	}
	return c.Service.Commit(ctx, commit)
}

// Check names what is in the way; a dry run goes as far as the call of the provider.
func TestCheckAndDryRun(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		condition := skill.Requirement{Name: "told to", Pattern: "Speech/Text/*/*", Where: `text == "go"`}
		r := newRaw(t, s, "Base", skill.Description{Name: "Drive", Resources: []string{"platform"}, Conditions: []skill.Requirement{condition},
			DefaultParameters: map[string]any{"speed": 0.5}})
		other := newRaw(t, s, "Other", skill.Description{Name: "Crawl", Resources: []string{"platform"}})
		_ = r
		x := start(t, s, skill.Request{Skill: "Crawl"})
		until(t, x, running)
		check := func(q skill.Request) (found []string) {
			t.Helper()
			c, err := skill.Check(t.Context(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range c.Findings {
				found = append(found, f.What+" "+f.Name+": "+f.Value)
			}
			return found
		}
		got := strings.Join(check(skill.Request{Skill: "Drive"}), "; ")
		if !strings.HasPrefix(got, "resource platform: held by Crawl since") || !strings.HasSuffix(got, "condition told to: there is no Speech/Text/*/*") {
			t.Errorf("it finds %q", got)
		}
		if got := check(skill.Request{Skill: "Crwal"}); len(got) != 1 || got[0] != "skill Crwal: unknown" {
			t.Errorf("of an unknown skill it finds %q", got)
		}
		say := func(text string) {
			typ, _ := memories.Type("engram.speech.Text")
			b, err := typ.Encode(map[string]any{"text": text})
			if err != nil {
				t.Fatal(err)
			}
			testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID("Speech/Text/mic/me"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
		}
		say("stay")
		if got := strings.Join(check(skill.Request{Skill: "Drive"}), "; "); !strings.Contains(got, `does not satisfy`) || !strings.Contains(got, `text: "stay"`) {
			t.Errorf("it finds %q", got)
		}
		dry := start(t, s, skill.Request{Skill: "Drive", DryRun: true, Timeout: time.Minute})
		until(t, dry, func(e *skill.Execution) bool { return strings.Contains(e.Message, "told to does not hold") })
		time.Sleep(time.Millisecond)
		say("go")
		until(t, dry, func(e *skill.Execution) bool { return strings.Contains(e.Message, "platform is held by Crawl") })
		done := skill.Report{Timestamp: engram.Now(), Execution: x.ID(), ProviderEpoch: other.epoch, Kind: skill.ReportSucceeded}
		if err := other.commit("Report", "unnamed."+x.ID().Entity(), &done); err != nil {
			t.Fatal(err)
		}
		e := wait(t, dry)
		if e.Status != skill.Succeeded || !strings.HasPrefix(e.Message, "dry run: Base would be told") || e.Parameters.(map[string]any)["speed"] != 0.5 {
			t.Errorf("the dry run ended as %+v", e)
		}
		if got := check(skill.Request{Skill: "Drive"}); len(got) != 0 {
			t.Errorf("it finds %q", got)
		}
	})
}

// Callers that vanish: what they asked for goes on, or is stopped, as the request says.
func TestCallerGone(t *testing.T) {
	bubble(t, func(t *testing.T, s *server.Server) {
		r := newRaw(t, s, "Base", skill.Description{Name: "Drive"})
		beating, stop := context.WithCancel(t.Context())
		go func() {
			for beating.Err() == nil {
				r.beat()
				time.Sleep(500 * time.Millisecond)
			}
		}()
		ctx, vanish := context.WithCancel(t.Context())
		ask := func(gone string) *skill.Ongoing {
			x, err := skill.Start(ctx, s, skill.Request{Skill: "Drive", CallerLease: time.Second, OnCallerGone: gone})
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		on, off := ask(skill.ContinueWhenGone), ask(skill.AbortWhenGone)
		time.Sleep(5 * time.Second)
		until(t, off, running)
		vanish()
		e := until(t, off, func(e *skill.Execution) bool { return e.Status == skill.Stopping })
		if e.Stop.Reason != skill.ReasonCallerGone {
			t.Errorf("it stops because of %+v", e.Stop)
		}
		until(t, on, running)
		stop()
		time.Sleep(time.Second)
	})
}
