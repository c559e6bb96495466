package codec

import (
	"bytes"
	"context"
	"image"
	"math"
	"strconv"

	"github.com/seed-301d4374/engram"
)

// groupOfPictures is after how many frames of video there is one that needs no
// other: as many as must be decoded to see one.
const groupOfPictures = 25

// maxFrame bounds a frame's sides, which H.264's levels bound too.
const maxFrame = 8192

// h264Encoder makes frames into packets, each good enough: a frame that comes out
// worse than asked for, judged by decoding it, begins a new group with a finer
// quantiser. One quantiser holds for a whole group, since that gives frames of
// almost the same PSNR, and so the least bytes for a least PSNR.
type h264Encoder struct {
	quality float64
	full    bool // colour for each pixel
	width   int  // of the frame
	height  int
	// Of how many views of what size, each of which must be good enough.
	views, viewWidth, viewHeight int

	qp      int     // quantiser of the running encoder
	tried   bool    // qp comes from a frame that was measured
	at      int     // frames since the last key
	worst   float64 // PSNR in this group
	encoder *ffmpeg
	packets aviReader
	decoder *h264Decoder
	back    *image.YCbCr
}

func (e *h264Encoder) pixFmt() string {
	if e.full {
		return "yuv444p"
	}
	return "yuv420p"
}

// start starts ffmpeg with the present quantiser.
func (e *h264Encoder) start() error {
	e.stop()
	args := append(frameArgs(e.pixFmt(), e.width, e.height),
		"-c:v", "libx264", "-preset", "medium", "-tune", "psnr", "-qp", strconv.Itoa(e.qp),
		"-bf", "0", "-g", strconv.Itoa(groupOfPictures), "-keyint_min", strconv.Itoa(groupOfPictures), "-sc_threshold", "0",
		// No look-ahead, and no waiting for the time of the next one: a frame that
		// goes in comes out. A wide search for motion, since robots turn their heads: 12 %
		// less of the simulated robot's images for a quarter more time.
		"-rc-lookahead", "0", "-x264-params", "sync-lookahead=0:force-cfr=1:ipratio=1:fullrange=on:colormatrix=smpte170m:chromaloc=1:me=umh",
		"-f", "avi")
	p, err := startFFmpeg(args...)
	if err != nil {
		return err
	}
	e.encoder, e.packets, e.at = p, aviReader{p: p}, 0
	return nil
}

// stop ends the encoder; the next frame will be a key.
func (e *h264Encoder) stop() {
	if e.encoder != nil {
		e.encoder.kill()
		e.encoder = nil
	}
}

func (e *h264Encoder) close() {
	e.stop()
	if e.decoder != nil {
		e.decoder.close()
		e.decoder = nil
	}
}

const (
	dbPerStep = 0.55 // what a step of the quantiser changes in PSNR, about
	keyAbove  = 1.2  // how much better a key is than what follows with its quantiser, about
	startQP   = 30
	minQP     = 4 // below, lossless codecs take less
	maxQP     = 48
)

// encode returns a frame's packet. The error is Unavailable if ffmpeg did not do
// it, and OutOfRange if H.264 cannot be as good as asked.
func (e *h264Encoder) encode(ctx context.Context, frame *image.YCbCr) (packet []byte, key bool, err error) {
	if e.qp == 0 {
		e.qp = startQP
	}
	if e.decoder != nil && e.decoder.worn() {
		e.stop()
		e.decoder.close()
		e.decoder = nil
	}
	if e.encoder != nil && e.at == groupOfPictures {
		e.at = 0
		if e.encoder.worn() {
			e.stop()
		}
		if spare := e.worst - e.quality; spare > 0.8 && e.qp < maxQP {
			e.qp = min(maxQP, e.qp+int(max(1, (spare-0.25)/dbPerStep)))
			e.stop()
		}
	}
	for tries := 0; ; tries++ {
		if e.encoder == nil {
			if err := e.start(); err != nil {
				return nil, false, err
			}
		}
		packet, key, err := e.pass(ctx, frame)
		if err != nil {
			return nil, false, err
		}
		db := e.measure(frame)
		finest := e.qp == minQP
		switch {
		case db < e.quality && finest:
			e.stop()
			return nil, false, engram.Errorf(engram.OutOfRange, "h264", "%.1f dB is the best it can, not %.1f", db, e.quality)
		case db < e.quality:
			// A margin, so that the next frames need not begin a group too.
			e.qp = max(minQP, e.qp-int(math.Ceil((e.quality-db+0.5)/dbPerStep)))
			e.stop()
			e.tried = true
			if tries > 12 {
				e.qp = minQP
			}
			continue
		case !e.tried && tries < 4 && db > e.quality+keyAbove+1 && e.qp < maxQP:
			// The first frame of all finds the quantiser.
			e.qp = min(maxQP, e.qp+int(max(1, (db-e.quality-keyAbove)/dbPerStep)))
			e.stop()
			continue
		}
		e.tried = true
		if e.at == 0 {
			e.worst = db
		}
		e.worst = min(e.worst, db)
		e.at++
		return packet, key, nil
	}
}

// pass sends a frame through the encoder and what comes out through the decoder.
func (e *h264Encoder) pass(ctx context.Context, frame *image.YCbCr) (packet []byte, key bool, err error) {
	done := e.encoder.until(ctx)
	defer done()
	for _, plane := range [][]byte{frame.Y, frame.Cb, frame.Cr} {
		if err := e.encoder.write(ctx, plane); err != nil {
			return nil, false, err
		}
	}
	if packet, err = e.packets.next(ctx); err != nil {
		return nil, false, err
	}
	e.encoder.begun = true
	packet, key = unitsOf(packet)
	if key != (e.at == 0) {
		return nil, false, e.encoder.fail(ctx, "encoding", engram.Errorf(engram.Internal, "ffmpeg", "frame %d of a group is of the wrong kind", e.at))
	}
	if e.decoder == nil {
		if e.decoder, err = newH264Decoder(e.width, e.height, e.full); err != nil {
			return nil, false, err
		}
	}
	if e.back == nil {
		e.back = image.NewYCbCr(frame.Rect, frame.SubsampleRatio)
	}
	if err := e.decoder.decode(ctx, [][]byte{packet}, e.back); err != nil {
		e.decoder.close()
		e.decoder = nil
		return nil, false, err
	}
	return packet, key, nil
}

// measure returns the PSNR of the view that came out worst.
func (e *h264Encoder) measure(frame *image.YCbCr) float64 {
	db := math.Inf(1)
	for i := range e.views {
		x := i * (frame.Rect.Dx() / e.views)
		db = min(db, psnr(view(frame, x, e.viewWidth, e.viewHeight), view(e.back, x, e.viewWidth, e.viewHeight)))
	}
	return db
}

// unitsOf returns a packet without the units that say how it was encoded, and
// whether decoding can begin with it.
func unitsOf(packet []byte) (out []byte, key bool) {
	const (
		idr       = 5
		extraInfo = 6
		delimiter = 9
	)
	startCode := []byte{0, 0, 1}
	out = make([]byte, 0, len(packet)+1)
	i := bytes.Index(packet, startCode)
	for i >= 0 {
		unit := packet[i+3:]
		next := bytes.Index(unit, startCode)
		if next >= 0 {
			unit = unit[:next]
		}
		// Zeros before a start code belong to it.
		trimmed := unit
		if next >= 0 {
			trimmed = bytes.TrimRight(unit, "\x00")
		}
		if len(trimmed) > 0 {
			kind := trimmed[0] & 31
			if kind == idr {
				key = true
			}
			if kind != extraInfo && kind != delimiter {
				out = append(append(out, 0, 0, 0, 1), trimmed...)
			}
		}
		if next < 0 {
			break
		}
		i += 3 + next
	}
	return out, key
}

// h264Decoder makes packets into frames.
type h264Decoder struct {
	*ffmpeg
	width, height int
	full          bool
}

func newH264Decoder(width, height int, full bool) (*h264Decoder, error) {
	// Named full range, so that no version converts it.
	pixFmt := "yuvj420p"
	if full {
		pixFmt = "yuvj444p"
	}
	p, err := startDecoder(aviWriter{fourCC: "H264", width: width, height: height, bits: 24}, pixFmt)
	if err != nil {
		return nil, err
	}
	return &h264Decoder{p, width, height, full}, nil
}

// startDecoder starts an ffmpeg that takes packets of a codec and gives frames.
func startDecoder(a aviWriter, pixFmt string) (*ffmpeg, error) {
	p, err := startFFmpeg(
		"-flags", "+low_delay", "-probesize", "32", "-analyzeduration", "0", "-fpsprobesize", "0",
		"-threads", "1", "-err_detect", "explode", "-f", "avi", "-i", "pipe:0",
		"-fps_mode", "passthrough", "-threads", "1", "-pix_fmt", pixFmt, "-f", "rawvideo")
	if err != nil {
		return nil, err
	}
	done := p.until(context.Background())
	defer done()
	if err := p.write(context.Background(), a.header()); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (d *h264Decoder) close() { d.kill() }

// decode sends packets in order and fills dst with the frame of the last one.
func (d *h264Decoder) decode(ctx context.Context, packets [][]byte, dst *image.YCbCr) error {
	done := d.until(ctx)
	defer done()
	var all []byte
	for _, p := range packets {
		all = appendPacket(all, p)
	}
	written := make(chan error, 1)
	if len(packets) == 1 {
		// It takes a packet whole before it gives anything.
		if err := d.write(ctx, all); err != nil {
			return err
		}
		written <- nil
	} else {
		go func() {
			_, err := d.in.Write(all)
			written <- err
		}()
	}
	var err error
	for range packets {
		for _, plane := range [][]byte{dst.Y, dst.Cb, dst.Cr} {
			if err == nil {
				err = d.read(ctx, plane)
			}
		}
	}
	if e := <-written; err == nil && e != nil {
		err = d.fail(ctx, "taking data", e)
	}
	d.begun = d.begun || err == nil
	return err
}
