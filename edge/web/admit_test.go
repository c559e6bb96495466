package web

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/internal/testkit"
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
		go func() { failed = piece{p.density, p.busy}.serve(w, r, query{Values: r.URL.Query()}) }()
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

// stuck answers no question until it is let go.
type stuck struct {
	feature.Server
	asked atomic.Int32
	let   chan struct{}
}

func (s *stuck) wait() error {
	s.asked.Add(1)
	<-s.let
	return engram.Errorf(engram.NotFound, "", "nothing is here")
}

func (*stuck) Features() []feature.Feature { return nil }

func (s *stuck) Stats(context.Context, engram.Pattern, engram.Level) ([]engram.Stats, error) {
	return nil, s.wait()
}

func (s *stuck) Query(context.Context, engram.Query) (*engram.Result, error) { return nil, s.wait() }

// Of each piece that takes long one identity has all turns but one.
func TestPiecesAreAdmitted(t *testing.T) {
	most := 1 + runtime.GOMAXPROCS(0)
	for name, most := range map[string]int{
		"scene?t=1": most, "missing": most, "cameras": most, "robot?name=arm": most,
		"members?id=A/B/c/d": most, "image?id=A/B/c/d": most, "video?id=A/B/c/d&as=image/jpeg": maxFilms,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := &stuck{let: make(chan struct{})}
				p := New(svc, Options{Log: testkit.Quiet})
				ask := func(ctx context.Context, id access.Identity, name string) (answered bool) {
					r := httptest.NewRequestWithContext(access.WithIdentity(ctx, id), "GET", "/view/"+name, nil)
					go func() {
						p.ServeHTTP(httptest.NewRecorder(), r)
						answered = true
					}()
					synctest.Wait()
					return answered
				}
				is := func(want int) {
					t.Helper()
					if got := int(svc.asked.Load()); got != want {
						t.Errorf("%d are worked on, not %d", got, want)
					}
				}
				for range 2 * most {
					ask(t.Context(), "a", name)
				}
				is(most - 1)
				ask(t.Context(), "b", name)
				is(most)
				if name == "scene?t=1" { // these need as much as a scene
					ctx, cancel := context.WithCancel(t.Context())
					for _, other := range []string{"world", "trails", "missing"} {
						if ask(ctx, "c", other) {
							t.Errorf("%s does not wait", other)
						}
					}
					is(most)
					cancel()
					synctest.Wait()
					ask(t.Context(), "c", "members?id=A/B/c/d")
					is(most + 1)
				}
				close(svc.let)
				synctest.Wait()
				if got := int(svc.asked.Load()); got < 2*most+1 {
					t.Errorf("%d were worked on in all", got)
				}
			})
		})
	}
}

// slow is a browser that takes nothing until it is let go.
type slow struct {
	*httptest.ResponseRecorder
	begun atomic.Int32
	let   chan struct{}
}

func (s *slow) Write(b []byte) (int, error) {
	s.begun.Add(1)
	<-s.let
	return s.ResponseRecorder.Write(b)
}

// An answer is written after its turn; its status and header are those that the piece says.
func TestAnswerIsWrittenWithoutTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newAdmission(2)
		one := piece{func(w http.ResponseWriter, _ *http.Request, _ query) error {
			if len(turns.all) != 1 {
				t.Error("it has no turn")
			}
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusAccepted)
			_, err := w.Write([]byte("hello"))
			return err
		}, turns}
		w := &slow{ResponseRecorder: httptest.NewRecorder(), let: make(chan struct{})}
		go one.serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/view/x", nil), query{})
		synctest.Wait()
		if w.begun.Load() != 1 || len(turns.all) != 0 {
			t.Errorf("%d writes, %d turns", w.begun.Load(), len(turns.all))
		}
		close(w.let)
		synctest.Wait()
		if w.Code != http.StatusAccepted || w.Body.String() != "hello" || w.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}

// long has an entity with so many snapshots, one each nanosecond, without instances.
type long struct {
	feature.Server
	n    int
	busy *admission
	read int // snapshots, with a turn
}

func (l *long) Stats(context.Context, engram.Pattern, engram.Level) ([]engram.Stats, error) {
	return []engram.Stats{{ID: engram.MustID("A/B/c/d"), Snapshots: uint64(l.n), First: 1, Last: engram.Time(l.n)}}, nil
}

func (l *long) QueryParts(_ context.Context, q engram.Query, take func(*engram.Result) error) error {
	var all []*engram.Snapshot
	node := q.Memories[0]
	for len(node.Children) > 0 {
		node = node.Children[0]
	}
	in := node.Snapshots[0].Interval
	for t := max(1, in.Start); t < min(in.End, engram.Time(l.n+1)); t++ {
		all = append(all, &engram.Snapshot{Time: t})
	}
	if len(l.busy.all) == 1 && !q.WithoutPayload {
		l.read += len(all)
	}
	found := &engram.ResultNode{Name: "d", Snapshots: all}
	for _, name := range []string{"c", "B", "A"} {
		found = &engram.ResultNode{Name: name, Children: []*engram.ResultNode{found}}
	}
	return take(&engram.Result{Memories: []*engram.ResultNode{found}})
}

// CSV is read by turns, of which none is held while a browser takes what was read.
func TestCSVIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := &long{n: 3 * windowCount, busy: newAdmission(2)}
		p := &plots{reader: &reader{svc: svc, busy: svc.busy}, log: testkit.Quiet}
		p.types.service = svc
		w := &slow{ResponseRecorder: httptest.NewRecorder(), let: make(chan struct{})}
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/view/series?id=A/B/c/d&path=v&csv=1", nil)
		done, err := svc.busy.turn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		go func() { failed = p.series(w, r, query{Values: r.URL.Query()}) }()
		synctest.Wait()
		if svc.read != 0 || w.begun.Load() != 0 {
			t.Error("it does not wait")
		}
		done()
		synctest.Wait()
		if svc.read == 0 || svc.read == svc.n || w.begun.Load() != 1 || len(svc.busy.all) != 0 {
			t.Errorf("%d are read, %d writes, %d turns", svc.read, w.begun.Load(), len(svc.busy.all))
		}
		close(w.let)
		synctest.Wait()
		if lines := bytes.Count(w.Body.Bytes(), []byte("\n")); failed != nil || svc.read != svc.n || lines != svc.n+1 || len(svc.busy.all) != 0 {
			t.Errorf("%v, %d are read, %d lines, %d turns", failed, svc.read, lines, len(svc.busy.all))
		}
	})
}
