package main

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// Who asks for more memory than a server gives a question is told whose limit it was.
func TestLimitOfTheServerIsNamed(t *testing.T) {
	took := engram.Errorf(engram.Exhausted, "", "it takes more than 128 MB of memory: it may recurse without end")
	for _, c := range []struct {
		memory string
		err    error
		told   bool
	}{
		{"4000", took, true}, {"0", took, true}, {"128", took, false}, {"", took, false},
		{"4000", engram.Errorf(engram.Exhausted, "", "it takes more than 10 steps"), false}, {"4000", nil, false},
	} {
		cmd := newAsk()
		if c.memory != "" {
			if err := cmd.Flags().Set("max-memory", c.memory); err != nil {
				t.Fatal(err)
			}
		}
		err := (&asking{cmd: cmd}).ofServer(c.err)
		if told := err != nil && strings.Contains(err.Error(), "the server's own limit, which --max-memory "+c.memory+" does not raise"); told != c.told || engram.CodeOf(err) != engram.CodeOf(c.err) {
			t.Errorf("--max-memory %q: %v", c.memory, err)
		}
	}
}
