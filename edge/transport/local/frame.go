package local

import (
	"encoding/binary"

	"github.com/seed-301d4374/engram"
)

// kind says what a frame is. Those of a server have the high bit set.
type kind uint8

const (
	kindCommit    kind = 0x01
	kindLatest    kind = 0x02
	kindCall      kind = 0x03
	kindQuery     kind = 0x04
	kindSubscribe kind = 0x05
	kindCredit    kind = 0x06
	kindCancel    kind = 0x07
	kindSelect    kind = 0x08

	kindResults    kind = 0x81
	kindSnapshot   kind = 0x82
	kindReply      kind = 0x83
	kindAnswer     kind = 0x84
	kindSubscribed kind = 0x85
	kindUpdates    kind = 0x86
	kindError      kind = 0x87
)

// Flags of a frame; each belongs to the kinds named.
const (
	flagMore     uint8 = 1 << 0 // commit, results, answer: the next frame of this call continues it
	flagStream   uint8 = 1 << 1 // commit: of a commit stream, to be stored in order
	flagRecorded uint8 = 1 << 2 // commit: its times are those of a recording
	flagPart     uint8 = 1 << 2 // answer: a part ends here
	flagParts    uint8 = 1 << 1 // query, select: the answer is wanted in parts
	flagDetail   uint8 = 1 << 2 // query: of what is missing, details are wanted
)

const (
	headerSize = 16
	// maxTypeName bounds the names of payload types, which have no bound of their
	// own; protobuf's compilers accept no longer ones.
	maxTypeName = 1 << 10
	// maxIDSize is the most bytes that the definition of an ID takes.
	maxIDSize = 1 + 4*(2+engram.MaxNameLen) + 8 + 4
	// frameBytes is how many payload bytes a frame of several snapshots holds, about;
	// what is larger is spread over several, so that the peer works on the first
	// while the next is under way.
	frameBytes = 256 << 10
	// maxErrorText bounds each of an error's texts; what is longer is cut.
	maxErrorText = 8 << 10
)

// header stands before each frame: length, meta, call, kind, flags and 16 bits
// that are zero, little-endian.
type header struct {
	length uint32 // of what follows the header
	meta   uint32 // how much of it are records; the rest are payload bytes
	call   uint32
	kind   kind
	flags  uint8
}

func (h header) put(b []byte) {
	_ = b[headerSize-1]
	binary.LittleEndian.PutUint32(b, h.length)
	binary.LittleEndian.PutUint32(b[4:], h.meta)
	binary.LittleEndian.PutUint32(b[8:], h.call)
	b[12], b[13], b[14], b[15] = byte(h.kind), h.flags, 0, 0
}

// parseHeader reads the header of a frame of at most limit bytes.
func parseHeader(b []byte, limit uint32) (header, error) {
	_ = b[headerSize-1]
	h := header{
		length: binary.LittleEndian.Uint32(b),
		meta:   binary.LittleEndian.Uint32(b[4:]),
		call:   binary.LittleEndian.Uint32(b[8:]),
		kind:   kind(b[12]),
		flags:  b[13],
	}
	switch {
	case b[14] != 0 || b[15] != 0 || h.meta > h.length:
		return h, corrupt("a frame's header makes no sense: length %d, records %d, reserved bits %#x", h.length, h.meta, b[14:16])
	case h.length > limit:
		return h, engram.Errorf(engram.Exhausted, "", "a frame of %d bytes was announced; at most %d are allowed", h.length, limit)
	}
	return h, nil
}

func corrupt(format string, args ...any) *engram.Error {
	return engram.Errorf(engram.Corrupt, "", format, args...)
}

// Limits that each side announces of what it takes from the other.
type limits struct {
	frame uint32 // bytes of a frame after its header
	ids   uint32 // slots for IDs that are referred to by number
	types uint32 // slots for type names
}

const (
	magic      = "ENGRAM\x00L"
	version    = 3
	helloSize  = 24 // of a client's hello
	answerSize = 40 // of a server's
)

// hello is what each side says first. A server that does not want the client
// answers with version 0 and an error frame.
type hello struct {
	version    uint16 // client: the newest it speaks; server: the one to be spoken
	minVersion uint16 // client: the oldest it speaks; server: 0
	limits
	epoch uint64 // server only: its epoch, which numbers of updates belong to
	calls uint32 // server only: how many calls may be open at once
}

func (h hello) append(b []byte, server bool) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, h.version)
	b = binary.LittleEndian.AppendUint16(b, h.minVersion)
	b = binary.LittleEndian.AppendUint32(b, h.frame)
	b = binary.LittleEndian.AppendUint32(b, h.ids)
	b = binary.LittleEndian.AppendUint32(b, h.types)
	if server {
		b = binary.LittleEndian.AppendUint64(b, h.epoch)
		b = binary.LittleEndian.AppendUint32(b, h.calls)
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	return b
}

// parseHello reads either side's hello; b has its size.
func parseHello(b []byte) (hello, error) {
	if string(b[:len(magic)]) != magic {
		return hello{}, corrupt("the peer speaks another protocol: it began with %q instead of %q", b[:len(magic)], magic)
	}
	h := hello{
		version:    binary.LittleEndian.Uint16(b[8:]),
		minVersion: binary.LittleEndian.Uint16(b[10:]),
		limits: limits{
			frame: binary.LittleEndian.Uint32(b[12:]),
			ids:   binary.LittleEndian.Uint32(b[16:]),
			types: binary.LittleEndian.Uint32(b[20:]),
		},
	}
	if len(b) == answerSize {
		h.epoch = binary.LittleEndian.Uint64(b[24:])
		h.calls = binary.LittleEndian.Uint32(b[32:])
	}
	if h.version != 0 && (h.frame < minFrame || h.ids == 0 || h.types == 0) {
		return h, corrupt("the peer announces limits nobody can work with: frames of %d bytes, %d IDs, %d types", h.frame, h.ids, h.types)
	}
	return h, nil
}

// minFrame is the smallest limit on frames that a side may announce: an error, an
// update of one small instance and the like must pass.
const minFrame = 64 << 10
