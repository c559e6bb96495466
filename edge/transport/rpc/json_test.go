package rpc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// ask calls a procedure with JSON and returns the answer.
func ask(t *testing.T, address, procedure, body string) map[string]any {
	t.Helper()
	res, err := http.Post(address+"/engram.v1.MemoryService/"+procedure, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s answered %s: %v", procedure, text, err)
	}
	return v
}

// at returns what lies at a path of keys and indices, nil if there is nothing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func TestJSONIsEncodedByTheSegmentsType(t *testing.T) {
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"cup.proto": {Data: []byte(`
		syntax = "proto3"; package test;
		message Cup { string colour = 1; int64 weight = 2; double fill = 3; bytes raw = 4; }
		message Other { string name = 1; }`)}}}, "cup.proto")
	if err != nil {
		t.Fatal(err)
	}
	m := testMemory(server.Hooks{})
	m.Types = defs
	m.Segments = append(m.Segments, engram.CoreSegment{ID: engram.MustID("Test/Cups"), Type: "test.Cup"})
	s := serving.New(t, m)
	address := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort).Address
	defer http.DefaultClient.CloseIdleConnections()

	answer := ask(t, address, "Commit", `{"updates": [
		{"entity": "Test/Cups/p/cup", "time": "5", "instances": [{"payload": {"json": {"colour": "blue", "weight": "9007199254740993", "fill": 0.5, "raw": "AAE="}}}]},
		{"entity": "Test/Cups/p/cup", "time": "6", "instances": [{"payload": {"json": {"colour": 7}}}]},
		{"entity": "Test/Cups/p/cup", "time": "7", "instances": [{"payload": {"json": {"nothing": 7}}}]},
		{"entity": "Test/Nowhere/p/cup", "time": "8", "instances": [{"payload": {"json": {}}}]},
		{"entity": "Test/Any/p/cup", "time": "9", "instances": [{"payload": {"type": "test.Other", "json": {"name": "typed"}}}]},
		{"entity": "Test/Cups/p/cup", "time": "10", "instances": [{"payload": {"json": {}, "data": "AAE="}}]},
		{"entity": "not an entity", "instances": [{"payload": {"json": {}}}]},
		{"entity": "Test/Any/p/plain", "time": "11", "instances": [{"payload": {"json": [1, "two", null, {"three": 3.5}]}, "confidence": 0.25}]}
	]}`)
	for i, want := range []any{nil, "type mismatch", "type mismatch", "not found", nil, "invalid", "invalid", nil} {
		if got := at(answer, "results", i, "error", "code"); got != want {
			t.Errorf("update %d: error code %v; want %v (%v)", i, got, want, at(answer, "results", i))
		}
	}
	snap, err := s.Latest(t.Context(), engram.MustID("Test/Cups/p/cup"))
	if err != nil {
		t.Fatal(err)
	}
	cup, err := idf.ParseType(defs[0])
	if err != nil {
		t.Fatal(err)
	}
	v, err := cup.Decode(snap.Instances[0].Payload.Bytes)
	if err != nil || at(v, "colour") != "blue" || at(v, "weight") != int64(9007199254740993) || at(v, "fill") != 0.5 {
		t.Errorf("stored %v, %v", v, err)
	}

	latest := ask(t, address, "Latest", `{"entity": "Test/Cups/p/cup", "json": true}`)
	payload := at(latest, "snapshot", "instances", 0, "payload")
	if at(payload, "type") != "test.Cup" || at(payload, "json", "weight") != "9007199254740993" || at(payload, "json", "raw") != "AAE=" || at(payload, "data") != nil {
		t.Errorf("latest shows %v", payload)
	}
	query := ask(t, address, "Query", `{"pattern": "Test/Any/p/plain", "json": true}`)
	instance := at(query, "memories", 0, "children", 0, "children", 0, "children", 0, "snapshots", 0, "instances", 0)
	if at(instance, "payload", "json", 1) != "two" || at(instance, "payload", "json", 3, "three") != 3.5 || at(instance, "confidence") != 0.25 {
		t.Errorf("the query shows %v", instance)
	}
	bare := ask(t, address, "Query", `{"pattern": "Test/Cups", "json": true, "withoutPayload": true}`)
	instance = at(bare, "memories", 0, "children", 0, "children", 0, "children", 0, "snapshots", 0, "instances", 0)
	if instance == nil || at(instance, "payload", "json") != nil {
		t.Errorf("a query without payloads shows %v", bare)
	}
}

// FuzzRequest sends arbitrary bodies to the procedures: each gets an answer, and
// the server lives on.
func FuzzRequest(f *testing.F) {
	procedures := []string{"Commit", "Query", "Latest", "Predict", "Describe", "AddSegment", "RemoveSegment", "AddType", "GetType", "Stats"}
	for _, body := range []string{
		`{"pattern": "Test/~a.*/\\*x", "snapshots": [{"latest": 2}, {"range": {}}, {"nearest": {"time": "1"}}, {"indices": {"first": "-1"}}], "asOf": "1", "where": "confidence > 0.5", "fields": ["a.b"], "json": true}`,
		`{"memories": [{"names": {"regex": "a|b"}, "children": [{"names": {"names": {"names": ["x"]}}}]}]}`,
		`{"updates": [{"entity": "Test/Any/p/e", "time": "1", "instances": [{"payload": {"json": {"a": [1, null]}}, "sent": "3"}]}]}`,
		`{"entity": "Test/Any/p/e", "atOrBefore": "9", "json": true}`,
		`{"ids": ["Test/Any/p/e/1970-01-01 00:00:00.000000001"]}`,
		`{"segment": {"id": "Test/New", "type": "foxglove.Pose", "history": {"maxCount": "-1"}}}`,
		`{"selector": {"levels": [{"name": "Test"}, {}]}, "depth": "LEVEL_ENTITY"}`,
		`{"type": {"name": "a.B", "descriptors": "CgA="}}`, `{"id": "Test/Any"}`, `{"name": "foxglove.Pose"}`,
		"\x0a\x02\x08\x01", "\xff", "",
	} {
		for i := range procedures {
			f.Add(uint8(i), false, []byte(body))
		}
		f.Add(uint8(0), true, []byte(body))
	}
	s, err := server.New(server.Config{Memories: []server.Memory{testMemory(server.Hooks{})}, Log: testkit.Quiet})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	h := rpc.NewHandler(s, nil, rpc.Options{Log: testkit.Quiet})
	f.Fuzz(func(t *testing.T, procedure uint8, binary bool, body []byte) {
		contentType := "application/json"
		if binary {
			contentType = "application/proto"
		}
		r := httptest.NewRequest(http.MethodPost, "/engram.v1.MemoryService/"+procedures[int(procedure)%len(procedures)], bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError && strings.Contains(w.Body.String(), "defect") {
			t.Errorf("%s", w.Body)
		}
	})
}

// A member that a message does not have is refused: a mistyped filter must not
// answer as if there were none.
func TestUnknownJSONMembersAreRefused(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	address := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort).Address
	defer http.DefaultClient.CloseIdleConnections()
	answer := ask(t, address, "Query", `{"pattern": "Test", "wehre": "false"}`)
	message, _ := at(answer, "message").(string)
	if at(answer, "code") != "invalid_argument" || !strings.Contains(message, "wehre") {
		t.Errorf("answered %v", answer)
	}
	if answer := ask(t, address, "Info", `{}`); at(answer, "memories", 0) != "Test" {
		t.Errorf("an empty request is answered %v", answer)
	}
}

// Integers in JSON are kept as they are written, in any data and in members that can hold them.
func TestJSONIntegersAreNotRounded(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	address := serving.Serve(t, s, nil, rpc.Options{}, serving.AnyPort).Address
	defer http.DefaultClient.CloseIdleConnections()
	for i, text := range []string{
		"9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551614",
	} {
		body := `{"updates": [{"entity": "Test/Any/p/n", "time": "` + strconv.Itoa(i+1) + `", "instances": [{"payload": {"json": {"a": [` + text + `, "` + text + `", 1.5], "b` + text + `": ` + text + `, "c": 6.0}}}]}]}`
		if failed := at(ask(t, address, "Commit", body), "results", 0, "error"); failed != nil {
			t.Fatal(text, failed)
		}
		answer := ask(t, address, "Latest", `{"entity": "Test/Any/p/n", "json": true}`)
		got, err := json.Marshal(at(answer, "snapshot", "instances", 0, "payload", "json"))
		tag := "$int64"
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			tag = "$uint64"
		}
		want := `{"a":[{"` + tag + `":"` + text + `"},"` + text + `",1.5],"b` + text + `":{"` + tag + `":"` + text + `"},"c":6}`
		if err != nil || string(got) != want {
			t.Errorf("%s came back as %s, want %s", text, got, want)
		}
		snap, err := s.Latest(t.Context(), engram.MustID("Test/Any/p/n"))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := idf.DecodeValue(snap.Instances[0].Payload.Bytes); err != nil || at(v, "c") != 6.0 {
			t.Errorf("6.0 became %T %v, %v", at(v, "c"), at(v, "c"), err)
		}
	}
	body := `{"updates": [{"entity": "Test/Any/p/n", "time": "100", "instances": [{"payload": {"json": 18446744073709551617}}]}]}`
	if failed := at(ask(t, address, "Commit", body), "results", 0, "error", "code"); failed == nil {
		t.Error("an integer beyond 64 bits is taken")
	}
}
