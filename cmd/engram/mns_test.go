package main

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// inTurns is a name system that goes and comes: at each turn it tells these events.
type inTurns struct {
	mns.Registry
	turns [][]mns.Event
	turn  int
}

func (n *inTurns) Watch(context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		events := n.turns[n.turn]
		n.turn++
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
		yield(mns.Event{}, engram.Errorf(engram.Unavailable, "", "the name system went away"))
	}
}

// A watch of the names prints what has changed, and nothing again when the name system
// goes and comes.
func TestWatchOfNamesPrintsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(memory, server string, lastKnown engram.Time) mns.Event {
			return mns.Event{Entry: mns.Entry{Memory: memory, Server: server, Addresses: []string{"http://10.0.0.1:1"}, LastKnown: lastKnown}}
		}
		gone := func(memory string) mns.Event { return mns.Event{Entry: mns.Entry{Memory: memory}, Removed: true} }
		synced := mns.Event{Synced: true}
		names := &inTurns{turns: [][]mns.Event{
			{at("A", "s", 0), at("B", "s", 0), gone("B"), at("B", "s", 0), synced, at("C", "s", 0), at("C", "s", 0), gone("C"), gone("C")},
			{at("A", "s", 5), at("B", "s", 5), synced, at("B", "s", 5), at("A", "s", 0), at("B", "other", 5)}, // away
			{at("A", "s", 0), synced, at("D", "s", 0)}, // back
		}}
		var out, noted bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetOut(&out)
		cmd.SetErr(&noted)
		if err := watchNames(t.Context(), cmd, "table", names, 7); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			fields := strings.Fields(line)
			text := fields[0] + fields[1]
			if len(fields) > 4 {
				text += "@" + fields[4]
			}
			lines = append(lines, text)
		}
		if got := strings.Join(lines, " "); got != "+A@s +B@s +C@s -C +B@other -B +D@s" {
			t.Errorf("printed: %s", got)
		}
		if !strings.Contains(noted.String(), "the name system is away; this is what it said") {
			t.Errorf("noted: %s", noted.String())
		}
	})
}
