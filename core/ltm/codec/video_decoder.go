package codec

import (
	"context"
	"image"

	"github.com/seed-301d4374/engram"
)

// maxGroup bounds the packets that a frame of video is decoded from. Encoders keep
// to groupOfPictures.
const maxGroup = 1024

// imageDecoder decodes what an imageEncoder wrote, of whatever codec.
type imageDecoder struct {
	parts []part // of the snapshot that is not complete yet
	last  *coded // the envelopes that a message may leave out

	// The packets of video since the last key, and how many of them h264 has had.
	group [][]byte
	fed   int
	h264  *h264Decoder
	ffv1  *ffv1Decoder
}

// part is an instance in a message of its own, plain if coded is nil.
type part struct {
	plain engram.Payload
	coded *coded
}

// Decode returns snapshots whose plain payloads share m's bytes. After an error the
// next message must be a key.
func (d *imageDecoder) Decode(ctx context.Context, m Message, want []bool) ([]*engram.Snapshot, error) {
	if m.Key {
		d.forget()
	}
	s, err := d.decode(ctx, m, want)
	if err != nil {
		d.forget()
	}
	return s, err
}

// forget gives up what a later message could have leaned on.
func (d *imageDecoder) forget() { d.parts, d.group, d.fed, d.last = d.parts[:0], nil, 0, nil }

func (d *imageDecoder) decode(ctx context.Context, m Message, want []bool) ([]*engram.Snapshot, error) {
	c, plain, err := parseCoded(m, d.last)
	if err != nil {
		return nil, err
	}
	wanted := len(want) == 0 || want[0]
	if c != nil && c.isVideo() {
		return d.frame(ctx, m, c, wanted)
	}
	if m.Instance != len(d.parts) {
		return nil, engram.Errorf(engram.Corrupt, m.Type, "instance %d of a snapshot follows %d others; messages are missing before it", m.Instance, len(d.parts))
	}
	d.parts = append(d.parts, part{engram.Payload{Type: m.Type, Bytes: plain}, c})
	if len(m.Snapshots) == 0 {
		return nil, nil
	}
	s, err := complete(m, len(d.parts))
	if err != nil {
		return nil, err
	}
	for i, p := range d.parts {
		payload := p.plain
		if p.coded != nil {
			payload = engram.Payload{Type: p.coded.envelopes[0].typ}
			if wanted {
				if payload, err = decodeStill(p.coded); err != nil {
					return nil, err
				}
			}
		}
		if !wanted {
			payload.Bytes = nil
		}
		s.Instances[i].Payload = payload
	}
	d.parts = d.parts[:0]
	return []*engram.Snapshot{s}, nil
}

// complete returns a copy of the one snapshot of n instances that a message completes.
func complete(m Message, n int) (*engram.Snapshot, error) {
	if len(m.Snapshots) != 1 || len(m.Snapshots[0].Instances) != n {
		return nil, engram.Errorf(engram.Corrupt, m.Type, "a message completes %d snapshots, not one of %d instances", len(m.Snapshots), n)
	}
	return WithoutPayload(m.Snapshots[0]), nil
}

// frame decodes a message that holds all images of a snapshot.
func (d *imageDecoder) frame(ctx context.Context, m Message, c *coded, wanted bool) ([]*engram.Snapshot, error) {
	s, err := complete(m, len(c.envelopes))
	if err != nil {
		return nil, err
	}
	n := int64(len(c.envelopes))
	if c.width <= 0 || c.height <= 0 || c.width > maxFrame || c.height > maxFrame || n > maxViews || n*int64(c.width)*int64(c.height) > maxPixels {
		return nil, engram.Errorf(engram.Corrupt, m.Type, "a frame of %d images of %d x %d pixels", n, c.width, c.height)
	}
	d.last = c
	if c.format == formatH264 {
		if len(d.group) >= maxGroup {
			return nil, engram.Errorf(engram.Corrupt, m.Type, "%d frames of video without one to begin at", len(d.group))
		}
		if len(d.group) == 0 && !m.Key {
			return nil, engram.Errorf(engram.Corrupt, m.Type, "a frame of video without the ones that it needs; decode from a key on")
		}
		d.group = append(d.group, c.data)
	}
	if !wanted {
		for i := range c.envelopes {
			s.Instances[i].Payload.Type = c.envelopes[i].typ
		}
		return []*engram.Snapshot{s}, nil
	}
	if c.format == formatH264 {
		err = d.fromH264(ctx, c, s)
	} else {
		err = d.fromFFV1(ctx, c, s)
	}
	if err != nil {
		return nil, err
	}
	return []*engram.Snapshot{s}, nil
}

func (d *imageDecoder) fromH264(ctx context.Context, c *coded, s *engram.Snapshot) error {
	ratio := image.YCbCrSubsampleRatio420
	if c.full {
		ratio = image.YCbCrSubsampleRatio444
	}
	frame, at := planesOf(len(c.envelopes), c.width, c.height, ratio)
	if h := d.h264; h != nil && (h.width != frame.Rect.Dx() || h.height != frame.Rect.Dy() || h.full != c.full || h.worn()) {
		d.closeH264()
	}
	for tries := 0; ; tries++ {
		err := d.feed(ctx, frame, c.full)
		if err == nil {
			break
		}
		refused := d.h264 != nil && d.h264.refused
		d.closeH264()
		switch {
		case refused:
			return engram.Errorf(engram.Corrupt, videoType, "a frame of video, %d after its key: %w", len(d.group)-1, err)
		case ctx.Err() != nil || tries > 0:
			return err
		}
		// A process that was killed or hung may have company that is not.
	}
	for i := range c.envelopes {
		p, err := c.envelopes[i].paint(c, i, view(frame, at(i), c.width, c.height))
		if err != nil {
			return err
		}
		s.Instances[i].Payload = p
	}
	return nil
}

// feed gives the decoder what it has not had of the group.
func (d *imageDecoder) feed(ctx context.Context, frame *image.YCbCr, full bool) error {
	if d.h264 == nil {
		d.fed = 0
		var err error
		if d.h264, err = newH264Decoder(frame.Rect.Dx(), frame.Rect.Dy(), full); err != nil {
			return err
		}
	}
	if err := d.h264.decode(ctx, d.group[d.fed:], frame); err != nil {
		return err
	}
	d.fed = len(d.group)
	return nil
}

func (d *imageDecoder) fromFFV1(ctx context.Context, c *coded, s *engram.Snapshot) error {
	g, ok := geometryOf(c.envelopes[0].rest)
	if !ok || g.ffmpeg == "" || g.width != c.width || g.height != c.height {
		return engram.Errorf(engram.Corrupt, c.format, "the size or encoding of the image that it stands for is damaged")
	}
	width := len(c.envelopes) * c.width
	if f := d.ffv1; f != nil && (f.pixFmt != g.ffmpeg || f.width != width || f.height != c.height || string(f.extra) != string(c.extra) || f.worn()) {
		d.closeFFV1()
	}
	row := g.rowBytes()
	frame := make([]byte, len(c.envelopes)*row*c.height)
	for tries := 0; ; tries++ {
		var err error
		if d.ffv1 == nil {
			if d.ffv1, err = newFFV1Decoder(g.ffmpeg, width, c.height, c.extra); err != nil {
				return err
			}
		}
		if err = d.ffv1.decode(ctx, c.data, frame); err == nil {
			break
		}
		refused := d.ffv1.refused
		d.closeFFV1()
		switch {
		case refused:
			return engram.Errorf(engram.Corrupt, c.format, "a coded image of %d bytes: %w", len(c.data), err)
		case ctx.Err() != nil || tries > 0:
			return err
		}
	}
	for i := range c.envelopes {
		e := &c.envelopes[i]
		g, ok := geometryOf(e.rest)
		if !ok || g.width != c.width || g.height != c.height || g.rowBytes() != row || e.dataNumber != rawData || !g.valid(g.step*g.height) {
			return engram.Errorf(engram.Corrupt, c.format, "the size or encoding of the image that it stands for is damaged")
		}
		b, data := e.open(g.step * g.height)
		for y := range g.height {
			copy(data[y*g.step:], frame[(y*len(c.envelopes)+i)*row:][:row])
		}
		s.Instances[i].Payload = engram.Payload{Type: e.typ, Bytes: b}
	}
	return nil
}

func (d *imageDecoder) closeH264() {
	if d.h264 != nil {
		d.h264.close()
		d.h264 = nil
	}
}

func (d *imageDecoder) closeFFV1() {
	if d.ffv1 != nil {
		d.ffv1.kill()
		d.ffv1 = nil
	}
}

func (d *imageDecoder) Close() error {
	d.closeH264()
	d.closeFFV1()
	return nil
}
