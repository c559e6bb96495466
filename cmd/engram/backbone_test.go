package main

import "testing"

func TestReachedFrom(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:4222": "other programs on this computer",
		"[::1]:4222":     "other programs on this computer",
		"localhost:4222": "other programs on this computer",
		"10.0.0.1:4222":  "other computers of this robot",
		"0.0.0.0:4222":   "other computers of this robot",
		":4222":          "other computers of this robot",
		"robot1:4222":    "other computers of this robot",
	} {
		if got := reachedFrom(listen); got != want {
			t.Errorf("%s: for %s, not %s", listen, got, want)
		}
	}
}
