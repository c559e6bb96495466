package link_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/link"
	"github.com/seed-301d4374/engram/mind/memories"
)

// From the execution of a skill links lead up to what was said, and from there down to the execution.
func ExampleTracer_Trace() {
	ctx := context.Background()
	m, err := server.New(server.Config{Memories: []server.Memory{memories.Speech(), memories.Skill()}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	commit := func(entity string, t engram.Time, typ string, value map[string]any) {
		of, _ := memories.Type(typ)
		b, err := of.Encode(value)
		if err != nil {
			log.Fatal(err)
		}
		u := engram.EntityUpdate{Entity: engram.MustID(entity), Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}}
		if r, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{u}}); err != nil || r[0].Err != nil {
			log.Fatal(err, r[0].Err)
		}
	}
	said := engram.MustID("Speech/Text/Mic/anna").At(1)
	commit("Speech/Text/Mic/anna", 1, "engram.speech.Text", map[string]any{"text": "bring me the cup"})
	commit("Speech/Command/Ear/anna", 2, "engram.speech.Command", map[string]any{"text": "bring me the cup", "source_text": said})
	commit("Skill/Execution/Arm/Bring-1", 3, "engram.skill.Execution", map[string]any{"skill": engram.MustID("Skill/Description/Arm/Bring"), "status": "Running", "cause": engram.MustID("Speech/Command/Ear/anna")})

	tracer := link.New(m, "")
	for _, o := range []link.Options{{Direction: link.Up}, {Direction: link.Down}} {
		root := engram.MustID("Skill/Execution/Arm/Bring-1")
		if o.Direction == link.Down {
			root = said
		}
		trace, err := tracer.Trace(ctx, root, o)
		if err != nil {
			log.Fatal(err)
		}
		for _, n := range trace.Nodes {
			fmt.Println(n.Depth, strings.TrimSpace(n.ID.Truncate(engram.LevelEntity).String()+" "+n.Missing))
		}
	}
	// Output:
	// 0 Skill/Execution/Arm/Bring-1
	// 1 Skill/Description/Arm/Bring not there
	// 1 Speech/Command/Ear/anna
	// 2 Speech/Text/Mic/anna
	// 0 Speech/Text/Mic/anna
	// 1 Speech/Command/Ear/anna
	// 2 Skill/Execution/Arm/Bring-1
}
