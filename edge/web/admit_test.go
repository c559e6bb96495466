package web

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/feature"
)

// Who asks for many pieces leaves others room; of what waits there is a limit, and nothing is left of who has gone.
func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		a := newAdmission(most)
		ask := func(ctx context.Context, id access.Identity) (admitted chan error, done func()) {
			admitted, release := make(chan error, 1), make(chan struct{})
			go func() {
				done, err := a.turn(access.WithIdentity(ctx, id))
				admitted <- err
				if err == nil {
					<-release
					done()
				}
			}()
			synctest.Wait()
			return admitted, func() { close(release); synctest.Wait() }
		}
		is := func(what string, admitted chan error, want bool) {
			t.Helper()
			select {
			case err := <-admitted:
				if !want || err != nil {
					t.Errorf("%s is admitted: %v", what, err)
				}
			default:
				if want {
					t.Errorf("%s waits", what)
				}
			}
		}
		first, endFirst := ask(t.Context(), "a")
		second, endSecond := ask(t.Context(), "a")
		third, endThird := ask(t.Context(), "a")
		is("the first", first, true)
		is("the second", second, true)
		is("the third of one identity", third, false)
		other, endOther := ask(t.Context(), "b")
		is("another identity's", other, true)
		late, endLate := ask(t.Context(), "c")
		is("one beyond all turns", late, false)
		ctx, cancel := context.WithCancel(t.Context())
		var gone []chan error
		for _, id := range []access.Identity{"a", "d"} {
			waits, _ := ask(ctx, id)
			gone = append(gone, waits)
		}
		cancel()
		synctest.Wait()
		for _, waits := range gone {
			if err := <-waits; engram.CodeOf(err) != engram.Canceled {
				t.Errorf("who has gone: %v", err)
			}
		}
		endFirst()
		is("the one that waited for all", late, true)
		is("the third, while others have all turns", third, false)
		endOther()
		is("the third, when one is free", third, true)

		endLate()
		ctx, cancel = context.WithCancel(t.Context())
		for range maxWaiting {
			go a.turn(access.WithIdentity(ctx, "a"))
		}
		synctest.Wait()
		if _, err := a.turn(access.WithIdentity(ctx, "a")); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("beyond what may wait: %v", err)
		}
		other, endOther = ask(t.Context(), "b")
		is("another identity's, beside them", other, true)
		cancel()
		synctest.Wait()
		endSecond()
		endThird()
		endOther()
		if len(a.by) != 0 || len(a.all) != 0 {
			t.Errorf("%d identities and %d turns are left", len(a.by), len(a.all))
		}
	})
}

// counted counts the questions that a page asks.
type counted struct {
	feature.Server
	asked int
}

func (c *counted) Stats(context.Context, engram.Pattern, engram.Level) ([]engram.Stats, error) {
	c.asked++
	return nil, engram.Errorf(engram.NotFound, "", "nothing is here")
}

// What takes long waits for its turn, and the same entity is worked on once.
func TestDensityIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := &counted{}
		p := &plots{reader: &reader{svc: svc, busy: newAdmission(3)}}
		var turns []func()
		for range cap(p.busy.all) - 1 {
			done, err := p.busy.turn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, done)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/view/density?id=A/B/c/d&id=A/B/c/d&id=A/B/c/e", nil)
		var failed error
		go func() { failed = p.density(w, r, query{Values: r.URL.Query()}) }()
		synctest.Wait()
		if svc.asked != 0 {
			t.Error("it does not wait")
		}
		for _, done := range turns {
			done()
		}
		synctest.Wait()
		if svc.asked != 2 || failed != nil {
			t.Errorf("%d questions, %v", svc.asked, failed)
		}
	})
}
