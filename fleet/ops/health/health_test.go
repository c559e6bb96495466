package health_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram/fleet/ops/health"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadiness(t *testing.T) {
	for _, test := range []struct {
		name   string
		states []health.Status
		want   health.Status
		code   int
	}{
		{"nothing to be checked", nil, health.OK, 200},
		{"all is well", []health.Status{health.OK, health.OK}, health.OK, 200},
		{"something is degraded", []health.Status{health.OK, health.Degraded}, health.Degraded, 200},
		{"something failed", []health.Status{health.Failed, health.Degraded, health.OK}, health.Failed, 503},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := health.New(time.Minute)
			h.Describe("s", "robot1", "v1")
			for i, s := range test.states {
				h.State(string(rune('a'+i)), s, "why")
			}
			w := httptest.NewRecorder()
			h.ServeReady(w, httptest.NewRequest("GET", "/readyz", nil))
			var r health.Report
			if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			if w.Code != test.code || r.Status != test.want || len(r.Checks) != 1+len(test.states) || r.Server != "s" || r.Robot != "robot1" {
				t.Errorf("%d %+v", w.Code, r)
			}
			w = httptest.NewRecorder()
			h.ServeReady(w, httptest.NewRequest("GET", "/readyz?check=alive&check=unknown", nil))
			var one health.Report
			if err := json.Unmarshal(w.Body.Bytes(), &one); err != nil || one.Status != health.OK || len(one.Checks) != 1 || one.Checks[0].Check != "alive" {
				t.Errorf("one check of several: %+v, %v", one, err)
			}
		})
	}
}

// A check that hangs fails, and is not called again before it came back.
func TestCheckThatHangs(t *testing.T) {
	h := health.New(time.Millisecond)
	var calls atomic.Int64
	free, back := make(chan struct{}), make(chan struct{})
	h.Set("disk", func(context.Context) (health.Status, string) {
		calls.Add(1)
		<-free
		defer close(back)
		return health.OK, ""
	})
	for range 3 {
		if r := h.Ready(t.Context()); r.Status != health.Failed || r.Checks[1].Reason == "" {
			t.Errorf("%+v", r)
		}
	}
	if close(free); calls.Load() != 1 {
		t.Errorf("%d calls are under way", calls.Load())
	}
	<-back
}

func TestLiveness(t *testing.T) {
	if err := health.New(time.Minute).Live(t.Context()); err != nil {
		t.Errorf("without a check: %v", err)
	}
	h := health.New(time.Millisecond)
	free := make(chan struct{})
	h.Alive(func(context.Context) (health.Status, string) { <-free; return health.OK, "" })
	w := httptest.NewRecorder()
	h.ServeLive(w, httptest.NewRequest("GET", "/healthz", nil))
	if close(free); w.Code != 503 {
		t.Errorf("a process that hangs: %d %s", w.Code, w.Body)
	}
}

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	if s, why := health.NewDisk(dir).Check(t.Context()); s == health.Failed {
		t.Errorf("a good folder: %s", why)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
	if s, why := health.NewDisk(dir + "/absent").Check(t.Context()); s != health.Failed || why == "" {
		t.Errorf("no folder: %s %s", s, why)
	}
}
