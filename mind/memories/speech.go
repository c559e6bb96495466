package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Speech is what was said, and what was understood by it. An entity is a source of
// speech: a microphone, a speaker, a topic; one of Answer is who asked.
func Speech() server.Memory {
	const name = "Speech"
	hours := engram.Bounds{MaxCount: 10_000, MaxAge: 12 * time.Hour, MaxBytes: 8 * mib}
	return server.Memory{
		Name:  name,
		Doc:   "utterances and the commands understood from them",
		Types: typesIn("speech"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Answer", "engram.speech.Answer", hours)),
			logged(segment(name, "Command", "engram.speech.Command", hours)),
			logged(segment(name, "Text", "engram.speech.Text", hours)),
		},
		Bounds: engram.Bounds{MaxBytes: 16 * mib, MaxCount: 50_000},
	}
}
