package codec

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// The names that stand for a codec that is chosen by the payloads' type.
const (
	Auto     = names.Auto
	Lossless = names.Lossless
)

// Choose returns the codec for payloads of a type by what a policy says: the name of a
// codec, Auto or "" for one that fits, or Lossless for one that fits and loses nothing.
// Of numbers a maxError above 0 may be lost. Newest is one of the payloads, nil if none
// is known: of depth images nothing is lost whatever codec for images is named, and so
// theirs is [Image].
//
// Images have the codecs that [ForImages] names. Numbers have columns, as has all that
// may lose something. All else is plain.
func Choose(name string, t *idf.Type, newest []byte, maxError float64) string {
	chosen := choose(name, t, maxError)
	if (chosen == Video || chosen == JPEG) && isDepth(newest) && newShapes(Config{Payload: t}).of(t.Name()) == rawImage {
		return Image
	}
	return chosen
}

// isDepth reports whether a raw image has pixels of more than 8 bits.
func isDepth(b []byte) bool {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		if num == rawEncoding && typ == protowire.BytesType {
			name, _ := protowire.ConsumeString(b)
			return encodings[name].depth > 0
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return false
		}
		b = b[n:]
	}
	return false
}

func choose(name string, t *idf.Type, maxError float64) string {
	if name != "" && name != Auto && name != Lossless {
		return name
	}
	if t == nil {
		return Plain
	}
	if images, ok := ForImages(t, name == Lossless); ok {
		return images
	}
	if name != Lossless && maxError > 0 || isNumbers(t.Descriptor(), map[protoreflect.MessageDescriptor]bool{}) == some {
		return Columns
	}
	return Plain
}

// ShownByDefault is how many snapshots per second of numbers viewers see.
const ShownByDefault = 5

// Shown returns how many snapshots per second are to be stored for viewers where a
// policy's codec is name: all of them, as it were, where that is plain.
func Shown(name string) float64 {
	if name == "" || name == Auto || name == Lossless {
		return ShownByDefault
	}
	return 0
}

// numbers says whether a type is one of numbers.
type numbers uint8

const (
	none  numbers = iota // it has none
	some                 // it has some, and no bytes
	mixed                // it has bytes, which are whatever they are
)

// isNumbers looks for members that are numbers, but for times; seen holds the messages
// that it has looked into.
func isNumbers(md protoreflect.MessageDescriptor, seen map[protoreflect.MessageDescriptor]bool) (is numbers) {
	if name := md.FullName(); seen[md] || name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration" {
		return none
	}
	seen[md] = true
	for i := range md.Fields().Len() {
		of := none
		switch fd := md.Fields().Get(i); fd.Kind() {
		case protoreflect.BytesKind:
			of = mixed
		case protoreflect.MessageKind, protoreflect.GroupKind:
			of = isNumbers(fd.Message(), seen)
		case protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.StringKind:
		default:
			of = some
		}
		is = max(is, of)
	}
	return is
}
