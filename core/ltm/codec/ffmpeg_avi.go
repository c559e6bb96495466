package codec

import (
	"context"
	"encoding/binary"

	"github.com/seed-301d4374/engram"
)

// Packets travel to and from ffmpeg in AVI, the simplest of its containers that
// says how long each packet is: without that, the end of one shows only with the
// beginning of the next.

// maxPacket bounds a packet, coded or not.
const maxPacket = 1 << 28

// aviWriter makes the AVI that ffmpeg reads packets from.
type aviWriter struct {
	fourCC        string // of the codec
	width, height int
	bits          int    // per pixel
	extra         []byte // the codec's configuration
}

// header returns everything before the first packet.
func (a aviWriter) header() []byte {
	le := binary.LittleEndian
	format := le.AppendUint32(nil, uint32(40+len(a.extra))) // BITMAPINFOHEADER
	format = le.AppendUint32(format, uint32(a.width))
	format = le.AppendUint32(format, uint32(a.height))
	format = le.AppendUint16(format, 1)
	format = le.AppendUint16(format, uint16(a.bits))
	format = append(format, a.fourCC...)
	format = le.AppendUint32(format, uint32(a.width*a.height*3))
	format = append(format, make([]byte, 16)...)
	format = append(format, a.extra...)
	if len(format)%2 == 1 {
		format = append(format, 0)
	}

	main := le.AppendUint32(nil, 40_000) // µs per frame
	main = append(main, make([]byte, 12)...)
	main = le.AppendUint32(main, 0) // frames, unknown
	main = append(main, make([]byte, 4)...)
	main = le.AppendUint32(main, 1) // streams
	main = append(main, make([]byte, 4)...)
	main = le.AppendUint32(main, uint32(a.width))
	main = le.AppendUint32(main, uint32(a.height))
	main = append(main, make([]byte, 16)...)

	stream := append([]byte("vids"), a.fourCC...)
	stream = append(stream, make([]byte, 12)...)
	stream = le.AppendUint32(stream, 1)  // scale
	stream = le.AppendUint32(stream, 25) // rate
	stream = le.AppendUint32(stream, 0)
	stream = le.AppendUint32(stream, 1<<31-1) // length, unknown
	stream = append(stream, make([]byte, 20)...)

	list := func(kind string, parts ...[]byte) []byte {
		body := []byte(kind)
		for _, p := range parts {
			body = append(body, p...)
		}
		return append(le.AppendUint32([]byte("LIST"), uint32(len(body))), body...)
	}
	chunk := func(kind string, b []byte) []byte {
		return append(le.AppendUint32([]byte(kind), uint32(len(b))), b...)
	}
	header := le.AppendUint32([]byte("RIFF"), 1<<31-1)
	header = append(header, "AVI "...)
	header = append(header, list("hdrl", chunk("avih", main), list("strl", chunk("strh", stream), chunk("strf", format)))...)
	header = le.AppendUint32(append(header, "LIST"...), 1<<31-1)
	return append(header, "movi"...)
}

// appendPacket appends a packet.
func appendPacket(b, packet []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, "00dc"...), uint32(len(packet)))
	b = append(b, packet...)
	if len(packet)%2 == 1 {
		b = append(b, 0)
	}
	return b
}

// aviReader reads packets from the AVI that ffmpeg writes.
type aviReader struct {
	p     *ffmpeg
	extra []byte // the codec's configuration, after the first packet
}

// next returns the next packet, in memory of its own.
func (r *aviReader) next(ctx context.Context) ([]byte, error) {
	for {
		var h [12]byte
		if err := r.p.read(ctx, h[:8]); err != nil {
			return nil, err
		}
		size := int(binary.LittleEndian.Uint32(h[4:]))
		switch kind := string(h[:4]); kind {
		case "RIFF", "LIST":
			if err := r.p.read(ctx, h[8:]); err != nil {
				return nil, err
			}
			switch string(h[8:]) {
			case "AVI ", "hdrl", "strl", "movi": // what follows are the chunks in it
				continue
			}
			size -= 4
			fallthrough
		default:
			if size < 0 || size > maxPacket {
				return nil, r.p.fail(ctx, "giving data", engram.Errorf(engram.Internal, "ffmpeg", "a chunk of %d bytes in its AVI", size))
			}
			b := make([]byte, size+size%2)
			if err := r.p.read(ctx, b); err != nil {
				return nil, err
			}
			switch {
			case kind == "strf" && size > 40:
				r.extra = b[40:size:size]
			case kind == "00dc" && size > 0:
				return b[:size:size], nil
			}
		}
	}
}
