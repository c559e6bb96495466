package rpc_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// A client makes the calls of its own services as a feature's too, whichever way came first.
func TestOwnServicesAsFeatures(t *testing.T) {
	s := serving.New(t, testMemory(server.Hooks{}))
	if _, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{update(t, "e", 1, "x")}}); err != nil {
		t.Fatal(err)
	}
	at := serving.Serve(t, s, nil, rpc.Options{Server: "me", Log: testkit.Quiet}, serving.Socket(t))
	c := serving.Dial(t, at.Address, rpc.DialOptions{})
	types := func() {
		t.Helper()
		want, err := s.TypeNames(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.TypeNames(t.Context())
		if err != nil || len(got) != len(want) {
			t.Errorf("types %v, %v; want %v", got, err, want)
		}
		var m engramv1.ListTypesResponse
		err = c.Call(t.Context(), "/engram.v1.MemoryService/ListTypes", &engramv1.ListTypesRequest{}, &m)
		if err != nil || len(m.GetNames()) != len(want) {
			t.Errorf("types %v, %v; want %v", &m, err, want)
		}
	}
	var info engramv1.InfoResponse // Dial has asked for it
	if err := c.Call(t.Context(), "/engram.v1.MemoryService/Info", &engramv1.InfoRequest{}, &info); err != nil || info.GetServer() != "me" {
		t.Errorf("info %v, %v", &info, err)
	}
	var first engramv1.ListTypesResponse
	if err := c.Call(t.Context(), "/engram.v1.MemoryService/ListTypes", &engramv1.ListTypesRequest{}, &first); err != nil {
		t.Error(err)
	}
	types()

	open := func() {
		t.Helper()
		stream, err := c.Open(t.Context(), "/engram.v1.MemoryService/QueryStream", &engramv1.QueryRequest{Pattern: proto.String("Test")})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var m engramv1.QueryResponse
		if err := stream.Receive(&m); err != nil || len(m.GetMemories()) != 1 {
			t.Errorf("part %v, %v", &m, err)
		}
	}
	open()
	parts := 0
	if err := c.QueryParts(t.Context(), engram.MustPattern("Test").Select(engram.All()), func(r *engram.Result) error {
		parts += len(r.Items())
		return nil
	}); err != nil || parts != 1 {
		t.Errorf("%d items, %v", parts, err)
	}
	open()
}
