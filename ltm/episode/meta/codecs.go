package meta

// The codecs. Package ltm/codec says what each does.
const (
	CodecPlain   = "plain"
	CodecColumns = "columns"
	CodecImage   = "image"
	CodecJPEG    = "jpeg"
	CodecVideo   = "video"
	CodecZstd    = "zstd"
)

// The names that stand for a codec that is chosen by the payloads' type.
const (
	CodecAuto     = "auto"
	CodecLossless = "lossless"
)

// Codecs returns the names of all codecs, sorted.
func Codecs() []string {
	return []string{CodecColumns, CodecImage, CodecJPEG, CodecPlain, CodecVideo, CodecZstd}
}
