package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
)

const (
	// maxVideoFrames and maxVideoBytes bound what a browser decodes to show one frame.
	maxVideoFrames = 1200
	maxVideoBytes  = 32 << 20
)

// videoSpans are how far before a frame a key frame is looked for, one after the other.
var videoSpans = []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}

// aboutVideo tells the page of the frames it is answered, as [about] does of images.
type aboutVideo struct {
	ID     string `json:"id"`
	Format string `json:"format"`
	Frame  string `json:"frame"`
}

// video answers the frame of an entity of foxglove.CompressedVideo that was in force at t, or the newest, with those before
// it from a key frame on, which a browser needs to decode it. Each is its length (big-endian, 4 bytes) and its data.
//
//	id, t, asof  as of images
//	as           image/jpeg or image/png: the frame alone, decoded here
func (p *pictures) video(w http.ResponseWriter, r *http.Request, q query) error {
	m, err := q.asked()
	if err != nil {
		return err
	}
	kind, tell, body := q.Get("as"), aboutVideo{}, []byte(nil)
	err = p.films.within(r.Context(), func() (err error) {
		tell, body, err = p.film(r.Context(), m, kind)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return answerImage(w, tell.ID, tell, cmp.Or(kind, "application/octet-stream"), body)
}

// film returns the frames up to one, or this as an image of a kind if that is not empty.
func (p *pictures) film(ctx context.Context, m asked, kind string) (tell aboutVideo, body []byte, err error) {
	last, err := p.snapshot(ctx, m, true)
	if err != nil {
		return tell, nil, err
	}
	newest, err := videoFrame(m, last)
	if err != nil {
		return tell, nil, err
	}
	if newest.GetFormat() != "h264" {
		return tell, nil, engram.Errorf(engram.Unsupported, m.entity.At(last.Time).String(), "is video of format %q; browsers are given h264", newest.GetFormat())
	}
	frames, err := p.fromKey(ctx, m, last)
	if err != nil {
		return tell, nil, err
	}
	tell = aboutVideo{m.entity.At(last.Time).Instance(max(m.instance, 0)).String(), newest.GetFormat(), newest.GetFrameId()}
	if kind != "" {
		body, err = still(ctx, frames, tell.ID, kind)
		return tell, body, err
	}
	for _, f := range frames {
		body = binary.BigEndian.AppendUint32(body, uint32(len(f)))
		body = append(body, f...)
	}
	return tell, body, nil
}

// fromKey returns the frames from the last key frame on up to a snapshot.
func (p *pictures) fromKey(ctx context.Context, m asked, last *engram.Snapshot) ([][]byte, error) {
	name := m.entity.At(last.Time).String()
	var after frames
	end := last.Time.Add(1)
	for _, span := range videoSpans {
		start := last.Time.Add(-span)
		q := engram.SelectID(m.entity, engram.In(engram.Interval{Start: start, End: end}))
		q.AsOf = m.asOf
		var part frames
		err := p.svc.QueryParts(ctx, q, func(r *engram.Result) error {
			for it := range r.All() {
				f, err := videoFrame(m, it.Snapshot)
				if err != nil {
					return err
				}
				part.add(f.GetData())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if part.join(&after); part.full {
			return nil, engram.Errorf(engram.Exhausted, name, "no key frame is among the %d frames or the %d bytes before it", maxVideoFrames, maxVideoBytes)
		}
		if part.key {
			return part.data, nil
		}
		after, end = part, start
	}
	return nil, engram.Errorf(engram.NotFound, name, "no key frame is in the %v before it", videoSpans[len(videoSpans)-1])
}

// frames are those of video in a span, from its last key frame on; all of them if it has none.
type frames struct {
	data [][]byte
	size int
	key  bool // it begins with one
	full bool // there are more than a browser is given, which are not kept
}

func (fs *frames) add(b []byte) {
	if isKeyFrame(b) {
		*fs = frames{key: true}
	}
	fs.data, fs.size = append(fs.data, b), fs.size+len(b)
	fs.bound()
}

// join adds the frames of a span that comes later and has no key frame.
func (fs *frames) join(later *frames) {
	fs.data, fs.size, fs.full = append(fs.data, later.data...), fs.size+later.size, fs.full || later.full
	fs.bound()
}

func (fs *frames) bound() {
	if fs.full = fs.full || len(fs.data) > maxVideoFrames || fs.size > maxVideoBytes; fs.full {
		fs.data = nil
	}
}

// videoFrame reads the frame of a snapshot that is asked for, of its first instance if any will do.
func videoFrame(m asked, s *engram.Snapshot) (*foxglovepb.CompressedVideo, error) {
	instance := max(m.instance, 0)
	if instance >= len(s.Instances) || s.Instances[instance].Payload.Type != videoType {
		return nil, engram.Errorf(engram.Unsupported, m.entity.At(s.Time).String(), "is no frame of %s", videoType)
	}
	var f foxglovepb.CompressedVideo
	if err := proto.Unmarshal(s.Instances[instance].Payload.Bytes, &f); err != nil {
		return nil, engram.Errorf(engram.Corrupt, m.entity.At(s.Time).String(), "%w", err)
	}
	return &f, nil
}

// isKeyFrame reports whether decoding can begin at a frame of H.264: it brings its parameters, and a picture that needs no
// other one.
func isKeyFrame(b []byte) bool {
	parameters, picture := false, false
	for {
		i := bytes.Index(b, []byte{0, 0, 1})
		if parameters && picture || i < 0 || i+3 >= len(b) {
			return parameters && picture
		}
		b = b[i+3:]
		switch b[0] & 0x1f {
		case 5:
			picture = true
		case 7:
			parameters = true
		case 1: // another picture: the long search through its data is of no use
			return false
		}
	}
}
