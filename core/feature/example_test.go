package feature_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// A memory brings a call of its own: a procedure of the API, who may make it, and a
// function. Each client of a server can make it.
func Example() {
	tree := func(_ context.Context, r *engramv1.TreeRequest) (*engramv1.TreeResponse, error) {
		return &engramv1.TreeResponse{Edges: []*engramv1.PoseEdge{{Parent: "map", Child: "base"}}}, nil
	}
	reading := feature.Needs(access.Need{Actions: access.Read, On: engram.MustID("Map")})
	s, err := server.New(server.Config{Memories: []server.Memory{{
		Name:     "Map",
		Features: []feature.Feature{feature.New("engram.v1.PoseService", feature.Unary("Tree", reading, tree))},
	}}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "feature")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(ctx, rpc.NewHandler(s, nil, rpc.Options{}), l) }()
	defer func() { cancel(); <-served }()

	c, err := rpc.Dial(ctx, rpc.AddressOf(l), rpc.DialOptions{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	var answer engramv1.TreeResponse
	err = c.Call(ctx, "/engram.v1.PoseService/Tree", &engramv1.TreeRequest{}, &answer)
	fmt.Println(answer.GetEdges()[0].GetParent(), err)
	err = c.Call(ctx, "/engram.v1.PoseService/Path", &engramv1.PathRequest{}, &engramv1.PathResponse{})
	fmt.Println(engram.CodeOf(err))
	// Output:
	// map <nil>
	// unsupported
}
