// Package health says how a memory server is: whether it lives, whether it is ready to
// be used, and what does not work just now, with the reason and what to do. Load
// balancers, systemd and Kubernetes ask /healthz and /readyz; people read the same as
// JSON or with 'engram health'.
package health

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
)

// Status says how something is.
type Status string

// The statuses, from good to bad. What is degraded works in part, or will not for long;
// the server is ready nevertheless.
const (
	OK       Status = "ok"
	Degraded Status = "degraded"
	Failed   Status = "failed"
)

// rank orders statuses.
func (s Status) rank() int {
	switch s {
	case OK:
		return 0
	case Degraded:
		return 1
	}
	return 2
}

// Worse returns the worse of two statuses.
func Worse(a, b Status) Status {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Finding is what a check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // empty only if it is ok
}

// Report says how a server is.
type Report struct {
	Status  Status    `json:"status"` // the worst of all checks
	Server  string    `json:"server,omitempty"`
	Robot   string    `json:"robot,omitempty"`
	Version string    `json:"version,omitempty"`
	Uptime  float64   `json:"uptime_secs"`
	Checks  []Finding `json:"checks"`
}

// Ready reports whether the server can be used.
func (r Report) Ready() bool { return r.Status != Failed }

// Check looks at one thing. It must return soon after ctx ends; what it does not answer
// in time counts as failed.
type Check func(ctx context.Context) (Status, string)

// Health holds a server's checks. Make one with [New]; safe for concurrent use.
type Health struct {
	began    time.Time
	patience time.Duration

	mu struct {
		sync.Mutex
		about  Report
		checks []named // the first one says whether the process lives
	}
}

type named struct {
	name  string
	check Check
	look  *look // under way; nil if none is
}

// alive names the check of [Health.Alive].
const alive = "alive"

// defaultPatience is how long a check may take.
const defaultPatience = 2 * time.Second

// New returns a Health with no check. patience bounds how long a check may take; 0 means
// 2 s.
func New(patience time.Duration) *Health {
	h := &Health{began: time.Now(), patience: cmp.Or(patience, defaultPatience)}
	h.State(alive, OK, "")
	return h
}

// Describe sets who the reports are about.
func (h *Health) Describe(server, robot, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.about = Report{Server: server, Robot: robot, Version: version}
}

// Alive sets what says whether the process does its work at all. If it does not, the
// process is to be killed and started again.
func (h *Health) Alive(c Check) {
	h.Set(alive, c)
}

// Set adds a check that must pass for the server to be ready, or replaces the one of its
// name.
func (h *Health) Set(name string, c Check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.mu.checks {
		if h.mu.checks[i].name == name {
			h.mu.checks[i].check = c
			return
		}
	}
	h.mu.checks = append(h.mu.checks, named{name: name, check: c})
}

// State is a check that is told its status instead of looking.
func (h *Health) State(name string, s Status, reason string) {
	h.Set(name, func(context.Context) (Status, string) { return s, reason })
}

// Ready returns a report of all checks.
func (h *Health) Ready(ctx context.Context) Report { return h.report(ctx, nil) }

// report returns a report of some checks; nil is all.
func (h *Health) report(ctx context.Context, only []string) Report {
	h.mu.Lock()
	r := h.mu.about
	var which []int
	for i := range h.mu.checks {
		if only == nil || slices.Contains(only, h.mu.checks[i].name) {
			which = append(which, i)
		}
	}
	h.mu.Unlock()
	r.Status, r.Uptime = OK, time.Since(h.began).Seconds()
	r.Checks = make([]Finding, len(which))
	var done sync.WaitGroup
	for i, check := range which {
		done.Go(func() { r.Checks[i] = h.run(ctx, check) })
	}
	done.Wait()
	for _, f := range r.Checks {
		r.Status = Worse(r.Status, f.Status)
	}
	return r
}

// look is one call of a check. All who ask meanwhile share it, so that asking does not
// pile up goroutines where something hangs.
type look struct {
	done   chan struct{}
	status Status
	reason string
}

func (h *Health) run(ctx context.Context, i int) Finding {
	h.mu.Lock()
	c := &h.mu.checks[i]
	name, l := c.name, c.look
	if l == nil {
		l = &look{done: make(chan struct{})}
		c.look = l
		check := c.check
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.patience)
		go func() {
			defer cancel()
			l.status, l.reason = check(ctx)
			h.mu.Lock()
			h.mu.checks[i].look = nil
			h.mu.Unlock()
			close(l.done)
		}()
	}
	h.mu.Unlock()
	status, reason := h.wait(ctx, l)
	return Finding{name, status, reason}
}

// wait waits for what a look finds, but not for long.
func (h *Health) wait(ctx context.Context, l *look) (Status, string) {
	timer := time.NewTimer(h.patience)
	defer timer.Stop()
	select {
	case <-l.done:
		return l.status, l.reason
	case <-timer.C:
	case <-ctx.Done():
	}
	return Failed, "no answer within " + h.patience.String() + "; something hangs"
}

// Live returns an error if the process does not do its work.
func (h *Health) Live(ctx context.Context) error {
	if f := h.run(ctx, 0); f.Status == Failed {
		return engram.Errorf(engram.Unavailable, "", "%s", f.Reason)
	}
	return nil
}

// ServeLive answers /healthz: 200 if the process does its work, 503 if it does not.
func (h *Health) ServeLive(w http.ResponseWriter, r *http.Request) {
	answer := Finding{Check: alive, Status: OK}
	if err := h.Live(r.Context()); err != nil {
		answer.Status, answer.Reason = Failed, err.Error()
	}
	write(w, answer.Status, answer)
}

// ServeReady answers /readyz: 200 if the server is ready, 503 if it is not, with a
// [Report]; with ?check=NAME, which may be repeated, of these checks only.
func (h *Health) ServeReady(w http.ResponseWriter, r *http.Request) {
	report := h.report(r.Context(), r.URL.Query()["check"])
	write(w, report.Status, report)
}

func write(w http.ResponseWriter, s Status, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if s == Failed {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// The writer fails only if the client has gone.
	_ = json.NewEncoder(w).Encode(body)
}
