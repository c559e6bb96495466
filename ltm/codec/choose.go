package codec

import "github.com/seed-301d4374/engram/idf"

// The names that stand for a codec that is chosen by the payloads' type.
const (
	Auto     = "auto"
	Lossless = "lossless"
)

// Choose returns the codec for payloads of a type by what a policy says: the name of a
// codec, Auto or "" for one that fits, or Lossless for one that fits and loses nothing.
// Of numbers a maxError above 0 may be lost.
//
// Images have the codecs that [ForImages] names. Numbers that may lose something have
// columns. All else is plain, numbers too, so that viewers see it: within compressed
// chunks that costs some bytes per value.
func Choose(name string, t *idf.Type, maxError float64) string {
	if name != "" && name != Auto && name != Lossless {
		return name
	}
	if t == nil {
		return Plain
	}
	if images, ok := ForImages(t, name == Lossless); ok {
		return images
	}
	if name != Lossless && maxError > 0 {
		return Columns
	}
	return Plain
}
