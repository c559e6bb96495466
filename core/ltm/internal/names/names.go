// Package names is what the codecs of the long-term memory are called. Policies and
// clients name codecs; only who records or reads episodes needs package core/ltm/codec.
package names

// The codecs. Package core/ltm/codec says what each does.
const (
	Plain   = "plain"
	Columns = "columns"
	Image   = "image"
	JPEG    = "jpeg"
	Video   = "video"
	Zstd    = "zstd"
)

// The names that stand for a codec that is chosen by the payloads' type.
const (
	Auto     = "auto"
	Lossless = "lossless"
)

// All returns the names of all codecs, sorted.
func All() []string { return []string{Columns, Image, JPEG, Plain, Video, Zstd} }
