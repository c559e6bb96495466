package codec

import (
	"context"
	"errors"
	"image"

	"github.com/seed-301d4374/engram"
)

// code returns the messages of a snapshot. Whatever happens, there are some.
func (e *imageEncoder) code(ctx context.Context, s *engram.Snapshot) []Message {
	pictures := make([]*picture, len(s.Instances))
	open := true
	for i := range s.Instances {
		p, ok := openPicture(s.Instances[i].Payload, e.shapes)
		if ok {
			pictures[i] = p
		}
		open = open && ok
	}
	e.images++
	if open && e.skip == 0 {
		var c *coded
		var ok bool
		switch {
		case e.codec == Image || e.codec == Video && onlyExact(pictures):
			c, ok = e.exactFrame(ctx, pictures)
		case e.codec == Video:
			c, ok = e.lossyFrame(ctx, pictures)
		}
		if ok {
			return []Message{e.frameMessage(s, c)}
		}
	} else if e.skip > 0 {
		e.skip--
	}
	if ctx.Err() != nil {
		return nil
	}
	// Stills are keys: what follows them cannot lean on what was before.
	e.endGroup()
	return e.stills(s, pictures)
}

// frameMessage returns the message of a frame that holds a snapshot's images.
func (e *imageEncoder) frameMessage(s *engram.Snapshot, c *coded) Message {
	key := c.format == formatFFV1 || e.h264.at == 1
	c.repeated = !key && c.follows(e.last)
	m := Message{Key: key, Snapshots: []*engram.Snapshot{WithoutPayload(s)}}
	m.Type, m.Bytes = c.message()
	e.last = c
	c.data = nil
	return m
}

// stills codes each image by itself, and leaves plain what cannot be coded.
func (e *imageEncoder) stills(s *engram.Snapshot, pictures []*picture) []Message {
	var messages []Message
	for i, p := range pictures {
		payload := &s.Instances[i].Payload
		m := Message{Type: payload.Type, Key: i == 0, Instance: i}
		if p != nil {
			var c *coded
			var ok bool
			if e.codec == Image {
				c, ok = e.still.exact(p)
			} else {
				c, ok = e.still.lossy(p)
			}
			if ok && len(c.data) < len(p.pixels) {
				m.Type, m.Bytes = c.message()
			}
		}
		if m.Bytes == nil {
			m.Bytes = plainForm(payload)
		}
		if i == len(pictures)-1 {
			m.Snapshots = []*engram.Snapshot{WithoutPayload(s)}
		}
		messages = append(messages, m)
	}
	return messages
}

// onlyExact reports whether all images are such that no lossy codec is for them.
func onlyExact(pictures []*picture) bool {
	for _, p := range pictures {
		if !p.exactOnly() {
			return false
		}
	}
	return true
}

// sideBySide reports whether the images can share a frame.
func sideBySide(pictures []*picture) bool {
	first := pictures[0]
	for _, p := range pictures {
		if p.width != first.width || p.height != first.height {
			return false
		}
	}
	return len(pictures) <= maxViews && first.width >= minVideo && first.height >= minVideo &&
		len(pictures)*(first.width+15) <= maxFrame && first.height <= maxFrame && len(pictures)*first.width*first.height <= maxPixels
}

// lossyFrame codes images side by side in a frame of video. It returns false if
// they cannot be, or ffmpeg does not.
func (e *imageEncoder) lossyFrame(ctx context.Context, pictures []*picture) (*coded, bool) {
	c := &coded{format: formatH264, full: e.ratio == image.YCbCrSubsampleRatio444}
	quality, hasAlpha := e.still.quality, false
	for _, p := range pictures {
		var alpha byte
		if p.shape == compressedImage {
			if !p.decodeFile() {
				return nil, false
			}
			quality = e.still.quality + recompressedMargin
		} else {
			var ok bool
			if alpha, ok = p.constantAlpha(); !ok || p.exactOnly() {
				return nil, false
			}
		}
		hasAlpha = hasAlpha || p.shape == rawImage && p.alpha >= 0
		c.alpha = append(c.alpha, alpha)
		c.envelopes = append(c.envelopes, p.envelope)
	}
	if !hasAlpha {
		c.alpha = nil
	}
	if !sideBySide(pictures) {
		return nil, false
	}
	c.width, c.height = pictures[0].width, pictures[0].height
	frame, at := planesOf(len(pictures), c.width, c.height, e.ratio)
	for i, p := range pictures {
		p.fill(frame, at(i), min(at(i+1), frame.Rect.Dx()))
		p.image = nil
	}
	if h := e.h264; h == nil || h.width != frame.Rect.Dx() || h.height != frame.Rect.Dy() || h.quality != quality || h.views != len(pictures) {
		e.stopVideo()
		e.h264 = &h264Encoder{
			quality: quality, full: c.full, width: frame.Rect.Dx(), height: frame.Rect.Dy(),
			views: len(pictures), viewWidth: c.width, viewHeight: c.height,
		}
	}
	for tries := 0; ; tries++ {
		packet, _, err := e.h264.encode(ctx, frame)
		if err == nil {
			e.failed = 0
			c.data = packet
			return c, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
		e.h264.close()
		if errors.Is(err, engram.OutOfRange) {
			e.skip = raceAgain
			return nil, false
		}
		// The frame is given to a new process, once.
		e.fault(err)
		if tries > 0 || errors.Is(err, errNoFFmpeg) {
			return nil, false
		}
		e.skip = 0
	}
}

// exactFrame codes images side by side as FFV1 where that takes fewer bytes than
// stills. It returns false if it does not, or they cannot be, or ffmpeg does not.
func (e *imageEncoder) exactFrame(ctx context.Context, pictures []*picture) (*coded, bool) {
	again := e.exact == "" || e.images%raceAgain == 0
	if e.exact != formatFFV1 && !again || !sideBySide(pictures) {
		return nil, false
	}
	first := pictures[0]
	for _, p := range pictures {
		if p.shape != rawImage || p.ffmpeg == "" || p.encoding != first.encoding || !p.cleanPadding() {
			return nil, false
		}
	}
	c := &coded{format: formatFFV1, width: first.width, height: first.height}
	row := first.rowBytes()
	frame := make([]byte, 0, len(pictures)*row*first.height)
	for y := range first.height {
		for _, p := range pictures {
			frame = append(frame, p.pixels[y*p.step:y*p.step+row]...)
		}
	}
	for _, p := range pictures {
		c.envelopes = append(c.envelopes, p.envelope)
	}
	if f := e.ffv1; f == nil || f.pixFmt != first.ffmpeg || f.width != len(pictures)*first.width || f.height != first.height {
		e.stopVideo()
		e.ffv1 = &ffv1Encoder{pixFmt: first.ffmpeg, width: len(pictures) * first.width, height: first.height}
	}
	var err error
	for tries := 0; ; tries++ {
		if c.data, c.extra, err = e.ffv1.encode(ctx, frame); err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, false
		}
		e.fault(err)
		if tries > 0 || errors.Is(err, errNoFFmpeg) {
			return nil, false
		}
		e.skip = 0
	}
	e.failed = 0
	if again {
		bytes := 0
		e.exact = formatFFV1
		for _, p := range pictures {
			if still, ok := e.still.exact(p); ok {
				bytes += len(still.data)
			} else {
				bytes += len(p.pixels)
			}
		}
		if bytes < len(c.data) {
			e.exact = formatPNG
			e.stopVideo()
			return nil, false
		}
	}
	return c, true
}
