package memories

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
)

// What is audited, also before there is a memory, is in SystemState/Audit, each event
// by itself; however much comes, nobody waits.
func TestAuditIsKept(t *testing.T) {
	srv, err := server.New(server.Config{Memories: []server.Memory{SystemState()}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	a := NewAudit(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a.Audit(access.Event{Kind: access.EventDenied, Identity: "arm", Action: access.Write, Thing: "Object/Instance/arm/cup", Count: 3})
	a.Audit(access.Event{Kind: access.EventRefused, From: "tcp:10.0.0.9:4711", Text: "no certificate"})
	for range auditQueue { // more than can wait
		a.Audit(access.Event{Kind: access.EventSignIn, Identity: "flood"})
	}
	if lost := a.lost.Load(); lost != 2 {
		t.Errorf("%d events are counted as lost, want 2", lost)
	}
	a.Begin(srv, true)
	a.Close()
	r, err := srv.Query(t.Context(), engram.MustPattern("SystemState/Audit").Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := Type("engram.system_state.Audit")
	counts := map[string]int{}
	for it := range r.All() {
		entity := it.ID.Entity()
		if counts[entity]++; entity == "flood" {
			continue
		}
		j, err := typ.JSON(it.Instances[0].Payload.Bytes, idf.JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"arm":     `"kind":"denied","identity":"arm","action":"write","thing":"Object/Instance/arm/cup","count":"3"`,
			"unknown": `"kind":"refused","from":"tcp:10.0.0.9:4711","text":"no certificate","count":"1"`,
		}[entity]
		if !strings.Contains(string(j), want) {
			t.Errorf("%s: %s, want %s", entity, j, want)
		}
	}
	if counts["arm"] != 1 || counts["unknown"] != 1 || counts["flood"] != 2000 {
		t.Errorf("kept: %v", counts)
	}
}

// What the log says of an event is what is known of it.
func TestAuditIsLogged(t *testing.T) {
	var log bytes.Buffer
	a := NewAudit(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	a.Audit(access.Event{Kind: access.EventRules, Action: access.Read, Text: "added: allow read to arm on *"})
	a.Audit(access.Event{Kind: access.EventDenied, Identity: "arm", Action: access.Write, Thing: "Object/Instance/arm/cup", Count: 3})
	a.Begin(nil, false)
	a.Close()
	want := `level=INFO msg=access kind=rules action=read text="added: allow read to arm on *"
level=INFO msg=access kind=denied identity=arm action=write thing=Object/Instance/arm/cup count=3
`
	if got := log.String(); got != want {
		t.Errorf("the log says\n%swant\n%s", got, want)
	}
}
