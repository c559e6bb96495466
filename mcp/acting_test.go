package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mcp"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/skill"
)

// What is allowed is done, and nothing else.
func TestActing(t *testing.T) {
	address, m := robot(t)
	p := skill.NewProvider(m, "Arm")
	began := make(chan string, 1)
	skill.Handle(p, skill.Spec{Name: "Wave"}, func(c *skill.Call, in struct{ Times int64 }) (struct{ Waved int64 }, error) {
		began <- "waving"
		if in.Times == 0 {
			<-c.Done() // until it is stopped
			return struct{ Waved int64 }{}, c.Err()
		}
		return struct{ Waved int64 }{in.Times}, nil
	})
	skill.Handle(p, skill.Spec{Name: "Drop"}, func(*skill.Call, struct{}) (struct{}, error) { return struct{}{}, nil })
	serving.Until(t, p.Run)
	testkit.Until(t, func() (string, bool) {
		offers, err := skill.Offers(t.Context(), m, "")
		return fmt.Sprint(err), slices.ContainsFunc(offers, func(o *skill.Offer) bool { return o.ID.Entity() == "Wave" && o.State(engram.Now()) == "in service" })
	})
	a := newAgent(t, address, mcp.Options{Skills: []string{"Wave"}, Commit: []engram.Pattern{engram.MustPattern("GeneralPurpose/Notes/agent"), engram.MustPattern("Skill")}})

	var ran struct{ Execution string }
	type statuses struct {
		Executions []struct {
			Status string
			Ended  bool
			Result map[string]any
		}
	}
	a.call("skill_run", args{"skill": "Wave", "parameters": args{"times": 3}}, &ran)
	testkit.Receive(t, began)
	var done statuses
	a.call("skill_status", args{"execution": ran.Execution, "wait_seconds": 50}, &done)
	if e := done.Executions[0]; e.Status != "Succeeded" || !e.Ended || fmt.Sprint(e.Result["waved"]) != "3" {
		t.Errorf("%+v", done)
	}
	a.call("skill_run", args{"skill": "Arm/Wave", "parameters": args{"times": 0}}, &ran)
	testkit.Receive(t, began)
	var stopped struct {
		Still bool
		Now   struct{ Status string }
	}
	if a.call("skill_abort", args{"execution": ran.Execution, "reason": "enough"}, &stopped); !stopped.Still || stopped.Now.Status != "Aborted" {
		t.Errorf("%+v", stopped)
	}
	a.refused("skill_run", args{"skill": "Drop"}, "lets you run only Wave")
	a.refused("skill_run", args{"skill": "Wave", "parameters": args{"speed": 3}}, "speed")
	a.refused("skill_status", args{"execution": "Skill"}, "no execution's ID")

	var wrote struct{ ID string }
	note := args{"id": "GeneralPurpose/Notes/agent/today", "data": args{"text": "the cup is on the table"}}
	a.refused("commit", note, "give create")
	note["create"] = true
	a.call("commit", note, &wrote)
	var out snapshots
	if a.call("get", args{"id": wrote.ID}, &out); !strings.Contains(fmt.Sprint(out), "the cup is on the table") {
		t.Errorf("%+v", out)
	}
	a.refused("commit", args{"id": "Speech/Text/agent/x", "data": args{"text": "hi"}}, "lets you write only GeneralPurpose/Notes/agent")
	a.refused("commit", args{"id": "Skill/Request/agent/x", "data": args{}}, "use skill_run")
}

// A server for agents begins before the memory, and says that it is not there.
func TestBeforeTheMemory(t *testing.T) {
	address := serving.Socket(t)
	a := newAgent(t, address, mcp.Options{})
	a.refused("list", nil, "What to do", "engram serve")
	n, err := node.New(t.Context(), node.Config{Memories: memories.All(), Listen: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, n.Serve)
	var out struct{ Notes []string }
	a.call("list", args{"id": "Object"}, &out)
}

// Over HTTP the token is asked for, and web pages are refused.
func TestOverHTTP(t *testing.T) {
	address, _ := robot(t)
	s := mcp.New(mcp.Options{Connect: func(ctx context.Context) (*client.Client, error) {
		return client.Connect(ctx, client.Options{Address: address})
	}})
	t.Cleanup(func() { s.Close() })
	srv := httptest.NewServer(s.Handler("the token"))
	t.Cleanup(srv.Close)
	a := session(t, &sdk.StreamableClientTransport{Endpoint: srv.URL + mcp.Path, HTTPClient: &http.Client{Transport: bearer("the token")}, DisableStandaloneSSE: true})
	var out snapshots
	if a.call("get", args{"id": cup}, &out); len(out.Snapshots) != 1 {
		t.Errorf("%+v", out)
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	for name, c := range map[string]struct {
		host, header, value string
		status              int
	}{
		"with the token":     {"", "Accept", "application/json, text/event-stream", http.StatusOK},
		"without a token":    {"", "Authorization", "", http.StatusUnauthorized},
		"with another token": {"", "Authorization", "Bearer another", http.StatusUnauthorized},
		"a page's name":      {"evil.example", "X", "", http.StatusForbidden},
		"a page":             {"", "Origin", "https://evil.example", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+mcp.Path, strings.NewReader(initialize))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer the token")
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(c.header, c.value)
			if req.Host = req.URL.Host; c.host != "" {
				req.Host = c.host
			}
			r, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if r.Body.Close(); r.StatusCode != c.status {
				t.Errorf("status %d, not %d", r.StatusCode, c.status)
			}
		})
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
