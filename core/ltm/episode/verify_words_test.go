package episode

import (
	"testing"

	"github.com/foxglove/mcap/go/mcap"
)

// What a file counts wrongly of itself is told in words, in a fixed order.
func TestDifferencesInWords(t *testing.T) {
	told := &mcap.Statistics{MessageCount: 5, SchemaCount: 2, ChannelMessageCounts: map[uint16]uint64{3: 1, 1: 4, 2: 2}}
	counted := &mcap.Statistics{MessageCount: 7, SchemaCount: 2, ChannelMessageCounts: map[uint16]uint64{3: 1, 1: 5, 4: 1}}
	want := "it tells of 5 messages and has 7, it tells of 4 messages of the channel 1 and has 5, " +
		"it tells of 2 messages of the channel 2 and has 0, it tells of 0 messages of the channel 4 and has 1"
	for range 20 {
		if got := differences(told, counted); got != want {
			t.Fatalf("%q; want %q", got, want)
		}
	}
}
