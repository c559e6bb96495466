package api_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

const procedure = "/engram.v1.HostService/Host"

// program is what hosts a memory, as seen from its end of the stream.
type program struct {
	t      *testing.T
	stream feature.ClientStream
}

func begin(t *testing.T, c feature.Conn, b *engramv1.HostBegin) *program {
	t.Helper()
	if len(b.Segments) == 0 && b.Memory != "" {
		b.Segments = []*engramv1.Segment{{Id: b.Memory + "/State"}}
	}
	s, err := c.Open(t.Context(), procedure, &engramv1.HostRequest{Kind: &engramv1.HostRequest_Begin{Begin: b}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &program{t, s}
}

// next returns the next call, or the error that ends the stream.
func (p *program) next() (*engramv1.HostResponse, error) {
	m := &engramv1.HostResponse{}
	return m, p.stream.Receive(m)
}

func (p *program) begun() *program {
	p.t.Helper()
	if m, err := p.next(); err != nil || m.GetBegun() == nil {
		p.t.Fatalf("the memory is not hosted: %v, %v", m, err)
	}
	return p
}

func (p *program) refused(code engram.Code, words string) {
	p.t.Helper()
	m, err := p.next()
	if engram.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		p.t.Errorf("got %v, %v; want %v with %q", m, err, code, words)
	}
}

func (p *program) answer(a *engramv1.HostAnswer) {
	p.t.Helper()
	if err := p.stream.Send(&engramv1.HostRequest{Kind: &engramv1.HostRequest_Answer{Answer: a}}); err != nil {
		p.t.Fatal(err)
	}
}

func dial(t *testing.T, s feature.Server, o rpc.Options) *rpc.Client {
	t.Helper()
	return serving.Dial(t, serving.Serve(t, s, nil, o, serving.Socket(t)).Address, rpc.DialOptions{})
}

var entity = engram.MustID("M/State/test/a")

func one(t *testing.T) engram.Commit {
	return engram.Commit{Updates: []engram.EntityUpdate{testkit.Update(t, entity.String(), engram.Now(), 1.5)}}
}

// commit commits beside the test.
func commit(t *testing.T, s engram.Writer) <-chan error {
	done := make(chan error, 1)
	go func() {
		r, err := s.Commit(t.Context(), one(t))
		if err == nil {
			err = engram.FirstError(r)
		}
		done <- err
	}()
	return done
}

func hooks(h ...engramv1.Hook) *engramv1.HostBegin {
	return &engramv1.HostBegin{Memory: "M", Program: "battery", Session: "1", Hooks: h, TimeoutNanos: 60e9}
}

func TestBeginnings(t *testing.T) {
	c := dial(t, serving.New(t, serving.Memory("Own", server.Hooks{})), rpc.Options{})
	for _, test := range []struct {
		b     *engramv1.HostBegin
		code  engram.Code
		words string
	}{
		{nil, engram.Invalid, "has to begin"},
		{&engramv1.HostBegin{}, engram.Invalid, ""},
		{&engramv1.HostBegin{Memory: "Own"}, engram.AlreadyExists, "the server has a memory of this name itself"},
		{&engramv1.HostBegin{Memory: "robot2:A"}, engram.Invalid, "another robot's"},
		{&engramv1.HostBegin{Memory: "A", TimeoutNanos: 61e9}, engram.Invalid, "up to 1m0s"},
		{&engramv1.HostBegin{Memory: "A", TimeoutNanos: -1}, engram.Invalid, "up to"},
		{&engramv1.HostBegin{Memory: "A", Calls: 1 << 31}, engram.Invalid, "at most 256"},
		{&engramv1.HostBegin{Memory: "A", Hooks: []engramv1.Hook{9}}, engram.Invalid, "no hook 9"},
		{&engramv1.HostBegin{Memory: "A", Program: strings.Repeat("x", 300)}, engram.Invalid, "at most 256 bytes"},
		{&engramv1.HostBegin{Memory: "A", Segments: []*engramv1.Segment{{Id: "Own/State"}}}, engram.Invalid, "lies in another memory"},
		{&engramv1.HostBegin{Memory: "A", Segments: []*engramv1.Segment{{Id: "A/B/C/D"}}}, engram.Invalid, "is no segment"},
		{&engramv1.HostBegin{Memory: "A", Segments: []*engramv1.Segment{{Id: "A/B", Type: "unknown.Type"}}}, engram.NotFound, "unknown.Type"},
		{&engramv1.HostBegin{Memory: "A", Types: []*engramv1.TypeDef{{Name: "x.Y", Descriptors: []byte("no")}}}, engram.Invalid, "x.Y"},
	} {
		p := &program{t: t}
		if test.b != nil {
			p = begin(t, c, test.b)
		} else {
			s, err := c.Open(t.Context(), procedure, &engramv1.HostRequest{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p.stream = s
		}
		p.refused(test.code, test.words)
	}
	begin(t, c, &engramv1.HostBegin{Memory: "A"}).begun() // after what failed half-way
}

func TestBadAnswers(t *testing.T) {
	s := serving.New(t)
	c := dial(t, s, rpc.Options{MaxMessage: 1 << 20})
	p := begin(t, c, hooks(engramv1.Hook_HOOK_COMMIT, engramv1.Hook_HOOK_PREDICT, engramv1.Hook_HOOK_QUERY)).begun()
	for _, test := range []struct {
		a     *engramv1.HostAnswer
		code  engram.Code
		words string
	}{
		{&engramv1.HostAnswer{Predict: &engramv1.PredictResponse{}}, engram.Internal, "as if it were another one"},
		{&engramv1.HostAnswer{Commit: &engramv1.EntityUpdate{}}, engram.Internal, "not in its memory"},
		{&engramv1.HostAnswer{Commit: &engramv1.EntityUpdate{Entity: "Other/State/test/a"}}, engram.Internal, "not in its memory"},
		{&engramv1.HostAnswer{Commit: &engramv1.EntityUpdate{Entity: entity.String()}}, engram.Invalid, ""},
		{&engramv1.HostAnswer{Commit: &engramv1.EntityUpdate{Entity: entity.String(), Instances: []*engramv1.Instance{nil, {}}}}, 0, ""},
		{&engramv1.HostAnswer{Error: &engramv1.Error{Code: "no such code", Message: "why"}}, engram.Internal, "why"},
		{&engramv1.HostAnswer{Error: &engramv1.Error{Code: "conflict", Message: "why"}}, engram.Conflict, "why"},
	} {
		done := commit(t, s)
		call, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		test.a.Call = call.GetCall()
		p.answer(test.a)
		if err := <-done; engram.CodeOf(err) != test.code || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%v: got %v, want %v with %q", test.a, err, test.code, test.words)
		}
	}
	// Predictions: too few.
	predicted := make(chan engram.Prediction, 1)
	go func() {
		got, err := s.Predict(t.Context(), []engram.ID{entity.At(5)})
		if err != nil {
			t.Error(err)
		}
		predicted <- got[0]
	}()
	call, err := p.next()
	if err != nil || len(call.GetPredict().GetIds()) != 1 {
		t.Fatal(call, err)
	}
	p.answer(&engramv1.HostAnswer{Call: call.GetCall(), Predict: &engramv1.PredictResponse{Predictions: []*engramv1.Prediction{{}, {}}}})
	if got := <-predicted; engram.CodeOf(got.Err) != engram.Internal || !strings.Contains(got.Err.Error(), "2 of 1 IDs") {
		t.Errorf("predicted: %v", got.Err)
	}
	// An answer that is too large ends the stream, and the memory is readable.
	done := commit(t, s)
	if call, err = p.next(); err != nil {
		t.Fatal(err)
	}
	big := &engramv1.Instance{Payload: &engramv1.Payload{Data: make([]byte, 2<<20)}}
	_ = p.stream.Send(&engramv1.HostRequest{Kind: &engramv1.HostRequest_Answer{Answer: &engramv1.HostAnswer{
		Call: call.GetCall(), Commit: &engramv1.EntityUpdate{Entity: entity.String(), Instances: []*engramv1.Instance{big}}}}})
	if err := <-done; engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), `"battery"`) {
		t.Errorf("after an answer that is too large: %v", err)
	}
	if _, err := s.Latest(t.Context(), entity); err != nil {
		t.Error(err)
	}
	// So does an answer to what was not asked.
	p = begin(t, c, hooks()).begun()
	p.answer(&engramv1.HostAnswer{Call: 77})
	p.refused(engram.Invalid, "call 77")
}

// A query for numbers is to a program one for the snapshots that these are taken out of.
func TestHookOfAQueryForNumbers(t *testing.T) {
	s := serving.New(t)
	p := begin(t, dial(t, s, rpc.Options{}), hooks(engramv1.Hook_HOOK_QUERY)).begun()
	if _, err := s.Commit(t.Context(), one(t)); err != nil {
		t.Fatal(err)
	}
	q := engram.SelectID(entity, engram.All())
	var got []float64
	q.Numbers = &engram.Numbers{Paths: []string{""}, Take: func(_ engram.Time, row []float64) error {
		got = append(got, row...)
		return nil
	}}
	done := make(chan error, 1)
	go func() { done <- s.QueryParts(t.Context(), q, func(*engram.Result) error { return nil }) }()
	asked := make(chan *engramv1.HostResponse, 1)
	go func() {
		if call, err := p.next(); err == nil {
			asked <- call
		}
	}()
	select {
	case call := <-asked:
		if len(call.GetQuery().GetMemories()) != 1 {
			t.Errorf("the program is asked for %v", call)
		}
		p.answer(&engramv1.HostAnswer{Call: call.GetCall()})
	case err := <-done:
		t.Fatalf("the program is not asked: %v", err)
	}
	if err := <-done; err != nil || len(got) != 1 || got[0] != 1.5 {
		t.Errorf("numbers %v, %v", got, err)
	}
}

// A caller that gives up, or a program that ends, leaves nobody waiting.
func TestEnds(t *testing.T) {
	s := serving.New(t)
	c := dial(t, s, rpc.Options{})
	p := begin(t, c, hooks(engramv1.Hook_HOOK_COMMIT)).begun()
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		r, err := s.Commit(ctx, one(t))
		done <- errors.Join(err, engram.FirstError(r))
	}()
	call, err := p.next()
	if err != nil {
		t.Fatal(err)
	}
	giveUp()
	if err := <-done; !errors.Is(err, engram.Canceled) {
		t.Error(err)
	}
	p.answer(&engramv1.HostAnswer{Call: call.GetCall()}) // too late, which is no fault
	done2 := commit(t, s)
	if call, err = p.next(); err != nil {
		t.Fatal(err)
	}
	p.answer(&engramv1.HostAnswer{Call: call.GetCall()})
	if err := <-done2; err != nil {
		t.Error(err)
	}
	// Another program is refused, the same one takes its place.
	other := hooks()
	other.Session = "2"
	begin(t, c, other).refused(engram.AlreadyExists, `"battery"`)
	again := begin(t, c, hooks(engramv1.Hook_HOOK_COMMIT)).begun()
	p.refused(engram.Conflict, "took the place")
	done3 := commit(t, s)
	if _, err = again.next(); err != nil {
		t.Fatal(err)
	}
	_ = again.stream.Close()
	if err := <-done3; engram.CodeOf(err) != engram.Unavailable {
		t.Error(err)
	}
}

func TestRights(t *testing.T) {
	rules := serving.Rules(t, `
rules:
  - {allow: all, to: anonymous, on: M}
  - {allow: read, to: anonymous, on: "*"}
`)
	s := serving.New(t)
	l := serving.Serve(t, feature.Guard(s, rules), nil, rpc.Options{}, serving.AnyPort)
	c := serving.Dial(t, l.Address, rpc.DialOptions{})
	begin(t, c, &engramv1.HostBegin{Memory: "N"}).refused(engram.Forbidden, "N")
	if got := s.Memories(); len(got) != 0 {
		t.Errorf("the server has %v", got)
	}
	p := begin(t, c, hooks()).begun()
	policy, err := access.Parse([]byte(`rules: [{allow: read, to: anonymous, on: "*"}]`))
	if err == nil {
		err = rules.Set(policy)
	}
	if err != nil {
		t.Fatal(err)
	}
	if m, err := p.next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("hosting goes on without the right: %v", m)
	}
}
