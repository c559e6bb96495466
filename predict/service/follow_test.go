package service_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/predict/service"
	"github.com/seed-301d4374/engram/server"
)

// whole is a server with the memory Prediction and a core segment for any data.
func whole(t testing.TB) *server.Server {
	t.Helper()
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{
		{Name: "M", ByValue: true, Segments: []engram.CoreSegment{{ID: engram.MustID("M/C"), History: engram.Bounds{MaxCount: 10_000}}}}, memories.Prediction(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func types(t testing.TB) service.TypeSource {
	all := idf.NewRegistry()
	return func(name string) (*idf.Type, error) {
		if typ, ok := memories.Type(name); ok {
			return typ, nil
		}
		typ, ok := all.Get(name)
		if !ok {
			return nil, fmt.Errorf("no type %s", name)
		}
		return typ, nil
	}
}

func commit(t testing.TB, s *server.Server, u engram.EntityUpdate, err error) error {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
	if err != nil {
		t.Fatal(err)
	}
	return engram.FirstError(r)
}

// await waits for a snapshot below a pattern that satisfies, and returns its payload.
func await(t testing.TB, s *server.Server, pattern string, is func(map[string]any) bool) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := s.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern(pattern)}, WithData: true, Start: engram.Start{Kind: engram.StartTime}})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		updates, err := stream.Next(ctx)
		if err != nil {
			t.Fatalf("nothing came below %s that is so: %v", pattern, err)
		}
		for _, u := range updates {
			p := u.Snapshot.Instances[0].Payload
			typ, err := types(t)(p.Type)
			if err != nil {
				t.Fatal(err)
			}
			v, err := typ.Decode(p.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if o := v.(map[string]any); is(o) {
				return o
			}
		}
	}
}

func any1(map[string]any) bool { return true }

// An entity that is followed has scores; that it jumps is news, as is that it goes on as expected again.
func TestFollow(t *testing.T) {
	s := whole(t)
	car := engram.MustID("M/C/p/car")
	f := service.Following{Entity: car, Horizons: []time.Duration{5 * step}, Enabled: true}
	u, err := f.Update(types(t), "me", 1)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	at := func(i int) float64 {
		x := 0.5*float64(i) + 0.01*r.NormFloat64()
		if i >= 300 {
			x += 10
		}
		return x
	}
	for i := range 200 {
		put(t, s, car, i, map[string]any{"x": at(i), "y": 0.01 * r.NormFloat64()})
	}
	o := await(t, s, "Prediction/Score/answer", any1)
	if skill, _ := o["skill"].(float64); o["entity"] != car || o["horizon"] != 5*step || skill < 0.5 && o["samples"] != int64(64) {
		t.Errorf("the score is %v", o)
	}
	await(t, s, "Prediction/Score/linear", any1)
	for i := 200; i < 400; i++ {
		put(t, s, car, i, map[string]any{"x": at(i), "y": 0.01 * r.NormFloat64()})
	}
	when := engram.Time(0).Add(300 * step)
	o = await(t, s, "Prediction/Surprise/Surprise", func(o map[string]any) bool { return o["timestamp"] == when })
	if sigma, _ := o["sigma"].(float64); sigma < 10 || o["member"] != `["x"]` || o["surprising"] != true || o["snapshot"] != car.At(when) {
		t.Errorf("the surprise is %v", o)
	}
	o = await(t, s, "Prediction/Surprise/Surprise", func(o map[string]any) bool { return o["surprising"] == false && o["since"] == when })
	if sigma, _ := o["sigma"].(float64); sigma >= 2 {
		t.Errorf("it is over at %v", o)
	}
	// A number that is too large to be predicted surprises; one that is not told says nothing of it.
	put(t, s, car, 400, map[string]any{"x": 1e200, "y": 0.0})
	put(t, s, car, 401, map[string]any{"x": math.NaN(), "y": math.NaN()})
	put(t, s, car, 402, map[string]any{"x": at(402), "y": 0.0})
	since := engram.Time(0).Add(400 * step)
	o = await(t, s, "Prediction/Surprise/Surprise", func(o map[string]any) bool { return o["surprising"] == false && o["since"] == since })
	if o["timestamp"] != engram.Time(0).Add(402*step) {
		t.Errorf("after a number that is too large it is over at %v", o)
	}
	unasked(t, s, car)
	// What is not followed any more is let go.
	f.Enabled = false
	u, err = f.Update(types(t), "me", 2)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
}

// unasked fails unless nobody has asked for an entity: what is read to follow it or to learn from it does not count.
func unasked(t testing.TB, s *server.Server, entity engram.ID) {
	t.Helper()
	st, err := s.Stats(t.Context(), engram.PatternOf(entity), engram.LevelEntity)
	if err != nil || len(st) != 1 || st[0].Value == nil || st[0].Value.Asked != 0 || st[0].Value.Askers != 0 {
		t.Errorf("%s counts as asked for: %+v, %v", entity, st, err)
	}
}

// What cannot be followed is refused.
func TestFollowRefuses(t *testing.T) {
	s := whole(t)
	for _, f := range []service.Following{
		{Entity: engram.MustID("M/C"), Enabled: true},
		{Entity: engram.MustID("M/C/p/e"), Horizons: []time.Duration{-step}},
		{Entity: engram.MustID("M/C/p/e"), Threshold: math.NaN()},
		{Entity: engram.MustID("M/C/p/e"), Horizons: make([]time.Duration, 100)},
		{Entity: engram.MustID("Prediction/Score/answer/e")},
	} {
		if _, err := f.Update(types(t), "me", 1); !errors.Is(err, engram.Invalid) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	f := service.Following{Entity: engram.MustID("M/C/p/e"), Enabled: true}
	u, err := f.Update(types(t), "me", 1)
	typ, _ := memories.Type("engram.prediction.Follow")
	if err != nil {
		t.Fatal(err)
	}
	if u.Instances[0].Payload.Bytes, err = typ.Encode(map[string]any{"entity": engram.MustID("M"), "enabled": true}); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, u, nil); !errors.Is(err, engram.Invalid) {
		t.Errorf("what is no entity is followed: %v", err)
	}
}

// A model is kept if it proves better on an episode that it has not seen, is used from then on, is refined, and
// an episode is taken out again.
func TestTrain(t *testing.T) {
	s := whole(t)
	measured, commands := engram.MustID("M/C/p/joints"), engram.MustID("M/C/p/joint_commands")
	r := rand.New(rand.NewPCG(5, 6))
	// The measured follow the commands, which jump, 8 steps later: nobody else can know.
	const lag, n = 8, 1200
	command := make([]float64, n)
	for i := range command {
		if i > 0 {
			command[i] = command[i-1]
		}
		if r.IntN(10) == 0 {
			command[i] = r.NormFloat64()
		}
	}
	for i := range n {
		put(t, s, commands, i, map[string]any{"x": command[i]})
		put(t, s, measured, i, map[string]any{"x": command[max(i-lag, 0)]})
	}
	span := func(a, b int) service.Episode {
		iv := engram.Interval{Start: engram.Time(0).Add(time.Duration(a) * step), End: engram.Time(0).Add(time.Duration(b) * step)}
		return service.Episode{Name: fmt.Sprint(a), Span: iv}
	}
	train := func(before *service.Version, add, remove []service.Episode) *service.Version {
		t.Helper()
		v, err := service.Train(t.Context(), s, types(t), before, service.Training{Entity: measured, Add: add, Remove: remove})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := train(nil, []service.Episode{span(0, 400)}, nil)
	unasked(t, s, measured)
	unasked(t, s, commands)
	if v.Kept || v.Input != commands || v.Judged != 0 {
		t.Errorf("of one episode: %+v", v)
	}
	v = train(v, []service.Episode{span(0, 400), span(400, 800)}, nil)
	if !v.Kept || v.Number != 2 || len(v.Episodes) != 2 || v.Level2[0] > 0.5*v.Level1[0] {
		t.Errorf("of two: kept %v (%s), %v and %v", v.Kept, v.Reason, v.Level1, v.Level2)
	}
	before := ask(t, s, measured, float64(n-1)+2)
	u, err := v.Update(types(t), 7)
	if err := commit(t, s, u, err); err != nil {
		t.Fatal(err)
	}
	id, err := service.ModelOf(measured)
	if err != nil {
		t.Fatal(err)
	}
	after := ask(t, s, measured, float64(n-1)+2)
	if len(before.From) != 1 || len(after.From) != 2 || after.From[1] != id.At(7) || after.Members[0].Model != "trained" {
		t.Errorf("it rests on %v (%s) before and on %v (%s) with the model", before.From, before.Members[0].Model, after.From, after.Members[0].Model)
	}
	if x := after.Members[0].Mean; math.Abs(x-command[n-1+2-lag]) > 0.1 {
		t.Errorf("it will be %v, not %v", x, command[n-1+2-lag])
	}
	latest, err := s.Latest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = service.DecodeVersion(types(t), &latest.Instances[0].Payload); err != nil {
		t.Fatal(err)
	}
	if v = train(v, nil, []service.Episode{span(0, 400)}); len(v.Episodes) != 1 || v.Number != 3 {
		t.Errorf("without one: %+v", v)
	}
	if _, err := service.Train(t.Context(), s, types(t), v, service.Training{Entity: measured, Remove: []service.Episode{span(0, 400)}}); !errors.Is(err, engram.NotFound) {
		t.Errorf("taken out twice: %v", err)
	}
	if _, err := service.Train(t.Context(), s, types(t), v, service.Training{Entity: measured, Add: []service.Episode{span(400, 800)}}); !errors.Is(err, engram.Conflict) {
		t.Errorf("learned twice: %v", err)
	}
	other := span(410, 790)
	other.Name = "most of another one"
	if _, err := service.Train(t.Context(), s, types(t), v, service.Training{Entity: measured, Add: []service.Episode{other}}); !errors.Is(err, engram.Conflict) {
		t.Errorf("learned twice by another name: %v", err)
	}
	if _, err := service.Train(t.Context(), s, types(t), nil, service.Training{Entity: measured, Add: []service.Episode{span(5000, 6000)}}); !errors.Is(err, engram.NotFound) || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("of nothing: %v", err)
	}
	// Whatever anybody writes as a model does no harm.
	typ, _ := memories.Type("engram.prediction.Model")
	b, err := typ.Encode(map[string]any{"entity": measured, "kept": true, "sums": []byte("EPM1 and noise")})
	if err != nil {
		t.Fatal(err)
	}
	u.Instances[0].Payload.Bytes, u.Time = b, 8
	if err := commit(t, s, u, nil); err != nil {
		t.Fatal(err)
	}
	if p := ask(t, s, measured, float64(n-1)+2); p.Err != nil || len(p.From) != 1 {
		t.Errorf("with a model that is none: %+v", p)
	}
}

// A battery that empties steadily is empty at a time that is known well; one that rests is not.
func TestUntil(t *testing.T) {
	s := memory(t)
	e := engram.MustID("M/C/p/battery")
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 300 {
		put(t, s, e, i, map[string]any{"charge": 90 - 0.1*float64(i) + 0.01*r.NormFloat64(), "rest": 1.0})
	}
	filter := func(text string) *idf.Filter {
		f, err := idf.CompileFilter(text)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	latest, err := s.Latest(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	until := func(text string, within time.Duration) service.Crossing {
		t.Helper()
		c, err := service.Until(t.Context(), s, types(t), filter(text), engram.Item{ID: e.At(latest.Time), Snapshot: latest}, within)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	want := engram.Time(0).Add(800 * step)
	if c := until("charge < 10.0", time.Hour); c.Abstains != "" || c.Time.Sub(want).Abs() > 20*step || c.Earliest > c.Time || c.Latest < c.Time || c.Earliest.Sub(want) > 0 || c.Latest.Sub(want) < 0 {
		t.Errorf("it is empty %+v, not at %v", c, want)
	}
	if c := until("charge < 80.0", time.Hour); c.Time != latest.Time {
		t.Errorf("it is so already: %+v", c)
	}
	if c := until("charge < 10.0", 10*step); c.Abstains == "" || c.Time != 0 {
		t.Errorf("not within a second: %+v", c)
	}
	if c := until("rest < 0.5", time.Hour); c.Abstains == "" || c.Earliest != 0 {
		t.Errorf("what rests: %+v", c)
	}
	if c := until("volts < 0.5", time.Hour); !strings.Contains(c.Abstains, `"volts"`) || c.Earliest != 0 {
		t.Errorf("a member that is not there: %+v", c)
	}
	said := engram.MustID("M/C/p/said")
	put(t, s, said, 0, "text")
	n, err := s.Latest(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := service.Until(t.Context(), s, types(t), filter(`confidence < 0.5`), engram.Item{ID: said.At(0), Snapshot: n}, time.Hour); err != nil || c.Abstains == "" {
		t.Errorf("of a text: %+v, %v", c, err)
	}
}
