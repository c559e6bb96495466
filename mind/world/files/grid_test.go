package files_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

const gridYAML = "image: a.pgm\nresolution: 0.5\norigin: [1, 2, 1.5707963267948966]\nnegate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n"

// grid reads a grid of which the image is beside the YAML.
func grid(yaml, img string) (*files.Grid, error) {
	return files.ReadGrid([]byte(yaml), "maps/m.yaml", func(path string) ([]byte, error) {
		if path != "maps/a.pgm" && path != "/a.pgm" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(img), nil
	})
}

func TestGridCells(t *testing.T) {
	with := func(more string) string { return gridYAML + more }
	negated := strings.Replace(gridYAML, "negate: 0", "negate: 1", 1)
	for name, c := range map[string]struct {
		yaml, img string
		cells     []int8
	}{
		"binary":       {with(""), "P5 2 2 255\n\x00\xfe\xcd\x80", []int8{-1, -1, 100, 0}},
		"comments":     {with(""), "P5\n# made by me\n2 # wide\n2\n255\n\x00\xfe\xff\x80", []int8{0, -1, 100, 0}},
		"text":         {with("mode: trinary\n"), "P2\n2 2\n255\n0 254\n255 # white\n128\n", []int8{0, -1, 100, 0}},
		"16 bits":      {with(""), "P5 2 1 65535\n\x00\x00\xff\xff", []int8{100, 0}},
		"small":        {with(""), "P2 2 1 1 0 1", []int8{100, 0}},
		"negated":      {negated, "P5 2 1 255\n\x00\xff", []int8{0, 100}},
		"scale":        {with("mode: scale\n"), "P5 3 1 255\n\x00\x80\xff", []int8{100, 66, 0}},
		"raw":          {with("mode: raw\n"), "P5 4 1 255\n\x00\x64\x65\xff", []int8{0, 100, -1, -1}},
		"absolute":     {strings.Replace(gridYAML, "a.pgm", "/a.pgm", 1), "P5 1 1 255\n\x00", []int8{100}},
		"rest ignored": {with(""), "P5 1 1 255\n\x00more", []int8{100}},
		"PNG":          {with(""), picture(color.Gray{0}, color.Gray{255}), []int8{100, 0}},
		"PNG, clear":   {with("mode: scale\n"), picture(color.NRGBA{128, 128, 128, 0}, color.NRGBA{128, 128, 128, 255}), []int8{-1, 66}},
	} {
		g, err := grid(c.yaml, c.img)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := g.Cells(); !slices.Equal(got, c.cells) {
			t.Errorf("%s: %d, not %d", name, got, c.cells)
		}
	}
	g, err := grid(gridYAML, "P5 4 2 255\n\x00\x00\x00\x00\xff\xff\xff\xff")
	if err != nil {
		t.Fatal(err)
	}
	m := g.Map([]string{"kitchen"}, "map")
	// 2 m by 1 m, turned by 90 degrees about its corner.
	if c := m.Extent.Pose.T; c.Sub(pose.Vec3{X: 0.5, Y: 3}).Norm() > 1e-9 || m.Extent.Size != (pose.Vec3{X: 2, Y: 1}) {
		t.Errorf("the extent is %+v", m.Extent)
	}
	if free, occupied, unknown := g.Count(); free != 4 || occupied != 4 || unknown != 0 {
		t.Errorf("%d free, %d occupied, %d unknown", free, occupied, unknown)
	}
}

func picture(colors ...color.Color) string {
	img := image.NewNRGBA(image.Rect(0, 0, len(colors), 1))
	for x, c := range colors {
		img.Set(x, 0, c)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.String()
}

func TestGridsThatDisagree(t *testing.T) {
	const img = "P5 2 2 255\n\x00\xfe\xcd\x80"
	change := func(a, b string) string { return strings.Replace(gridYAML, a, b, 1) }
	for name, c := range map[string]struct{ yaml, img, want string }{
		"no image":           {change("a.pgm", "b.pgm"), img, "maps/m.yaml:1: the image: open maps/b.pgm"},
		"no name":            {change("image: a.pgm\n", ""), img, "it has no image"},
		"outside":            {change("a.pgm", "../a.pgm"), img, "leads out of the folder"},
		"reversed":           {change("0.196", "0.7"), img, "the thresholds are reversed: free_thresh 0.7 is above occupied_thresh 0.65"},
		"threshold":          {change("0.65", "65"), img, "maps/m.yaml:5: map: occupied_thresh is 65"},
		"resolution 0":       {change("0.5", "0"), img, "the resolution is 0 m"},
		"resolution NaN":     {change("0.5", ".nan"), img, "the resolution is NaN m"},
		"resolution text":    {change("0.5", "fine"), img, `resolution is the text "fine"`},
		"origin of two":      {change("[1, 2, 1.5707963267948966]", "[1, 2]"), img, "origin is a list of 2; 3 numbers are expected"},
		"origin NaN":         {change("[1, 2,", "[.nan, 2,"), img, "not finite"},
		"mode":               {gridYAML + "mode: best\n", img, `the mode is the text "best"`},
		"negate":             {change("negate: 0", "negate: 2"), img, "negate is 2"},
		"truncated":          {gridYAML, "P5 2 2 255\n\x00\xfe\xcd", "it is truncated: 2 x 2 pixels take 4 bytes, and there are 3"},
		"truncated text":     {gridYAML, "P2 2 2 255\n1 2 3", "it is truncated: pixel 4 of 4"},
		"no header":          {gridYAML, "P5 2", "its height: the file ends before it"},
		"no picture":         {gridYAML, "GIF89a", "it is no PGM"},
		"empty":              {gridYAML, "", "it is no PGM"},
		"no pixels":          {gridYAML, "P5 0 2 255\n", "0 x 2 pixels"},
		"too many":           {gridYAML, "P5 99999 99999 255\n", "99999 x 99999 pixels"},
		"overflow":           {gridYAML, "P5 99999999999999999999 2 255\n", "is no number"},
		"too light":          {gridYAML, "P2 1 1 10\n11\n", "above its greatest value 10"},
		"greatest of 0":      {gridYAML, "P5 1 1 0\n\x00", "its greatest value is 0"},
		"greatest of 100000": {gridYAML, "P5 1 1 100000\n\x00\x00", "its greatest value is 100000"},
		"broken PNG":         {gridYAML, "\x89PNG\r\n", "the image of the map"},
		"no YAML":            {"a: [", img, "cannot be parsed"},
	} {
		_, err := grid(c.yaml, c.img)
		if err == nil || !strings.Contains(err.Error(), c.want) || engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%s: %v (%v), not %q", name, err, engram.CodeOf(err), c.want)
		}
	}
}

// TestRealMaps goes through a memory and back to files.
func TestRealMaps(t *testing.T) {
	folder := testkit.Shared(t, "maps")
	all, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(all) == 0 {
		t.Fatalf("there are no maps in %s: %v", folder, err)
	}
	m, err := world.Over(t.Context(), serving.New(t, memories.World()), "me", world.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := files.ReadGrid(text, file, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		free, occupied, unknown := g.Count()
		if free == 0 || occupied == 0 || free+occupied+unknown != g.Width*g.Height {
			t.Errorf("%s: %d free, %d occupied, %d unknown", file, free, occupied, unknown)
		}
		if files.MapName(file) != "TenByTen" { // which the other program did not read
			checkFree(t, g, testkit.Shared(t, "oracle", "paths", files.MapName(file)+".csv"))
		}
		mark, err := m.SetMap(t.Context(), files.MapName(file), g.Map([]string{"site"}, "map"), g.Data)
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.View(t.Context(), mark)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Maps().Get(files.MapName(file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.MapData(t.Context(), files.MapName(file))
		if err != nil || !bytes.Equal(data, g.Data) {
			t.Fatalf("%s: %d bytes, %v", file, len(data), err)
		}
		back, err := files.GridOf(files.MapName(file), s.Map, data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := files.ReadGrid(back.YAML("x.pgm"), "x.yaml", func(string) ([]byte, error) { return back.Data, nil })
		if err != nil || !slices.Equal(again.Cells(), g.Cells()) || again.Origin != g.Origin || again.Resolution != g.Resolution ||
			again.Free != g.Free || again.Occupied != g.Occupied || again.Negate != g.Negate || again.Mode != g.Mode {
			t.Errorf("%s: not the same again: %v", file, err)
		}
	}
}

// checkFree compares with cells that are free by another program's reading of the map.
func checkFree(t *testing.T, g *files.Grid, file string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	cells := g.Cells()
	checked := 0
	for _, row := range rows[1:] {
		i, ok := column["start_x"]
		if !ok {
			t.Fatalf("%s has the columns %q", file, rows[0])
		}
		x := int(math.Floor((number(t, row[i]) - g.Origin[0]) / g.Resolution))
		y := int(math.Floor((number(t, row[column["start_y"]]) - g.Origin[1]) / g.Resolution))
		if cells[y*g.Width+x] != 0 {
			t.Errorf("%s: the cell %d, %d is not free", file, x, y)
		}
		checked++
	}
	if checked == 0 {
		t.Errorf("%s has nothing to check", file)
	}
}

func TestGridOfDisagreeing(t *testing.T) {
	g, err := grid(gridYAML, "P5 1 1 255\n\x00")
	if err != nil {
		t.Fatal(err)
	}
	m := g.Map(nil, "map")
	if _, err := files.GridOf("m", &m, []byte("P5 2 1 255\n\x00\x00")); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
	m.Format = "octomap"
	if _, err := files.GridOf("m", &m, g.Data); !errors.Is(err, engram.Unsupported) {
		t.Error(err)
	}
}

func FuzzReadGrid(f *testing.F) {
	f.Add([]byte(gridYAML), []byte("P5 2 2 255\n\x00\xfe\xcd\x80"))
	f.Add([]byte(gridYAML+"mode: scale\n"), []byte("P2\n# c\n2 2\n255\n1 2 3 4"))
	f.Add([]byte(gridYAML), []byte(picture(color.Gray{3}, color.White)))
	f.Fuzz(func(t *testing.T, yaml, img []byte) {
		g, err := files.ReadGrid(yaml, "f.yaml", func(string) ([]byte, error) { return img, nil })
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Invalid && code != engram.Exhausted {
				t.Errorf("%v has the code %v", err, code)
			}
			return
		}
		again, err := files.ReadGrid(g.YAML("a.pgm"), "f.yaml", func(string) ([]byte, error) { return g.Data, nil })
		if err != nil || !slices.Equal(again.Cells(), g.Cells()) || len(g.Cells()) != g.Width*g.Height {
			t.Error(fmt.Errorf("not the same again: %w", err))
		}
	})
}

// Grids as ROS's own tools write them are read as its map_server reads them.
func TestGridsOfROS(t *testing.T) {
	for file, want := range map[string]struct {
		origin [3]float64
		note   string
	}{
		"grid_directive.yaml": {[3]float64{-10, 0, 1.5707}, ""},
		"grid_extra.yaml":     {[3]float64{-10, 0.5, 0}, `"map_type" is left out`},
	} {
		path := testkit.Shared(t, "reports", file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		g, err := files.ReadGrid(text, path, os.ReadFile)
		if err != nil {
			t.Error(err)
			continue
		}
		if free, occupied, unknown := g.Count(); free != 6 || occupied != 3 || unknown != 3 || g.Width != 4 || g.Height != 3 || g.Origin != want.origin || g.Negate || g.Resolution != 0.05 {
			t.Errorf("%s: %d free, %d occupied, %d unknown of %+v", file, free, occupied, unknown, g)
		}
		if notes := strings.Join(g.Notes, "\n"); (notes != "") != (want.note != "") || !strings.Contains(notes, want.note) {
			t.Errorf("%s: %q", file, notes)
		}
	}
	const img = "P5 2 1 255\n\x00\xfe"
	for word, negate := range map[string]bool{"yes": true, "No": false, "off": false, "true": true, "1": true} {
		if g, err := grid(strings.Replace(gridYAML, "negate: 0", "negate: "+word, 1), img); err != nil || g.Negate != negate {
			t.Errorf("negate: %s: %v", word, err)
		}
	}
	g, err := grid("# by hand\n%YAML 1.2\n---\n"+strings.Replace(gridYAML, "occupied_thresh", "ocupied_thresh", 1)+"...\n", img)
	if err != nil || len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "did you mean occupied_thresh?") {
		t.Error(g, err)
	}
	if _, err := grid(gridYAML+"---\n"+gridYAML, img); err == nil || !strings.Contains(err.Error(), "2 YAML documents") {
		t.Error(err)
	}
}

// countingReader counts what is read of it.
type countingReader struct {
	from io.Reader
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.read += n
	return n, err
}

// endless is bytes without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadImage(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"PGM": "P5 2 2 255\n\x00\xfe\xcd\x00", "PNG": small.String(), "none": "no image", "empty": "", "long": "P5 # " + strings.Repeat("x", 100_000) + "\n1 1 255\n\x00",
	} {
		if got, err := files.ReadImage(strings.NewReader(data), name); err != nil || string(got) != data {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	// One that is too large is not read to its end.
	png := bytes.Clone(small.Bytes()[:33])
	binary.BigEndian.PutUint32(png[16:], 10_000)
	binary.BigEndian.PutUint32(png[20:], 10_000)
	binary.BigEndian.PutUint32(png[29:], crc32.ChecksumIEEE(png[12:29]))
	for name, head := range map[string]string{"P5": "P5\n10000 10000\n255\n", "P2": "P2 10000 # wide\n10000 255 ", "PNG": string(png)} {
		from := &countingReader{from: io.MultiReader(strings.NewReader(head), endless{})}
		_, err := files.ReadImage(from, "hall.pgm")
		if engram.CodeOf(err) != engram.Invalid || err.Error() != "hall.pgm: it is 10000 x 10000 pixels, and at most 33554432 are read; cut the map into parts, or write it with larger cells" {
			t.Errorf("%s: %v", name, err)
		}
		if from.read > 100_000 {
			t.Errorf("%s: %d bytes were read", name, from.read)
		}
	}
	if _, err := files.ReadImage(iotest.ErrReader(fs.ErrPermission), "hall.pgm"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
