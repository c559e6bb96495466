package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
)

// everything has all there is to be shown, with segments of a number.
func everything(segments int) Sources {
	m := new(meter.Meter)
	refused := []engram.UpdateResult{{Err: engram.Errorf(engram.TypeMismatch, "", "no")}}
	m.RPC.Commit(meter.Start(), refused, nil)
	m.Local.Query(meter.Start(), nil)
	f := wm.Figures{Number: 7, Dropped: 3, Behind: 2}
	st := ltm.Stats{Episodes: 2}
	for i := range segments {
		id, _ := engram.NewID("M", fmt.Sprintf("C%d", i))
		f.Segments = append(f.Segments, wm.SegmentFigures{Segment: id, Entities: 1, Committed: 2})
		st.Segments = append(st.Segments, ltm.SegmentStats{Segment: id, Snapshots: 5})
	}
	p, _ := engram.ParsePattern("robot1:Object/Instance")
	h := health.New(0)
	h.State("names", health.Degraded, "away")
	return Sources{
		Server: "s\xff", Robot: "robot1", Meter: m,
		Memory:        func() wm.Figures { return f },
		LongTerm:      func() ltm.Figures { return ltm.Figures{Behind: 4} },
		LongTermStats: func(context.Context) (ltm.Stats, error) { return st, nil },
		Disk:          func() (time.Duration, error) { return time.Millisecond, nil },
		Names:         func() Names { return Names{Registered: true, Entries: 9} },
		Backbone:      func() Backbone { return Backbone{Connected: true, Embedded: true, RoundTrip: time.Millisecond} },
		Copies: func(context.Context) ([]contract.Status, error) {
			return []contract.Status{{Copy: contract.Copy{Pattern: p}, State: contract.StateLive, Contact: 1, Lag: time.Second, LeftOut: []contract.LeftOutCount{{Reason: "rate", Count: 3}}},
				{Copy: contract.Copy{Pattern: engram.MustPattern("robot9:Vision")}, State: contract.StateWaiting}}, nil
		},
		Skews: func() []clock.Skew {
			return []clock.Skew{{Server: "b", Sample: clock.Sample{Offset: -10 * time.Second, Delay: 2 * time.Millisecond, At: 1}}, {Server: "never answered"}}
		},
		Health: h.Ready,
	}
}

// Who asks for the metrics and goes away, or is kept waiting too long, leaves nothing in the
// log; a metric that cannot be made is told once.
func TestAbortedExposition(t *testing.T) {
	for name, waits := range map[string]time.Duration{"gone": 0, "too slow": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				ctx, cancel := context.WithCancel(t.Context())
				s := everything(3)
				answered := make(chan struct{})
				s.Memory = func() wm.Figures {
					if waits == 0 {
						cancel()
					}
					<-answered
					return wm.Figures{}
				}
				w := httptest.NewRecorder()
				Handler(s, slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil))
				close(answered)
				synctest.Wait()
				if w.Code != http.StatusServiceUnavailable || log.Len() > 0 {
					t.Errorf("status %d; the log has %s", w.Code, &log)
				}
				cancel()
			})
		})
	}
	var log bytes.Buffer
	faults{slog.New(slog.NewTextHandler(&log, nil))}.Println("error gathering metrics:", errors.New("no such"))
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "error gathering metrics: no such") {
		t.Errorf("the log has %s", got)
	}
}

// Prometheus' own linter has nothing to say about the names, the help texts and the
// types.
func TestNamesFollowTheRules(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(&collector{s: everything(3)})
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestExposition(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(everything(2), slog.New(slog.NewTextHandler(io.Discard, nil))).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`engram_updates_total 7`,
		`engram_refusals_total{call="commit",code="type mismatch",edge="rpc"} 1`,
		`engram_commit_duration_seconds_count{call="single",edge="rpc"} 1`,
		`engram_query_duration_seconds_count{edge="local"} 1`,
		`engram_segment_committed_snapshots_total{core_segment="C1",memory="M"} 2`,
		`engram_segment_disk_snapshots{core_segment="C0",memory="M"} 5`,
		`engram_recorder_lag_updates 4`,
		`engram_copy_lag_seconds{copy="robot1:Object/Instance"} 1`,
		`engram_copy_state{copy="robot1:Object/Instance",state="live"} 1`,
		`engram_copy_left_out_versions_total{copy="robot1:Object/Instance",reason="rate"} 3`,
		`engram_clock_skew_seconds{peer="b"} -10`,
		`engram_clock_skew_uncertainty_seconds{peer="b"} 0.001`,
		`engram_backbone_connected 1`,
		`engram_names_registered 1`,
		`engram_server_info{robot="robot1",server="s�"} 1`,
		`engram_health_status{check="names",status="degraded"} 1`,
		`engram_ready 1`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if strings.Contains(w.Body.String(), `engram_copy_lag_seconds{copy="robot9:Vision"}`) {
		t.Error("the lag of a copy is told whose owner was never heard")
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(w.Body.String(), "\n"+name+" ") {
			t.Errorf("there is no %s", name)
		}
	}
	if strings.Contains(w.Body.String(), "never answered") {
		t.Error("a clock is told of that was never measured")
	}
}

// However many segments clients make, there is a bounded number of series, and nothing
// is missing from their sum.
func TestCardinalityIsBounded(t *testing.T) {
	const segments = 20 * maxSegments
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(&collector{s: everything(segments)})
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series, committed := 0, 0.0
	for _, f := range families {
		series += len(f.GetMetric())
		if f.GetName() == "engram_segment_committed_snapshots_total" {
			for _, m := range f.GetMetric() {
				committed += m.GetCounter().GetValue()
			}
		}
	}
	if series > 15*maxSegments || committed != 2*segments {
		t.Errorf("%d series; %v snapshots committed, want %d", series, committed, 2*segments)
	}
}

// What is not there has no metrics, and breaks none.
func TestWithoutSources(t *testing.T) {
	families, err := NewRegistry(Sources{}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if n := f.GetName(); strings.HasPrefix(n, "engram_") && n != "engram_build_info" && n != "engram_server_info" {
			t.Errorf("there is %s", n)
		}
	}
}

func BenchmarkScrape(b *testing.B) {
	s := everything(50)
	h := Handler(s, slog.Default())
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
	}
}
