package examples_test

import "testing"

// The camera driver, the localiser and the memory run as three processes.
func TestLocalisation(t *testing.T) {
	out := run(t, "", build(t, "localisation"), "-images", "2")
	wantLines(t, out, "memory is process", "camera is process", "localiser is process", "asked for Skill/Request/operator/",
		"toolbox  at (1.2", "train    at (1.0", "cereals  at (1.", "tea      at (1.0", "in map", "LocalizeObjects Succeeded")
}
