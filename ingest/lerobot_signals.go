package ingest

import (
	"cmp"
	"context"
	"image"
	"image/draw"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/memories/vision"
)

// maxElements bounds the numbers of one signal.
const maxElements = 4096

// vectorLane reads the numbers of a signal.
type vectorLane struct {
	*lane
	typ     *idf.Type
	labels  []string // of the elements
	names   []string // texts beside the lists, which the elements are named by
	listed  bool     // some elements are named so
	numbers *idf.Numbers
	values  []float64 // and after them what is beyond the lists' ends
	n       int
}

// newVectorLane finds out what numbers a signal has by its first sample. fields names members, or elements
// of lists by what they are about; none is the positions of joints or, of other types, every number that
// is no time.
func newVectorLane(l *lane, t *idf.Type, fields []string, payload []byte) (*vectorLane, error) {
	members, err := t.NumberMembers(payload, maxElements)
	if err != nil {
		return nil, err
	}
	labels, err := t.NumberLabels(payload, members)
	if err != nil {
		return nil, err
	}
	v := &vectorLane{lane: l, typ: t}
	if v.names, err = namesIn(t, payload); err != nil {
		return nil, err
	}
	if len(fields) == 0 && slices.ContainsFunc(members, func(m idf.NumberMember) bool { return list(m.Path) == "position" }) && len(v.names) > 0 {
		fields = []string{"position"}
	}
	var paths, lists []string
	add := func(m idf.NumberMember, field string) {
		if slices.Contains(paths, m.Path) {
			return
		}
		label, of := labels[m.Path], list(m.Path)
		if label != "" && !slices.Contains(lists, of) {
			lists = append(lists, of)
		}
		switch {
		case label == "":
			label = m.Path
		case len(fields) != 1 || field != of:
			label = of + "." + label
		}
		paths, v.labels = append(paths, m.Path), append(v.labels, label)
	}
	if len(fields) == 0 {
		for _, m := range members {
			if m.Type != "Time" && !strings.Contains(strings.ToLower(m.Path), "covariance") {
				add(m, "")
			}
		}
	}
	for _, f := range fields {
		n := len(paths)
		for _, m := range members {
			if m.Path == f || strings.HasPrefix(m.Path, f+"[") || strings.HasPrefix(m.Path, f+".") || labels[m.Path] != "" && list(m.Path)+"."+labels[m.Path] == f {
				add(m, f)
			}
		}
		if len(paths) == n {
			return nil, engram.Errorf(engram.NotFound, l.entity.String(), "has no number %s; there is %s", f, someLists(members))
		}
	}
	if len(paths) == 0 {
		return nil, engram.Errorf(engram.NotFound, l.entity.String(), "has no numbers for %s", l.feature)
	}
	v.n, v.listed = len(paths), len(lists) > 0
	for _, of := range lists { // a list that is longer later tells itself
		paths = append(paths, of+"["+strconv.Itoa(len(v.names))+"]")
	}
	for _, p := range paths[:v.n] {
		if of := list(p); of != p && !slices.Contains(lists, of) && len(v.names) > 0 && !strings.Contains(of, ".") {
			return nil, engram.Errorf(engram.Invalid, l.entity.String(), "the list %s and the list name have unequal lengths, so nobody knows what is what", of)
		}
	}
	if v.numbers, err = t.Numbers(paths); err != nil {
		return nil, err
	}
	v.values = make([]float64, len(paths))
	return v, nil
}

// list returns the list that a path of an element is in; other paths as they are.
func list(path string) string {
	of, _, ok := idf.CutIndex(path)
	if !ok {
		return path
	}
	return of
}

func someLists(members []idf.NumberMember) string {
	var all []string
	for _, m := range members {
		if of := list(m.Path); !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	if len(all) > 12 {
		all = append(all[:12], "…")
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// namesIn returns the texts of the list name.
func namesIn(t *idf.Type, payload []byte) (names []string, err error) {
	err = t.Walk(payload, idf.KindString, func(f *idf.Found) bool {
		if strings.HasPrefix(string(f.Path), "name[") {
			names = append(names, string(f.Bytes))
		}
		return true
	})
	return names, err
}

// read returns the numbers of a sample; they are valid until the next call.
func (v *vectorLane) read(s laneSample) ([]float64, error) {
	if s.payload.Type != v.typ.Name() {
		return nil, engram.Errorf(engram.TypeMismatch, v.entity.String(), "is of the type %s at first and of %s at %s", v.typ.Name(), s.payload.Type, s.time)
	}
	if v.listed {
		names, err := namesIn(v.typ, s.payload.Bytes)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(names, v.names) {
			return nil, engram.Errorf(engram.Conflict, v.entity.String(), "the list of names changes at %s: %s; export the times before and after by --range, each for itself", s.time, changed(v.names, names))
		}
	}
	if err := v.numbers.Read(s.payload.Bytes, v.values); err != nil {
		return nil, err
	}
	for i, x := range v.values {
		if i < v.n && math.IsNaN(x) {
			return nil, engram.Errorf(engram.OutOfRange, v.entity.String(), "has no number %s at %s: lists of unequal lengths, or NaN; leave it out by --state or --action ENTITY=FIELD", v.labels[i], s.time)
		}
		if i >= v.n && !math.IsNaN(x) {
			return nil, engram.Errorf(engram.Conflict, v.entity.String(), "has more numbers than its %d names at %s", len(v.names), s.time)
		}
	}
	return v.values[:v.n], nil
}

// changed says how a list of names differs from the one before.
func changed(was, is []string) string {
	for _, n := range was {
		if !slices.Contains(is, n) {
			return n + " is gone"
		}
	}
	for _, n := range is {
		if !slices.Contains(was, n) {
			return n + " is new"
		}
	}
	return "the order is another"
}

// imageLane reads the images of a signal.
type imageLane struct {
	*lane
	width, height int
	pixels        []byte // of the last frame
	rgba          *image.RGBA
}

// read makes pixels of a sample.
func (l *imageLane) read(s laneSample) error {
	if s.payload.Type == "foxglove.RawImage" {
		if info, err := vision.Describe(s.payload); err == nil && (strings.Contains(info.Encoding, "16") || strings.Contains(info.Encoding, "32")) {
			return engram.Errorf(engram.Unsupported, l.entity.String(), "is an image of %s, and videos have 8 bits per colour; leave it out by naming others with --image", info.Encoding)
		}
	}
	img, err := vision.Decode(s.payload)
	if err != nil {
		return engram.Errorf(engram.CodeOf(err), l.entity.String(), "the image of %s cannot be decoded: %w", s.time, err)
	}
	if _, deep := img.(*image.Gray16); deep {
		return engram.Errorf(engram.Unsupported, l.entity.String(), "is an image of 16 bits, and videos have 8 bits per colour; leave it out by naming others with --image")
	}
	b := img.Bounds()
	if l.rgba == nil {
		l.width, l.height = b.Dx(), b.Dy()
		l.rgba, l.pixels = image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy())), make([]byte, 3*b.Dx()*b.Dy())
	}
	if b.Dx() != l.width || b.Dy() != l.height {
		return engram.Errorf(engram.Conflict, l.entity.String(), "the size of images changes from %dx%d to %dx%d at %s; export the times before and after by --range, each for itself", l.width, l.height, b.Dx(), b.Dy(), s.time)
	}
	draw.Draw(l.rgba, l.rgba.Rect, img, b.Min, draw.Src)
	for i := range len(l.pixels) / 3 {
		copy(l.pixels[3*i:3*i+3], l.rgba.Pix[4*i:])
	}
	return nil
}

// imageParts are parts of topics that tell the form of images, and not the camera.
var imageParts = []string{"compressed", "compresseddepth", "image", "image_raw", "image_color", "image_rect", "image_rect_color", "raw"}

// imageName returns what an entity of images is called in a data set: /camera/color/image_raw/compressed is
// camera_color.
func imageName(entity string) string {
	parts := strings.FieldsFunc(entity, func(r rune) bool { return r == '/' || r == ' ' })
	for len(parts) > 1 && slices.Contains(imageParts, strings.ToLower(parts[len(parts)-1])) {
		parts = parts[:len(parts)-1]
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.Join(parts, "_"))
}

// firstSample returns the sample in force at a time.
func (x *exporter) firstSample(ctx context.Context, entity engram.ID, at engram.Time) (s laneSample, err error) {
	x.o.Patterns = []engram.Pattern{engram.PatternOf(entity)}
	err = x.query(engram.AtOrBefore(at.Add(sameTime)), true, func(item engram.Item) error {
		s = laneSample{time: item.Time, payload: item.Instances[0].Payload}
		return ctx.Err()
	})
	if err == nil && s.payload.Type == "" {
		err = engram.Errorf(engram.NotFound, entity.String(), "has no snapshot of %s or before any more", at)
	}
	return s, err
}
