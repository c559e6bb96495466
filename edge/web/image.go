package web

import (
	"bytes"
	"context"
	"encoding/json"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories/vision"
)

const (
	// maxPixels bounds the images that are decoded: 8 bytes each at worst.
	maxPixels = 1 << 25
	// maxImages bounds the images of one snapshot.
	maxImages   = 256
	maxSide     = 1 << 14 // of an image that is answered, in pixels
	jpegQuality = 80
)

// found is an image of a snapshot: the payload of an instance, or a member of it.
type found struct {
	instance int
	path     string
	engram.Payload
}

// about is what the page is told of an image, as JSON in the header Engram-Image, whose special characters are escaped as
// those of a URL are.
type about struct {
	ID     string  `json:"id"`     // of the instance
	Path   string  `json:"path"`   // of the member; empty for a payload that is an image
	Images int     `json:"images"` // that one can choose from by i
	Width  int     `json:"width"`  // of the whole image
	Height int     `json:"height"`
	Format string  `json:"format"` // the encoding of a raw, the format of a compressed image
	Frame  string  `json:"frame"`  // in which the image was taken
	Near   float64 `json:"near"`   // where the colours of depth begin and end, m; both 0 for other images
	Far    float64 `json:"far"`
}

// image answers an image of a snapshot:
//
//	id        an instance, a snapshot, or an entity: its newest snapshot, or that in force at t
//	i         which of the images, if there are several: instances, and members of these; 0 is the first
//	path      only images that stand at this member
//	w, h      its largest size in pixels; it keeps its proportions and is never made larger
//	t, asof   the time of which the entity's snapshot is shown, and as it was known then
//	colour    depth: images of 16 bits, which hold depth in mm, in colours instead of greys
//	full      1 for a compressed image as it is stored, and a raw one as PNG, without loss
func (p *pictures) image(w http.ResponseWriter, r *http.Request, q query) error {
	m, err := q.asked()
	if err != nil {
		return err
	}
	look, err := q.look()
	if err != nil {
		return err
	}
	if r.Header.Get("If-None-Match") != "" {
		if s, err := p.snapshot(r.Context(), m, false); err == nil && p.unchanged(w, r, m, s) {
			return nil
		}
	}
	i, err := q.number("i", 0, maxImages-1, 0)
	if err != nil {
		return err
	}
	var d picture
	err = p.images.within(r.Context(), func() error { return p.draw(r.Context(), m, q.Get("path"), i, look, &d) })
	if err != nil {
		return err
	}
	if p.unchanged(w, r, m, d.of) {
		return nil
	}
	return answerImage(w, d.tell.ID, d.tell, d.kind, d.content)
}

// picture is an image as a browser shows it.
type picture struct {
	of      *engram.Snapshot
	tell    about
	kind    string
	content []byte
}

// draw draws the i-th image of a snapshot.
func (p *pictures) draw(ctx context.Context, m asked, path string, i int, look look, d *picture) error {
	s, err := p.snapshot(ctx, m, true)
	if err != nil {
		return err
	}
	d.of = s
	all, err := p.imagesOf(ctx, m, s, path)
	if err != nil {
		return err
	}
	if i >= len(all) {
		return engram.Errorf(engram.NotFound, m.entity.At(s.Time).String(), "has %d images, and none of number %d", len(all), i)
	}
	one := all[i]
	if one.Type == videoType {
		return engram.Errorf(engram.Unsupported, m.entity.At(s.Time).String(), "is a frame of %s, which the server does not decode; a browser does, from the key frame before it on", videoType)
	}
	info, err := vision.Describe(one.Payload)
	if err != nil {
		return err
	}
	d.tell = about{ID: m.entity.At(s.Time).Instance(one.instance).String(), Path: one.path, Images: len(all), Width: info.Width, Height: info.Height, Format: info.Encoding + info.Format, Frame: info.FrameID}
	draw := func() (err error) {
		d.kind, d.content, err = look.draw(one.Payload, info, &d.tell)
		return err
	}
	if hasMore(info, heavyPixels) {
		return p.heavy.within(ctx, draw)
	}
	return draw()
}

// answerImage writes an image, or the frames of one, with what is told about it.
func answerImage(w http.ResponseWriter, id string, tell any, kind string, content []byte) error {
	told, err := json.Marshal(tell)
	if err != nil {
		return engram.Errorf(engram.Internal, id, "%w", err)
	}
	h := w.Header()
	h.Set("Engram-Image", url.PathEscape(string(told)))
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, err = w.Write(content)
	return err
}

const videoType = "foxglove.CompressedVideo"

// imagesOf returns the images of a snapshot that stand at a path, or of any path if it is empty.
func (p *pictures) imagesOf(ctx context.Context, m asked, s *engram.Snapshot, path string) (all []found, err error) {
	for i := range s.Instances {
		payload := s.Instances[i].Payload
		if m.instance >= 0 && m.instance != i {
			continue
		}
		if payload.Type == videoType {
			all = append(all, found{i, "", payload})
			continue
		}
		t, err := p.types.get(ctx, payload.Type)
		if err != nil {
			return nil, err
		}
		err = t.Walk(payload.Bytes, idf.KindImage, func(f *idf.Found) bool {
			if path == "" || path == string(f.Path) {
				all = append(all, found{i, string(f.Path), engram.Payload{Type: f.Type, Bytes: f.Bytes}})
			}
			return len(all) < maxImages
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// look is how an image is to be shown.
type look struct {
	width, height int  // 0: as it is
	depth         bool // colours instead of greys, of 16-bit values
	full          bool
}

func (q query) look() (l look, err error) {
	if l.width, err = q.number("w", 1, maxSide, 0); err != nil {
		return l, err
	}
	if l.height, err = q.number("h", 1, maxSide, 0); err != nil {
		return l, err
	}
	switch c := q.Get("colour"); c {
	case "depth":
		l.depth = true
	case "":
	default:
		return l, engram.Errorf(engram.Invalid, "colour", "there is no %.64q; there is depth", c)
	}
	l.full = q.Get("full") == "1"
	return l, nil
}

// draw returns an image in a format that browsers show.
func (l look) draw(p engram.Payload, info vision.Info, tell *about) (kind string, content []byte, err error) {
	var out bytes.Buffer
	w, h := l.within(info.Width, info.Height)
	large := hasMore(info, maxPixels)
	if compressed := info.Format != ""; !large && (l.full || compressed && w == info.Width && h == info.Height) || compressed && l.full {
		if err := vision.Export(&out, p, ""); err != nil {
			return "", nil, err
		}
		switch kind = http.DetectContentType(out.Bytes()); kind {
		case "image/png":
			if !l.full && isDeepPNG(out.Bytes()) {
				break
			}
			fallthrough
		case "image/jpeg", "image/webp", "image/gif":
			return kind, out.Bytes(), nil
		}
		out.Reset()
	}
	if large {
		return "", nil, engram.Errorf(engram.Exhausted, p.Type, "an image of %d x %d pixels is larger than the %d pixels that are shown; full=1 gives compressed ones as they are", info.Width, info.Height, maxPixels)
	}
	img, err := vision.Decode(p)
	if err != nil {
		return "", nil, err
	}
	img, lossy := l.fit(img, info.Encoding, tell)
	if lossy {
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: jpegQuality})
		return "image/jpeg", out.Bytes(), err
	}
	err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, img)
	return "image/png", out.Bytes(), err
}

// hasMore reports whether an image has more pixels than so many.
func hasMore(info vision.Info, pixels int) bool {
	return info.Height > 0 && info.Width > pixels/info.Height // their product may be too large for a number
}

// isDeepPNG reports whether a PNG has 16-bit values of one channel, which browsers show nearly black if they are mm.
func isDeepPNG(b []byte) bool {
	const depth, colour = 24, 25 // of the header, which is the first chunk
	return len(b) > colour && b[depth] == 16 && b[colour] == 0
}
