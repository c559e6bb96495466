package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/server"
)

// Speech is what was said, and what was understood by it. An entity is a source of
// speech: a microphone, a speaker, a topic. Questions why something was done are answered.
func Speech() server.Memory {
	const name = "Speech"
	answers := &answerer{}
	hours := engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 8 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "utterances, the commands understood from them, and answers to questions",
		Types: typesIn("speech"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Answer", "engram.speech.Answer", hours)),
			logged(segment(name, "Command", "engram.speech.Command", hours)),
			logged(segment(name, "Text", "engram.speech.Text", hours)),
		},
		Bounds: engram.Bounds{MaxBytes: 16 * mib, MaxCount: 50_000},
		Hooks:  server.Hooks{Start: answers.start, Run: answers.run},
	}
}
