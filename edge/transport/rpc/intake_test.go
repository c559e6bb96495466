package rpc_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/attack"
	"github.com/seed-301d4374/engram/internal/intake"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// What nobody may write who calls is not read.
func TestWhoCallsIsLookedAtFirst(t *testing.T) {
	policy, err := access.Parse([]byte("rules:\n  - allow: read\n    to: reader\n    on: '*'\n  - allow: write\n    to: writer\n    on: Test\n"))
	if err != nil {
		t.Fatal(err)
	}
	rules := access.New(access.Options{Log: testkit.Quiet})
	if err := rules.Set(policy); err != nil {
		t.Fatal(err)
	}
	s := serving.New(t, testMemory(server.Hooks{}))
	h := rpc.NewHandler(feature.Guard(s, rules), nil, rpc.Options{Log: testkit.Quiet, Secure: secure.Options{Access: rules}})
	call := func(id access.Identity, procedure string, body io.Reader) int {
		r := httptest.NewRequestWithContext(access.WithIdentity(t.Context(), id), http.MethodPost, procedure, body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	for _, tt := range []struct {
		id        access.Identity
		procedure string
	}{
		{"reader", "/engram.v1.MemoryService/Commit"},
		{"nobody", "/engram.v1.MemoryService/Commit"},
		{"nobody", "/engram.v1.MemoryService/AddType"},
	} {
		if status := call(tt.id, tt.procedure, unread{t}); status != http.StatusForbidden {
			t.Errorf("%s calls %s: %d", tt.id, tt.procedure, status)
		}
	}
	if status := call("writer", "/engram.v1.MemoryService/Commit", strings.NewReader("{}")); status != http.StatusOK {
		t.Errorf("who may write: %d", status)
	}
	if status := call("nobody", "/engram.v1.MemoryService/Query", strings.NewReader(`{"pattern":""}`)); status != http.StatusOK {
		t.Errorf("a query of who may read nothing: %d; it finds nothing", status)
	}
}

// Every amplification is refused before anything is built, and what was taken is given
// back: nothing is left of it when it is over.
func TestAmplificationsAreRefused(t *testing.T) {
	testkit.Long(t)
	budget := intake.NewBudget(64<<20, 0)
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{Decoding: budget, MaxMessage: 8 << 20, MaxRequest: 256 << 10}, serving.AnyPort)
	one, two := new(http.Protocols), new(http.Protocols)
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	clients := map[bool]*http.Client{false: {Transport: &http.Transport{Protocols: one}}, true: {Transport: &http.Transport{Protocols: two}}}
	defer clients[false].CloseIdleConnections()
	defer clients[true].CloseIdleConnections()
	for _, r := range attack.Amplifications() {
		if !strings.HasPrefix(r.Path, "/engram.v1.MemoryService/") || r.Parallel > 1 {
			continue
		}
		status, answer, err := r.Send(t.Context(), clients[r.Header.Get("Te") != ""], at.Address)
		if err != nil || status == http.StatusOK && !strings.Contains(answer, "decode") && !strings.Contains(answer, "at most") {
			t.Errorf("%s: %d %.200s %v; want it refused", r.Name, status, answer, err)
		}
	}
	at.Stop()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are still counted when all is over", n)
	}
}

// A GET is answered for what is cheap, without compression and with small messages.
func TestGET(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	testkit.Commit(t, s, update(t, "e", 1, "x"))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort)
	latest, err := proto.Marshal(&engramv1.LatestRequest{Entity: "Test/Any/p/e"})
	if err != nil {
		t.Fatal(err)
	}
	binary := url.Values{"encoding": {"proto"}, "base64": {"1"}, "message": {base64.RawURLEncoding.EncodeToString(latest)}}
	packed := url.Values{"encoding": {"proto"}, "base64": {"1"}, "compression": {"gzip"}, "message": {base64.RawURLEncoding.EncodeToString(attack.Gzip(latest))}}
	json := func(m string) url.Values { return url.Values{"encoding": {"json"}, "message": {m}} }
	for _, tt := range []struct {
		procedure string
		query     url.Values
		status    int
	}{
		{"Info", json("{}"), 200},
		{"Latest", json(`{"entity":"Test/Any/p/e"}`), 200},
		{"Latest", binary, 200},
		{"Latest", packed, 501},
		{"Latest", json(`{"entity":"` + strings.Repeat("x", 20_000) + `"}`), 429},
		{"Latest", url.Values{"encoding": {"proto"}, "base64": {"1"}, "message": {"?!"}}, 400},
		{"Query", json(`{"pattern":""}`), 405},
		{"Stats", json(`{"pattern":""}`), 405},
		{"Commit", json(`{}`), 405},
	} {
		res, err := http.Get(at.Address + "/engram.v1.MemoryService/" + tt.procedure + "?" + tt.query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != tt.status {
			t.Errorf("%s %.80s: %d %.200s %v; want %d", tt.procedure, tt.query.Encode(), res.StatusCode, body, err, tt.status)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Messages come whole through every protocol, compressed or not, of every size.
func TestMessagesComeWhole(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	at := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort)
	for i, size := range []int{0, 1, 100, 16<<10 - 100, 16 << 10, 20_000, 64 << 10, 1 << 20, 9 << 20} {
		u := update(t, "e", engram.Time(i+1), strings.Repeat("x", size))
		now := int64(u.Time)
		m, err := proto.Marshal(&engramv1.CommitRequest{Updates: []*engramv1.EntityUpdate{{Entity: u.Entity.String(), Time: &now,
			Instances: []*engramv1.Instance{{Payload: &engramv1.Payload{Type: u.Instances[0].Payload.Type, Data: u.Instances[0].Payload.Bytes}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for name, body := range map[string]io.Reader{"known": bytes.NewReader(m), "unknown": io.MultiReader(bytes.NewReader(m)), "gzip": bytes.NewReader(attack.Gzip(m))} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.Address+"/engram.v1.MemoryService/Commit", body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/proto")
			if name == "gzip" {
				r.Header.Set("Content-Encoding", "gzip")
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(res.Body)
			if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%d bytes, %s: %d %s %v", size, name, res.StatusCode, answer, err)
			}
			got, err := s.Latest(context.Background(), u.Entity)
			if err != nil || got.Time != u.Time || !bytes.Equal(got.Instances[0].Payload.Bytes, u.Instances[0].Payload.Bytes) {
				t.Fatalf("%d bytes, %s: %v", size, name, err)
			}
		}
		for _, o := range []rpc.DialOptions{{}, {GRPC: true}} {
			c := serving.Dial(t, at.Address, o)
			testkit.Commit(t, c, u)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
