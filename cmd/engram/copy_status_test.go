package main

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// What was lost at the owner is not said to have been refused here.
func TestWhatHelps(t *testing.T) {
	for _, reason := range []string{engram.MissingEvicted, engram.MissingForgotten, engram.MissingFiltered, engram.MissingDamaged, contract.LostRefused, "a reason of a newer owner"} {
		if text := whatHelps(reason); text == "" || strings.Contains(text, "this server did not take it") != (reason == contract.LostRefused) {
			t.Errorf("what is %s is explained by %q", reason, text)
		}
	}
}
