package follow_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/follow"
)

func TestMarksAreReadAsTheyAreWritten(t *testing.T) {
	for _, m := range []follow.Mark{{}, {Epoch: 1, Number: 2}, {Epoch: 1<<64 - 1, Number: 1<<64 - 1}} {
		if got, err := follow.ParseMark(m.String()); got != m || err != nil {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	for _, text := range []string{"", ":", "12", "x:1", "1:x", "1:2:3", "-1:2", "1:-2", " 1:2", "10000000000000000:1"} {
		if got, err := follow.ParseMark(text); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
}
