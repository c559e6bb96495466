package idf_test

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram/core/idf"
)

// Only elements of a list beside as many names have labels, not those of a list under a key, or of one of another length.
func TestElementLabels(t *testing.T) {
	paths := []string{
		"name[0]", "name[1]", "position[0]", "position[1]", "velocity[0]", `torque["left wrist"][0]`, `torque["left wrist"][1]`,
		`torque["a.b"][0]`, "arm.name[0]", "arm.position[0]", "arm.other", "x[0][0]", "x[0][1]",
	}
	text := map[int]string{0: "shoulder", 1: "elbow", 8: "grip"}
	got := idf.ElementLabels(paths, func(i int) string { return text[i] })
	want := []string{"", "", "shoulder", "elbow", "", "", "", "", "", "grip", "", "", ""}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
