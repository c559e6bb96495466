package record_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/memories"
)

func init() { record.Knowledge = memories.Knowledge }

func Example() {
	ctx := context.Background()
	s, err := server.New(server.Config{Memories: []server.Memory{memories.Knowledge()}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	codec, err := record.NewCodec(ctx, s)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{
		`<urn:k:cup> a <urn:k:Cup> ; <urn:k:on> <urn:k:table> .`,
		`<urn:k:cup> a <urn:k:Cup> ; <urn:k:on> <urn:k:shelf> .`,
	} {
		var triples []rdf.Triple
		if _, err := rdf.Read(strings.NewReader(text), rdf.Turtle, rdf.ReadOptions{}, func(q rdf.Quad) error {
			triples = append(triples, q.Triple)
			return nil
		}); err != nil {
			panic(err)
		}
		sum, err := codec.Import(ctx, s, "kitchen", triples, record.Options{Document: record.Document{Source: "kitchen.ttl"}})
		if err != nil {
			panic(err)
		}
		fmt.Println(sum.New, "new,", sum.Changed, "changed,", sum.Same, "same")
	}
	said, _, err := codec.Read(ctx, s, []engram.Pattern{record.Of("urn:k:cup")}, engram.Now(), nil)
	if err != nil {
		panic(err)
	}
	for _, t := range said[0].Triples {
		fmt.Println(said[0].Provider(), "says", t.P.Value, t.O.Value)
	}
	// Output:
	// 2 new, 0 changed, 0 same
	// 0 new, 1 changed, 1 same
	// kitchen says http://www.w3.org/1999/02/22-rdf-syntax-ns#type urn:k:Cup
	// kitchen says urn:k:on urn:k:shelf
}
