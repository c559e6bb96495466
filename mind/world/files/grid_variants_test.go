package files_test

import (
	"slices"
	"strings"
	"testing"
)

// What ROS 1's and ROS 2's map_server read of a YAML file is read, however it is written.
func TestGridYAMLOfROS(t *testing.T) {
	const img = "P5 2 2 255\n\x00\xfe\xcd\x80"
	change := func(a, b string) string {
		if !strings.Contains(gridYAML, a) {
			panic(a)
		}
		return strings.Replace(gridYAML, a, b, 1)
	}
	plain := []int8{-1, -1, 100, 0}
	for name, c := range map[string]struct {
		yaml  string
		cells []int8
	}{
		"quoted image":          {change("a.pgm", `"a.pgm"`), plain},
		"image in single":       {change("a.pgm", `'a.pgm'`), plain},
		"beside":                {change("a.pgm", "./a.pgm"), plain},
		"absolute and quoted":   {change("a.pgm", `"/a.pgm"`), plain},
		"quoted numbers":        {"image: a.pgm\nresolution: \"0.5\"\norigin: [\"1\", '2', \"1.5707963267948966\"]\nnegate: \"0\"\noccupied_thresh: '0.65'\nfree_thresh: \"0.196\"\n", plain},
		"a list in lines":       {change("[1, 2, 1.5707963267948966]", "\n  - 1\n  - 2.0\n  - 1.5707963267948966"), plain},
		"a list at the margin":  {change("[1, 2, 1.5707963267948966]", "\n- 1\n- 2\n- 1.5707963267948966"), plain},
		"exponents":             {strings.Replace(change("0.5", "5e-1"), "[1, 2,", "[1e0, +2.0,", 1), plain},
		"short numbers":         {strings.Replace(change("0.5", ".5"), "[1, 2,", "[1., 2.,", 1), plain},
		"lines end as Windows'": {strings.ReplaceAll(gridYAML, "\n", "\r\n"), plain},
		"a byte order mark":     {"\ufeff" + gridYAML, plain},
		"a document":            {"---\n" + gridYAML + "...\n", plain},
		"a directive":           {"%YAML 1.1\n---\n" + gridYAML, plain},
		"two directives":        {"%YAML 1.2\n%TAG ! tag:example.com,2000:\n---\n" + gridYAML, plain},
		"comments":              {"# a map\n" + change("0.5", "0.5 # metres"), plain},
		"no thresholds":         {change("negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n", ""), plain},
		"trinary":               {gridYAML + "mode: trinary\n", plain},
		"Trinary":               {gridYAML + "mode: Trinary\n", plain},
		"scale":                 {gridYAML + "mode: \"scale\"\n", []int8{0, 66, 100, 0}},
		"SCALE":                 {gridYAML + "mode: SCALE\n", []int8{0, 66, 100, 0}},
		"raw":                   {gridYAML + "mode: raw\n", []int8{-1, -1, 0, -1}},
		"Raw":                   {gridYAML + "mode: Raw\n", []int8{-1, -1, 0, -1}},
		"no mode":               {gridYAML + "mode:\n", plain},
		"negated":               {change("negate: 0", "negate: true"), []int8{100, -1, 0, 100}},
		"False":                 {change("negate: 0", "negate: False"), plain},
		"quoted true":           {change("negate: 0", `negate: "true"`), []int8{100, -1, 0, 100}},
		"0.0":                   {change("negate: 0", "negate: 0.0"), plain},
		"free by ROS 2":         {change("0.196", "0.25"), []int8{0, -1, 100, 0}},
		"unknown members":       {gridYAML + "map_type: occupancy\ncost_translation: {a: 1}\n", plain},
		"in braces":             {"{image: a.pgm, resolution: 0.5, origin: [1, 2, 1.5707963267948966], negate: 0, occupied_thresh: 0.65, free_thresh: 0.196}\n", plain},
		"as JSON":               {`{"image": "a.pgm", "resolution": 0.5, "origin": [1, 2, 1.5707963267948966], "negate": 0, "occupied_thresh": 0.65, "free_thresh": 0.196}`, plain},
	} {
		g, err := grid(c.yaml, img)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if cells := g.Cells(); !slices.Equal(cells, c.cells) || g.Resolution != 0.5 || g.Origin != [3]float64{1, 2, 1.5707963267948966} {
			t.Errorf("%s: %d, %+v", name, cells, g)
		}
		if (len(g.Notes) > 0) != (name == "unknown members") {
			t.Errorf("%s: %q", name, g.Notes)
		}
		again, err := grid(string(g.YAML("a.pgm")), img)
		if err != nil || !slices.Equal(again.Cells(), c.cells) {
			t.Errorf("%s: written and read again: %v", name, err)
		}
	}
}
