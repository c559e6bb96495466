package files

import (
	"slices"
	"testing"
)

// TestTrinary has the thresholds say what is free, whatever the mode.
func TestTrinary(t *testing.T) {
	const head = "image: a.pgm\nresolution: 1\norigin: [0, 0, 0]\noccupied_thresh: 0.65\nfree_thresh: 0.25\n"
	for _, c := range []struct {
		yaml string
		img  string
		want []int8
	}{
		{head, "P2 4 1 255\n254 205 192 0\n", []int8{0, 0, 0, 100}},
		{head, "P2 4 1 255\n191 100 90 89\n", []int8{-1, -1, -1, 100}},
		{head + "negate: 1\n", "P2 3 1 255\n0 100 255\n", []int8{0, -1, 100}},
		{head + "mode: scale\n", "P2 3 1 255\n254 190 0\n", []int8{0, -1, 100}},
		{head + "mode: raw\n", "P2 5 1 255\n0 24 50 100 255\n", []int8{0, 0, -1, 100, -1}},
		{head, "P2 1 2 255\n0\n254\n", []int8{0, 100}},
	} {
		g, err := ReadGrid([]byte(c.yaml), "a.yaml", func(string) ([]byte, error) { return []byte(c.img), nil })
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Trinary(); !slices.Equal(got, c.want) {
			t.Errorf("%s%s: %v, not %v", c.yaml, c.img, got, c.want)
		}
	}
}
