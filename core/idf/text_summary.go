package idf

import (
	"bytes"
	"image"
	_ "image/jpeg" // sizes of compressed images
	_ "image/png"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// isVector reports whether the object is shown as its coordinates.
func isVector(l *layout) bool {
	switch l.name {
	case "foxglove.Vector2", "foxglove.Vector3", "foxglove.Quaternion", "foxglove.Point2", "foxglove.Point3":
		return true
	}
	return false
}

// summary writes what takes the place of an object that is better not shown member
// by member; false if it is an ordinary one, as is an image of which only some members
// are there.
func (w *textWriter) summary(l *layout, v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		return false
	}
	data, _ := object["data"].([]byte)
	switch l.name {
	case "foxglove.RawImage", "foxglove.CompressedImage", "foxglove.CompressedVideo", "foxglove.PointCloud":
		if len(data) == 0 && !isEmpty(object) {
			return false
		}
	}
	switch l.name {
	case "foxglove.RawImage":
		w.print("RawImage " + textOf(object["encoding"]) + " " + dimensions(object["width"], object["height"]))
	case "foxglove.CompressedImage":
		w.print("CompressedImage " + textOf(object["format"]))
		if c, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
			w.print(" " + dimensions(c.Width, c.Height))
		}
	case "foxglove.CompressedVideo":
		w.print("CompressedVideo " + textOf(object["format"]))
	case "foxglove.PointCloud":
		w.print("PointCloud")
		if stride, ok := numberOf(object["point_stride"]).int64(); ok && stride > 0 {
			w.print(" of " + grouped(len(data)/int(stride)) + " points")
		}
	case "foxglove.Pose":
		return w.pose(l, object)
	default:
		if isVector(l) {
			w.vector(l, object)
			return true
		}
		return false
	}
	w.print(", " + grouped(len(data)) + " bytes")
	if frame, _ := object["frame_id"].(string); frame != "" {
		w.print(", frame " + strconv.Quote(frame))
	}
	return true
}

// pose writes a whole pose briefly, as its position and its orientation; false where all is to be
// told.
func (w *textWriter) pose(l *layout, object map[string]any) bool {
	position, there := object["position"].(map[string]any)
	orientation, turned := object["orientation"].(map[string]any)
	if !w.opts.Brief || !there || !turned {
		return false
	}
	w.vector(l.byName["position"].msg, position)
	w.print(" ")
	w.vector(l.byName["orientation"].msg, orientation)
	return true
}

// isEmpty reports whether all members of an object are zero.
func isEmpty(object map[string]any) bool {
	for _, v := range object {
		if r := reflect.ValueOf(v); r.IsValid() && !r.IsZero() && (r.Kind() != reflect.Slice && r.Kind() != reflect.Map || r.Len() > 0) {
			return false
		}
	}
	return true
}

func (w *textWriter) vector(l *layout, object map[string]any) {
	defer w.within()()
	w.print("(")
	for i, m := range l.members {
		if i > 0 {
			w.print(", ")
		}
		w.any(object[m.name])
	}
	w.print(")")
}

func textOf(v any) string {
	s, _ := v.(string)
	return printable(s)
}

// printable returns s, in quotes if there is anything in it that would upset a
// terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func dimensions(width, height any) string {
	return numberOf(width).String() + "x" + numberOf(height).String()
}
