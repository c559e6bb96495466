package memories

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
)

// Example is for trying things out: its segment's type has a member of every type
// of the Interpretable Data Format.
func Example() server.Memory {
	const name = "Example"
	return server.Memory{
		Name:  name,
		Doc:   "a segment with every type of data, to try things out",
		Types: typesIn("geometry", "example"),
		Segments: []engram.CoreSegment{
			segment(name, "ExampleData", "engram.example.ExampleData",
				engram.Bounds{MaxCount: 1_000, MaxBytes: 8 * mib}),
		},
		Bounds: engram.Bounds{MaxBytes: 16 * mib, MaxCount: 10_000},
	}
}
