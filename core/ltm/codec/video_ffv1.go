package codec

import (
	"bytes"
	"context"

	"github.com/seed-301d4374/engram"
)

// ffv1Encoder makes frames into packets of FFV1 without loss, each by itself.
type ffv1Encoder struct {
	pixFmt        string
	width, height int // of the frame
	encoder       *ffmpeg
	packets       aviReader
}

// codedPixFmt is what FFV1 codes pixels of a format as.
func codedPixFmt(pixFmt string) string {
	switch pixFmt {
	case "rgb24", "bgr24":
		return "bgr0"
	case "rgba":
		return "bgra"
	}
	return pixFmt
}

func (e *ffv1Encoder) close() {
	if e.encoder != nil {
		e.encoder.kill()
		e.encoder = nil
	}
}

// encode returns the packet of a frame, and the configuration its decoder needs.
// The error is Unavailable if ffmpeg did not do it. The first packet of each process
// is decoded and compared: after that, its frames are all alike to it.
func (e *ffv1Encoder) encode(ctx context.Context, frame []byte) (packet, extra []byte, err error) {
	if e.encoder != nil && e.encoder.worn() {
		e.close()
	}
	fresh := e.encoder == nil
	if fresh {
		args := append(frameArgs(e.pixFmt, e.width, e.height),
			"-c:v", "ffv1", "-level", "3", "-g", "1", "-slices", "4", "-slicecrc", "1",
			// Golomb-Rice with small contexts: a sixth more bytes than the range coder
			// in two thirds of its time, which a stereo pair at 20 Hz needs.
			"-coder", "0", "-context", "0",
			"-pix_fmt", codedPixFmt(e.pixFmt), "-f", "avi")
		if e.encoder, err = startFFmpeg(args...); err != nil {
			return nil, nil, err
		}
		e.packets = aviReader{p: e.encoder}
	}
	done := e.encoder.until(ctx)
	defer done()
	if err = e.encoder.write(ctx, frame); err == nil {
		packet, err = e.packets.next(ctx)
	}
	if err == nil {
		e.encoder.begun = true
		if fresh {
			err = e.check(ctx, frame, packet)
		}
	}
	if err != nil {
		e.close()
		return nil, nil, err
	}
	return packet, e.packets.extra, nil
}

func (e *ffv1Encoder) check(ctx context.Context, frame, packet []byte) error {
	d, err := newFFV1Decoder(e.pixFmt, e.width, e.height, e.packets.extra)
	if err != nil {
		return err
	}
	defer d.kill()
	back := make([]byte, len(frame))
	if err := d.decode(ctx, packet, back); err != nil {
		return err
	}
	if !bytes.Equal(back, frame) {
		return engram.Errorf(engram.Unavailable, "ffmpeg", "its FFV1 does not keep %s as it is", e.pixFmt)
	}
	return nil
}

// ffv1Decoder makes packets into frames.
type ffv1Decoder struct {
	*ffmpeg
	pixFmt        string
	width, height int
	extra         []byte
}

func newFFV1Decoder(pixFmt string, width, height int, extra []byte) (*ffv1Decoder, error) {
	p, err := startDecoder(aviWriter{fourCC: "FFV1", width: width, height: height, bits: 24, extra: extra}, pixFmt)
	if err != nil {
		return nil, err
	}
	return &ffv1Decoder{p, pixFmt, width, height, extra}, nil
}

// decode sends a packet and fills dst with the frame it gives.
func (d *ffv1Decoder) decode(ctx context.Context, packet, dst []byte) error {
	done := d.until(ctx)
	defer done()
	if err := d.write(ctx, appendPacket(nil, packet)); err != nil {
		return err
	}
	if err := d.read(ctx, dst); err != nil {
		return err
	}
	d.begun = true
	return nil
}
