package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/node"
)

// A program runs the whole memory in its own process. Another program, which here is the
// same, finds it at its address.
func Example() {
	dir, err := os.MkdirTemp("", "node")
	check(err)
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(context.Background())
	n, err := node.New(ctx, node.Config{
		Memories: memories.All(),
		Listen:   []string{"unix:" + filepath.Join(dir, "engram.sock")},
	})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()

	m, err := client.Connect(ctx, client.Options{Address: n.Addresses()[0]})
	check(err)
	text, _ := memories.Type("engram.speech.Text")
	payload, err := text.Encode(map[string]any{"text": "bring me the cup"})
	check(err)
	user := engram.MustID("Speech/Text/microphone/user")
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: user, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: text.Name(), Bytes: payload})},
	}}})
	check(err)
	check(engram.FirstError(results))

	latest, err := n.Server().Latest(ctx, user) // inside the process no connection is needed
	check(err)
	said, err := text.Text(latest.Instances[0].Payload.Bytes, idf.TextOptions{})
	check(err)
	fmt.Println(said)
	check(m.Close())

	stop()
	check(<-ended)
	// Output: text: "bring me the cup"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
