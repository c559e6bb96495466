package codec

import (
	"bytes"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// A coded image is a foxglove.CompressedVideo or foxglove.CompressedImage that
// viewers show, with what the reader of the memory needs beside in a field that
// viewers skip. docs/formats/codecs.md has the layout.

// codedNumber is that field.
const codedNumber = 1000

// codedVersion is the version of what lies in it.
const codedVersion = 1

// plainSide stands in that field of a message that is plain, behind all others, where
// the payload has such a field of its own and would be taken for a coded one.
var plainSide = protowire.AppendVarint(protowire.AppendTag(nil, codedVersionNumber, protowire.VarintType), 2)

var plainMark = protowire.AppendBytes(protowire.AppendTag(nil, codedNumber, protowire.BytesType), plainSide)

// plainForm returns a payload as a message that is not taken for a coded one.
func plainForm(p *engram.Payload) []byte {
	looksCoded := false
	if p.Type == videoType || p.Type == compressedType {
		eachField(p.Bytes, func(n protowire.Number, typ protowire.Type, _ []byte) {
			looksCoded = looksCoded || n == codedNumber && typ == protowire.BytesType
		})
	}
	if looksCoded {
		return append(p.Bytes[:len(p.Bytes):len(p.Bytes)], plainMark...)
	}
	return p.Bytes
}

// Formats that are not names of files.
const (
	formatH264  = "h264"
	formatFFV1  = "ffv1"
	formatJPEG  = "jpeg"
	formatPNG   = "png"
	formatDepth = "engram-depth" // see depth.go
)

// The members of the field.
const (
	codedVersionNumber = 1
	codedEnvelope      = 2 // of each picture; none if they are the last message's but for the time
	codedStamp         = 3 // of each picture, if they are not all the message's own
	codedAlpha         = 4 // of each picture, the alpha of all its pixels
	codedWidth         = 5 // of the frame
	codedHeight        = 6
	codedFull          = 7 // video with colour for each pixel (4:4:4)
	codedExtra         = 8 // the codec's configuration
)

// coded is a coded message of one picture or several side by side.
type coded struct {
	format        string
	data          []byte
	envelopes     []envelope // with their times
	repeated      bool       // they are those of the message before
	alpha         []byte
	width, height int
	full          bool
	extra         []byte
}

func (c *coded) isVideo() bool { return c.format == formatH264 || c.format == formatFFV1 }

// message returns the message's type and bytes.
func (c *coded) message() (typ string, b []byte) {
	first := &c.envelopes[0]
	frameID := frameIDOf(first)
	b = make([]byte, 0, len(c.data)+len(c.extra)+256)
	if first.stampAt >= 0 {
		b = protowire.AppendBytes(protowire.AppendTag(b, stampNumber, protowire.BytesType), first.stamp)
	}
	bytesField := func(n protowire.Number, v []byte) {
		b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	if c.isVideo() {
		typ = videoType
		bytesField(videoFrameID, frameID)
		bytesField(videoData, c.data)
		bytesField(videoFormat, []byte(c.format))
	} else {
		typ = compressedType
		bytesField(compressedData, c.data)
		bytesField(compressedFormat, []byte(c.format))
		bytesField(compressedFrameID, frameID)
	}
	bytesField(codedNumber, c.side(nil))
	return typ, b
}

// frameIDOf returns the name of the camera's frame, for viewers; none if it is not
// text, which their messages could not hold.
func frameIDOf(e *envelope) []byte {
	number := protowire.Number(rawFrameID)
	if e.dataNumber == compressedData {
		number = compressedFrameID
	}
	return bytes.ToValidUTF8(e.stringField(number), nil)
}

func (c *coded) side(b []byte) []byte {
	number := func(n protowire.Number, v int) {
		if v != 0 {
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v))
		}
	}
	number(codedVersionNumber, codedVersion)
	if !c.repeated {
		for i := range c.envelopes {
			b = protowire.AppendBytes(protowire.AppendTag(b, codedEnvelope, protowire.BytesType), c.envelopes[i].append(nil))
		}
		number(codedWidth, c.width)
		number(codedHeight, c.height)
		if c.full {
			number(codedFull, 1)
		}
		for _, a := range c.alpha {
			// Zero is a value here.
			b = protowire.AppendVarint(protowire.AppendTag(b, codedAlpha, protowire.VarintType), uint64(a))
		}
		if len(c.extra) > 0 {
			b = protowire.AppendBytes(protowire.AppendTag(b, codedExtra, protowire.BytesType), c.extra)
		}
	}
	first := &c.envelopes[0]
	for i := range c.envelopes {
		e := &c.envelopes[i]
		if (e.stampAt >= 0) != (first.stampAt >= 0) || !bytes.Equal(e.stamp, first.stamp) {
			for i := range c.envelopes {
				b = protowire.AppendBytes(protowire.AppendTag(b, codedStamp, protowire.BytesType), c.envelopes[i].stamp)
			}
			break
		}
	}
	return b
}

// follows reports whether c can leave out what last says already.
func (c *coded) follows(last *coded) bool {
	if last == nil || c.format != last.format || len(c.envelopes) != len(last.envelopes) || !bytes.Equal(c.alpha, last.alpha) ||
		c.width != last.width || c.height != last.height || c.full != last.full || !bytes.Equal(c.extra, last.extra) {
		return false
	}
	for i := range c.envelopes {
		if !c.envelopes[i].same(&last.envelopes[i]) {
			return false
		}
	}
	return true
}

// parseCoded reads a coded message, which it shares; last is the one before, for
// what was left out. Of a plain message it returns the payload's bytes, and no coded
// one. The error is Corrupt, or Unsupported for a later version.
func parseCoded(m Message, last *coded) (c *coded, plain []byte, err error) {
	if m.Type != videoType && m.Type != compressedType {
		return nil, m.Bytes, nil
	}
	c = &coded{}
	var stamp, side []byte
	dataNumber, formatNumber := protowire.Number(compressedData), protowire.Number(compressedFormat)
	if m.Type == videoType {
		dataNumber, formatNumber = videoData, videoFormat
	}
	isMessage := eachField(m.Bytes, func(n protowire.Number, typ protowire.Type, value []byte) {
		switch {
		case typ != protowire.BytesType:
		case n == stampNumber:
			stamp = value
		case n == dataNumber:
			c.data = value
		case n == formatNumber:
			c.format = string(value)
		case n == codedNumber:
			side = value
		}
	})
	corrupt := func(what string) error {
		return engram.Errorf(engram.Corrupt, m.Type, "a coded image of %d bytes is damaged: %s", len(m.Bytes), what)
	}
	switch {
	case !isMessage:
		return nil, nil, corrupt("it is not a message")
	case side == nil:
		return nil, m.Bytes, nil
	case bytes.Equal(side, plainSide):
		if plain, ok := bytes.CutSuffix(m.Bytes, plainMark); ok {
			return nil, plain, nil
		}
		return nil, nil, corrupt("the mark of a plain message does not stand at its end")
	}
	var stamps [][]byte
	version, whole := 0, true
	isMessage = eachField(side, func(n protowire.Number, typ protowire.Type, value []byte) {
		if typ == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(value)
			switch n {
			case codedVersionNumber:
				version = int(min(v, 1<<30))
			case codedAlpha:
				c.alpha = append(c.alpha, byte(v))
			case codedWidth:
				c.width = int(min(v, 1<<30))
			case codedHeight:
				c.height = int(min(v, 1<<30))
			case codedFull:
				c.full = v != 0
			}
			return
		}
		if typ != protowire.BytesType {
			return
		}
		switch n {
		case codedEnvelope:
			e, ok := parseEnvelope(value)
			whole = whole && ok
			c.envelopes = append(c.envelopes, e)
		case codedStamp:
			stamps = append(stamps, value)
		case codedExtra:
			c.extra = value
		}
	})
	switch {
	case !isMessage || !whole:
		return nil, nil, corrupt("what stands beside the pixels")
	case version != codedVersion:
		return nil, nil, engram.Errorf(engram.Unsupported, m.Type, "a coded image of version %d; this program reads version %d", version, codedVersion)
	case len(c.envelopes) == 0:
		if last == nil || last.format != c.format || m.Key {
			return nil, nil, corrupt("it does not say what it is an image of, and no key before it does")
		}
		c.envelopes = append(c.envelopes, last.envelopes...)
		c.alpha, c.width, c.height, c.full, c.extra = last.alpha, last.width, last.height, last.full, last.extra
	}
	if len(stamps) > 0 && len(stamps) != len(c.envelopes) {
		return nil, nil, corrupt("the number of its times")
	}
	for i := range c.envelopes {
		c.envelopes[i].stamp = stamp
		if len(stamps) > 0 {
			c.envelopes[i].stamp = stamps[i]
		}
	}
	if len(c.alpha) > 0 && len(c.alpha) != len(c.envelopes) || strings.ContainsRune(c.format, 0) {
		return nil, nil, corrupt("its members")
	}
	return c, nil, nil
}
