package transport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	longterm "github.com/seed-301d4374/engram/core/ltm/api"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/serve"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
)

// Poses, the long-term memory and copies are behind the rules, too.
func TestServicesBehindRules(t *testing.T) {
	d := newDeployment(t)
	d.data = filepath.Join(t.TempDir(), "data")
	const rules = `
rules:
  - {allow: read, to: [eye, pose], on: RobotState}
  - {allow: [read, subscribe], to: holder, on: M/S}
  - {allow: read, to: auditor, on: "*"}
  - {allow: admin, to: cleaner, on: M/S}
`
	g := d.serve(rules, server.Memory{Name: "M", Segments: []engram.CoreSegment{{ID: engram.MustID("M/S")}, {ID: engram.MustID("M/T")}}}, memories.RobotState())
	commit(t, g.Server, "M/S/p/e")
	commit(t, g.Server, "M/T/p/e")
	client := func(id string) *rpc.Client {
		t.Helper()
		return dial(t, g.tcp, d.client(access.Identity(id))).(*rpc.Client)
	}
	want := func(what string, err error, code engram.Code) {
		t.Helper()
		if engram.CodeOf(err) != code {
			t.Errorf("%s: %v (%v), want %v", what, err, engram.CodeOf(err), code)
		}
	}

	_, err := poses.NewClient(client("eye")).Tree(t.Context(), nil)
	want("poses by who may read them", err, 0)
	_, err = poses.NewClient(client("holder")).Tree(t.Context(), nil)
	want("poses by who may not", err, engram.Forbidden)

	_, err = longterm.NewClient(client("auditor")).Episodes(t.Context(), engram.Always())
	want("episodes by who may read everything", err, 0)
	_, err = longterm.NewClient(client("eye")).Episodes(t.Context(), engram.Always())
	want("episodes by who may not", err, engram.Forbidden)
	want("sealing by who may only read", longterm.NewClient(client("auditor")).Seal(t.Context(), "why"), engram.Forbidden)
	forget := func(pattern string) error {
		_, err := longterm.NewClient(client("cleaner")).Forget(t.Context(), admin.Forgetting{
			Patterns: []engram.Pattern{engram.MustPattern(pattern)}, Span: engram.Always(), Why: "test", DryRun: true}, nil)
		return err
	}
	want("forgetting what one may administer", forget("M/S/p"), 0)
	want("forgetting something else", forget("M/T/p"), engram.Forbidden)
	want("forgetting more", forget("M/*/p"), engram.Forbidden)

	for who, status := range map[string]int{"auditor": http.StatusOK, "eye": http.StatusForbidden} {
		got, _, err := rpc.Get(t.Context(), g.tcp, "/metrics", d.client(access.Identity(who)))
		if err != nil || got != status {
			t.Errorf("metrics for %s: %v %v", who, got, err)
		}
	}
	if got, body, err := rpc.Get(t.Context(), g.tcp, "/readyz", d.client("eye")); err != nil || got != http.StatusOK || string(body) != `{"status":"ok"}`+"\n" {
		t.Errorf("whether it is ready: %v %q %v", got, body, err)
	}
	for who, status := range map[string]int{"auditor": http.StatusServiceUnavailable, "eye": http.StatusOK} { // who may not see what is not well, cannot ask for one check
		if got, _, err := rpc.Get(t.Context(), g.tcp, "/readyz?check=disk", d.client(access.Identity(who))); err != nil || got != status {
			t.Errorf("one check for %s: %v %v", who, got, err)
		}
	}
	if _, body, err := rpc.Get(t.Context(), g.tcp, "/readyz", d.client("auditor")); err != nil || string(body) != "M/S is fine" {
		t.Errorf("how it is, for who may read everything: %q %v", body, err)
	}

	pulled := make(chan string, 10)
	ended := make(chan error, 1)
	holder := client("holder")
	go func() {
		ended <- pull.NewClient(holder).Pull(t.Context(), contract.Request{Holder: "h", Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}, func(b *contract.Batch) error {
			for _, it := range b.Items {
				pulled <- it.Entity.String()
			}
			return nil
		})
	}()
	got := []string{testkit.Receive(t, pulled)}
	commit(t, g.Server, "M/T/p/f")
	commit(t, g.Server, "M/S/p/f")
	got = append(got, testkit.Receive(t, pulled))
	if !slices.Equal(got, []string{"M/S/p/e", "M/S/p/f"}) {
		t.Errorf("pulled: %v", got)
	}
	g.set(t, rules+"\nrevoked: [{identity: holder}]")
	testkit.Receive(t, ended) // with a reason, or its connection without one
	again := func() error {
		return pull.NewClient(holder).Pull(t.Context(), contract.Request{Holder: "h", Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}, func(*contract.Batch) error { return nil })
	}
	err = again()
	if engram.CodeOf(err) == engram.Unavailable { // over the connection that was just being cut
		err = again()
	}
	want("another pull of who is revoked", err, engram.Forbidden)
}

// Every procedure, asked with an empty message by an identity without rights, answers
// without a defect, and names nothing of what is there. In a bubble of its own time it has
// answered, or waits, before it is given up.
func TestEveryProcedureBehindRules(t *testing.T) {
	synctest.Test(t, everyProcedureBehindRules)
}

func everyProcedureBehindRules(t *testing.T) {
	rules := access.New(access.Options{})
	defer rules.Close()
	guarded{rules: rules}.set(t, "rules: [{allow: read, to: eye, on: '*'}]")
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir(), Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(server.Config{Store: store, Log: testkit.Quiet, Memories: []server.Memory{
		{Name: "Hidden", Segments: []engram.CoreSegment{{ID: engram.MustID("Hidden/S")}}}, memories.RobotState(), memories.Knowledge(), memories.World()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	commit(t, s, "Hidden/S/p/e")
	names := mns.NewLocal()
	defer names.Close()
	if _, err := names.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Hidden"}, Addresses: []string{"unix:/Hidden"}}); err != nil {
		t.Fatal(err)
	}
	h := rpc.NewHandler(feature.Guard(s, rules), mns.Guard(names, rules), rpc.Options{Log: testkit.Quiet})
	asked, waited := 0, 0
	protoregistry.GlobalFiles.RangeFilesByPackage("engram.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for k := range s.Methods().Len() {
				m := s.Methods().Get(k)
				asked++
				ctx, cancel := context.WithTimeout(access.WithIdentity(t.Context(), "nobody"), 100*time.Millisecond)
				body, kind := "{}", "application/json"
				if m.IsStreamingClient() || m.IsStreamingServer() {
					body, kind = "\x00\x00\x00\x00\x02{}", "application/connect+json"
				}
				r := httptest.NewRequestWithContext(ctx, "POST", "/"+string(s.FullName())+"/"+string(m.Name()), strings.NewReader(body))
				r.ProtoMajor, r.ProtoMinor = 2, 0
				r.Header.Set("Content-Type", kind)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if ctx.Err() != nil {
					waited++
				}
				cancel()
				if answer := w.Body.String(); strings.Contains(answer, "defect") || strings.Contains(answer, "Hidden") || w.Code == http.StatusNotFound && answer == "404 page not found\n" {
					t.Errorf("%s: %d %q", m.FullName(), w.Code, answer)
				}
			}
		}
		return true
	})
	if asked < 50 || waited > asked/4 {
		t.Errorf("%d procedures were asked, %d of which did not answer", asked, waited)
	}
}
