package api

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// deaf is a program that says what it likes, and reads nothing after Begun.
type deaf struct {
	says  chan *engramv1.HostRequest
	ended chan struct{}
	read  bool
}

func newDeaf(t *testing.T, session string) *deaf {
	d := &deaf{says: make(chan *engramv1.HostRequest, 2), ended: make(chan struct{})}
	t.Cleanup(func() { close(d.ended) })
	d.says <- &engramv1.HostRequest{Kind: &engramv1.HostRequest_Begin{Begin: &engramv1.HostBegin{
		Memory: "M", Program: session, Session: session, Hooks: []engramv1.Hook{engramv1.Hook_HOOK_COMMIT}, Calls: 2}}}
	return d
}

func (d *deaf) Receive() (proto.Message, error) {
	select {
	case m := <-d.says:
		return m, nil
	case <-d.ended:
		return nil, io.EOF
	}
}

func (d *deaf) Send(proto.Message) error {
	if !d.read {
		d.read = true
		return nil
	}
	<-d.ended
	return io.EOF
}

func (d *deaf) CloseReceive()           {}
func (d *deaf) Patience() time.Duration { return time.Minute }

// taking takes in what programs host.
type taking struct{ hooks Hooks }

func (s *taking) Host(_ context.Context, m Memory) error {
	s.hooks = m.Hooks
	return nil
}

func (s *taking) commit(t *testing.T) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.hooks.Commit(t.Context(), &engram.EntityUpdate{Entity: engram.MustID("M/S/p/e")}) }()
	synctest.Wait()
	return done
}

func hostedBy(t *testing.T, h *Hosts, p feature.Messages) <-chan error {
	done := make(chan error, 1)
	go func() { done <- h.host(t.Context(), p) }()
	synctest.Wait()
	return done
}

func quiet(s Server) *Hosts { return New(s, slog.New(slog.DiscardHandler)) }

// A program cannot answer what it was not sent: guessed numbers would fill the queue of calls
// beyond its room, and callers would wait for more than their time.
func TestAnswerBeforeTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := &taking{}, newDeaf(t, "deaf")
		hostedBy(t, quiet(s), p)
		s.commit(t) // is being sent
		second := s.commit(t)
		p.says <- &engramv1.HostRequest{Kind: &engramv1.HostRequest_Answer{Answer: &engramv1.HostAnswer{Call: 2}}}
		if err := <-second; engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("a commit that its program never got: %v", err)
		}
	})
}

// A program that reads nothing loses its memory to the next one, though its stream cannot end yet.
func TestSeatOfADeafProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &taking{}
		h := quiet(s)
		first := hostedBy(t, h, newDeaf(t, "deaf"))
		for range 2 {
			time.Sleep(defaultTimeout) // a late hook is left alone for so long
			if err := <-s.commit(t); engram.CodeOf(err) != engram.Unavailable {
				t.Errorf("a commit to a deaf program: %v", err)
			}
		}
		other := hostedBy(t, h, newDeaf(t, "other"))
		select {
		case err := <-first:
			t.Fatalf("the first stream ended, which this test is not about: %v", err)
		case err := <-other:
			t.Errorf("the next program: %v", err)
		default:
		}
	})
}

// Of many commits to a program that hangs one waits for it, and the others are refused at once,
// by the names of memory and program.
func TestHungProgramHoldsUpOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &taking{}
		hostedBy(t, quiet(s), newDeaf(t, "deaf"))
		began := time.Now()
		for range 100 {
			if err := <-s.commit(t); engram.CodeOf(err) != engram.Unavailable || !strings.HasPrefix(err.Error(), "M: ") || !strings.Contains(err.Error(), `"deaf"`) {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != defaultTimeout {
			t.Errorf("100 commits, one after the other, took %v", took)
		}
	})
}

func TestLongErrors(t *testing.T) {
	s, _, err := newSession(&engramv1.HostBegin{Memory: "M"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ü", maxError)
	_, err = s.read(engramv1.Hook_HOOK_QUERY, &engramv1.HostAnswer{Error: &engramv1.Error{Code: "invalid", Thing: long, Message: "x" + long}})
	if e, ok := err.(*engram.Error); !ok || e.Code != engram.Invalid || len(e.Thing) != maxError || len(e.Msg) != maxError-1 {
		t.Errorf("got %.50q", err)
	}
}
