package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// GridFormat is the format of a map whose data are an image of ROS's map_server; its
// properties have the rest of the YAML.
const GridFormat = "map_server"

// Grid is an occupancy grid as ROS's map_server has it: an image and what its shades mean.
type Grid struct {
	Image          string     // the file's name as the YAML has it
	Resolution     float64    // metres per cell
	Origin         [3]float64 // x, y in metres and yaw in radians of the lower left corner, in the map's frame
	Negate         bool       // black is free
	Occupied, Free float64    // thresholds of occupancy, from 0 to 1
	Mode           string     // trinary, scale or raw
	Data           []byte     // the image file
	Notes          []string   // what of the YAML is left out
	Width, Height  int
	shades         []uint16 // from 0, black, to most, white; rows from the top
	most           int
	opaque         []bool // where the image is; nil if it is so everywhere
}

// MaxPixels bounds the image of a grid.
const MaxPixels = 32 << 20

// ReadGrid reads a map_server YAML, whose image open returns. file is its name in errors. A
// relative path of the image is meant beside the YAML file, and may not lead out of its folder;
// an absolute one is taken as it is. Members that map_server does not know are left out, with a note; numbers may
// stand in quotes. The
// errors are Invalid, or those of open.
func ReadGrid(text []byte, file string, open func(path string) ([]byte, error)) (*Grid, error) {
	if bytes.HasPrefix(text, []byte("P2")) || bytes.HasPrefix(text, []byte("P5")) || bytes.HasPrefix(text, []byte("\x89PNG")) {
		return nil, engram.Errorf(engram.Invalid, file, "it is an image; name the YAML file that says what it means")
	}
	n, err := parse(text, file)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file}
	f := r.fieldsOf(n, "map")
	for _, key := range []string{"image", "resolution", "origin"} {
		if f.get(key) == nil {
			r.fail(n.line, "map", "it has no %s", key)
		}
	}
	for _, key := range []string{"resolution", "origin", "occupied_thresh", "free_thresh"} {
		if n := f.get(key); n != nil {
			unquote(n)
		}
	}
	g := &Grid{Image: f.text("image"), Occupied: 0.65, Free: 0.196, Mode: "trinary"}
	for key, hint := range f.unknown([]string{"image", "resolution", "origin", "negate", "occupied_thresh", "free_thresh", "mode"}) {
		g.Notes = append(g.Notes, fmt.Sprintf("%s: %q is left out, as map_server does with members that it does not know; %s", r.at(f.m.line[key]), key, hint))
	}
	if x, ok := f.number("resolution"); ok {
		if g.Resolution = x; !(x > 0) || math.IsInf(x, 0) {
			f.fail(f.get("resolution"), "the resolution is %g m; it is positive", x)
		}
	}
	if o := f.get("origin"); o != nil {
		if v := f.numbers(o, "origin", 3); v != nil {
			if copy(g.Origin[:], v); v[0]+v[1]+v[2]-(v[0]+v[1]+v[2]) != 0 {
				f.fail(o, "the origin is not finite")
			}
		}
	}
	g.thresholds(f)
	if m := f.get("mode"); m != nil {
		if g.Mode = strings.ToLower(m.text()); g.Mode != "trinary" && g.Mode != "scale" && g.Mode != "raw" {
			f.fail(m, "the mode is %s; it is one of trinary, scale, raw", m.what())
		}
	}
	path := g.Image
	if path != "" && !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			f.fail(f.get("image"), "the image %q leads out of the folder of the YAML file; name it by an absolute path if it is meant", path)
		}
		path = filepath.Join(filepath.Dir(file), path)
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	if g.Data, err = open(path); err != nil {
		return nil, engram.Errorf(codeOf(err), r.at(f.get("image").line), "the image: %w", err)
	}
	if err := g.decode(path); err != nil {
		return nil, err
	}
	return g, nil
}

// unquote makes numbers of texts, and of those in a list, that are written as numbers: map_server reads
// them all the same.
func unquote(n *node) {
	switch v := n.value.(type) {
	case string:
		if x, err := strconv.ParseFloat(v, 64); err == nil {
			n.value = x
		}
	case []*node:
		for _, item := range v {
			unquote(item)
		}
	}
}

// yesOrNo reads a truth value as YAML 1.1 writes it, or as a number, as map_server does.
func yesOrNo(word string) (yes, ok bool) {
	switch strings.ToLower(word) {
	case "yes", "y", "on", "true":
		return true, true
	case "no", "n", "off", "false":
		return false, true
	}
	if x, err := strconv.ParseFloat(word, 64); err == nil && (x == 0 || x == 1) {
		return x == 1, true
	}
	return false, false
}

func (g *Grid) thresholds(f *fields) {
	if n := f.get("negate"); n != nil {
		switch v := n.value.(type) {
		case bool:
			g.Negate = v
		default:
			var ok bool
			if g.Negate, ok = yesOrNo(n.text()); !ok {
				f.fail(n, "negate is %s; 0 or 1 is expected", n.what())
			}
		}
	}
	at := f.n
	for key, to := range map[string]*float64{"occupied_thresh": &g.Occupied, "free_thresh": &g.Free} {
		if x, ok := f.number(key); ok {
			if *to, at = x, f.get(key); !(x >= 0 && x <= 1) {
				f.fail(at, "%s is %g; it lies between 0 and 1", key, x)
			}
		}
	}
	if g.Free > g.Occupied {
		f.fail(at, "the thresholds are reversed: free_thresh %g is above occupied_thresh %g", g.Free, g.Occupied)
	}
}

// codeOf is the code of an error that may be of the system.
func codeOf(err error) engram.Code {
	if code := engram.CodeOf(err); code != engram.Internal {
		return code
	}
	return engram.Invalid
}

// decode reads the image; path is its name in errors.
func (g *Grid) decode(path string) error {
	var err error
	switch {
	case bytes.HasPrefix(g.Data, []byte("\x89PNG")):
		err = g.decodePNG()
	case bytes.HasPrefix(g.Data, []byte("P5")), bytes.HasPrefix(g.Data, []byte("P2")):
		err = g.decodePGM()
	default:
		err = fmt.Errorf("it is no PGM (P2, P5) and no PNG; other images are not read")
	}
	if err != nil {
		return engram.Errorf(engram.Invalid, path, "the image of the map: %w", err)
	}
	return nil
}

// ReadImage reads an image for [ReadGrid], named so in errors. One of more than MaxPixels is refused by what its
// header says, before the rest is read. The error is Invalid, or that of the reader.
func ReadImage(from io.Reader, name string) ([]byte, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(from, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	if width, height, ok := imageSize(head[:n]); ok {
		if err := new(Grid).size(width, height); err != nil {
			return nil, engram.Errorf(engram.Invalid, name, "%w", err)
		}
	}
	return io.ReadAll(io.MultiReader(bytes.NewReader(head[:n]), from))
}

// headBytes is how much of an image is read to see its size.
const headBytes = 64 << 10

// imageSize returns how large an image is that begins so; ok is false where that does not say so.
func imageSize(head []byte) (width, height int, ok bool) {
	if bytes.HasPrefix(head, []byte("\x89PNG")) {
		c, err := png.DecodeConfig(bytes.NewReader(head))
		return c.Width, c.Height, err == nil
	}
	if bytes.HasPrefix(head, []byte("P5")) || bytes.HasPrefix(head, []byte("P2")) {
		width, height, _, err := (&pgm{text: head[2:]}).header()
		return width, height, err == nil
	}
	return 0, 0, false
}

func (g *Grid) size(width, height int) error {
	if width <= 0 || height <= 0 {
		return fmt.Errorf("it is %d x %d pixels; at least one is expected", width, height)
	}
	if height > MaxPixels/width {
		return fmt.Errorf("it is %d x %d pixels, and at most %d are read; cut the map into parts, or write it with larger cells", width, height, MaxPixels)
	}
	g.Width, g.Height = width, height
	return nil
}

func (g *Grid) decodePNG() error {
	c, err := png.DecodeConfig(bytes.NewReader(g.Data))
	if err != nil {
		return err
	}
	if err := g.size(c.Width, c.Height); err != nil {
		return err
	}
	img, err := png.Decode(bytes.NewReader(g.Data))
	if err != nil {
		return err
	}
	opaque, ok := img.(interface{ Opaque() bool })
	clear := ok && !opaque.Opaque()
	g.shades, g.most = make([]uint16, 0, g.Width*g.Height), math.MaxUint16
	for y := range g.Height {
		for x := range g.Width {
			c := color.NRGBA64Model.Convert(img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y)).(color.NRGBA64)
			g.shades = append(g.shades, uint16((int(c.R)+int(c.G)+int(c.B)+1)/3))
			if clear {
				g.opaque = append(g.opaque, c.A == math.MaxUint16)
			}
		}
	}
	return nil
}

// Cells returns the occupancy of each cell as ROS has it, rows from the lower left corner: 0 is
// free, 100 is occupied, -1 is unknown.
func (g *Grid) Cells() []int8 {
	cells := make([]int8, 0, len(g.shades))
	for y := g.Height - 1; y >= 0; y-- {
		for x := range g.Width {
			cells = append(cells, g.cell(y*g.Width+x))
		}
	}
	return cells
}

func (g *Grid) cell(i int) int8 {
	if g.Mode == "raw" {
		if v := (int(g.shades[i])*255 + g.most/2) / g.most; v <= 100 {
			return int8(v)
		}
		return -1
	}
	p := float64(g.shades[i]) / float64(g.most)
	if !g.Negate {
		p = 1 - p
	}
	switch {
	case g.Mode == "scale" && g.opaque != nil && !g.opaque[i]:
		return -1
	case p > g.Occupied:
		return 100
	case p < g.Free:
		return 0
	case g.Mode == "trinary" || g.Occupied == g.Free:
		return -1
	}
	return int8(math.Round(99 * (p - g.Free) / (g.Occupied - g.Free)))
}

// Count returns how many cells are free, occupied (above 0, of a scale) and unknown.
func (g *Grid) Count() (free, occupied, unknown int) {
	for i := range g.shades {
		switch c := g.cell(i); {
		case c < 0:
			unknown++
		case c == 0:
			free++
		default:
			occupied++
		}
	}
	return free, occupied, unknown
}

// Map returns the map of World/Map that the grid is, of a place, in the frame of an item.
func (g *Grid) Map(describes []string, frame string) world.Map {
	w, h := float64(g.Width)*g.Resolution, float64(g.Height)*g.Resolution
	corner := pose.Pose{T: pose.Vec3{X: g.Origin[0], Y: g.Origin[1]}, R: pose.RPY(0, 0, g.Origin[2])}
	sum := sha256.Sum256(g.Data)
	return world.Map{
		Kind: world.OccupancyGrid, Describes: describes, Frame: frame, Resolution: g.Resolution,
		Extent: &world.Box{Pose: corner.Mul(pose.Translation(w/2, h/2, 0)), Size: pose.Vec3{X: w, Y: h}},
		Format: GridFormat, SHA256: hex.EncodeToString(sum[:]), Sensors: []string{"laser2d"}, Algorithms: []string{"amcl"},
		Properties: map[string]any{
			"image": filepath.Base(g.Image), "mode": g.Mode, "negate": g.Negate, "occupied_thresh": g.Occupied, "free_thresh": g.Free,
			"origin": []any{g.Origin[0], g.Origin[1], g.Origin[2]}, "width": int64(g.Width), "height": int64(g.Height),
		},
	}
}

// GridOf returns the grid that a map and its data are. The error is Unsupported for a map of
// another format, Invalid if both disagree.
func GridOf(name string, m *world.Map, data []byte) (*Grid, error) {
	if m.Format != GridFormat {
		return nil, engram.Errorf(engram.Unsupported, name, "the map is of the format %q and not %s", m.Format, GridFormat)
	}
	g := &Grid{Data: data, Resolution: m.Resolution, Mode: "trinary", Occupied: 0.65, Free: 0.196}
	p := m.Properties
	if s, ok := p["image"].(string); ok {
		g.Image = s
	}
	if s, ok := p["mode"].(string); ok {
		g.Mode = s
	}
	g.Negate, _ = p["negate"].(bool)
	if x, ok := p["occupied_thresh"].(float64); ok {
		g.Occupied = x
	}
	if x, ok := p["free_thresh"].(float64); ok {
		g.Free = x
	}
	if o, ok := p["origin"].([]any); ok && len(o) == 3 {
		for i := range o {
			g.Origin[i], _ = o[i].(float64)
		}
	}
	if err := g.decode(name); err != nil {
		return nil, err
	}
	for key, is := range map[string]int{"width": g.Width, "height": g.Height} {
		if said, ok := p[key].(int64); ok && said != int64(is) {
			return nil, engram.Errorf(engram.Invalid, name, "the map has the %s %d, and its image %d", key, said, is)
		}
	}
	return g, nil
}

// YAML returns the map_server YAML beside an image of that name.
func (g *Grid) YAML(image string) []byte {
	negate := int64(0)
	if g.Negate {
		negate = 1
	}
	return encodeYAML(object{
		{"image", image}, {"mode", g.Mode}, {"resolution", g.Resolution}, {"origin", numbers(g.Origin[:]...)},
		{"negate", negate}, {"occupied_thresh", g.Occupied}, {"free_thresh", g.Free},
	})
}

// Extension returns how the name of the image file ends.
func (g *Grid) Extension() string {
	if bytes.HasPrefix(g.Data, []byte("\x89PNG")) {
		return ".png"
	}
	return ".pgm"
}

// MapName returns the name of a map from that of its file.
func MapName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
