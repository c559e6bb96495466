package web_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// framesOf takes an answer apart.
func framesOf(t *testing.T, b []byte) (frames [][]byte) {
	t.Helper()
	for len(b) > 0 {
		if len(b) < 4 || len(b) < 4+int(binary.BigEndian.Uint32(b)) {
			t.Fatalf("%d bytes are left", len(b))
		}
		n := 4 + int(binary.BigEndian.Uint32(b))
		frames, b = append(frames, b[4:n]), b[n:]
	}
	return frames
}

// A frame of video comes with those before it from the last key frame on; what cannot be decoded is refused.
func TestVideo(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	const film = "Vision/Any/film/camera"
	now := engram.Now().Add(-time.Minute)
	at := func(i int) engram.Time { return now.Add(time.Duration(i) * 700 * time.Millisecond) }
	nal := func(kinds ...byte) (b []byte) {
		for _, k := range kinds {
			b = append(b, 0, 0, 0, 1, k, 1, 2, 3)
		}
		return b
	}
	frame := func(i int, format string, data []byte) {
		testkit.Commit(t, svc, message(t, film, at(i), &foxglovepb.CompressedVideo{FrameId: "eye", Format: format, Data: append(data, byte(i))}))
	}
	frame(0, "h264", nal(0x41))
	for i := 1; i < 30; i++ {
		if i == 1 || i == 20 {
			frame(i, "h264", nal(0x09, 0x67, 0x68, 0x65))
		} else {
			frame(i, "h264", nal(0x09, 0x41))
		}
	}
	for shown, from := range map[int]int{1: 1, 7: 1, 19: 1, 20: 20, 25: 20} {
		res := p.piece("video", "id", film, "t", text(at(shown)+1))
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.Status, string(b), err)
		}
		frames := framesOf(t, b)
		if len(frames) != shown-from+1 {
			t.Errorf("%d frames for frame %d", len(frames), shown)
		}
		for i, f := range frames {
			if f[len(f)-1] != byte(from+i) {
				t.Errorf("frame %d of those for frame %d is %d", i, shown, f[len(f)-1])
			}
		}
	}
	frame(30, "h265", nal(0x41))
	testkit.Commit(t, svc, message(t, camera, now, raw("mono8", 1, 1, 1, 1)))
	p.refused(http.StatusNotFound, "video", "id", film, "t", text(at(0)))
	p.refused(http.StatusNotImplemented, "video", "id", film, "t", text(at(30)))
	p.refused(http.StatusBadRequest, "video", "id", film, "t", text(at(25)), "as", "text/html")
	p.refused(http.StatusNotImplemented, "video", "id", camera)
}

// A key frame is looked for among so many frames and bytes only; those before it do not count.
func TestVideoIsBounded(t *testing.T) {
	svc := cameras(t)
	p := open(t, svc)
	const film = "Vision/Any/film/camera"
	key, other := []byte{0, 0, 1, 0x67, 0, 0, 1, 0x65}, []byte{0, 0, 1, 0x41}
	var updates []engram.EntityUpdate
	commit := func(i int, data []byte) {
		updates = append(updates, message(t, film, start.Add(time.Duration(i)*time.Millisecond), &foxglovepb.CompressedVideo{Format: "h264", Data: data}))
	}
	for i := range 1500 {
		commit(i, other)
	}
	commit(1500, key)
	for i := range 1199 {
		commit(1501+i, other)
	}
	testkit.Commit(t, svc, updates...)
	b, err := io.ReadAll(p.piece("video", "id", film).Body)
	if frames := framesOf(t, b); err != nil || len(frames) != 1200 || !bytes.Equal(frames[0], key) {
		t.Fatal(len(frames), err)
	}
	updates = nil
	commit(2700, other)
	testkit.Commit(t, svc, updates...)
	p.refused(http.StatusTooManyRequests, "video", "id", film)
	updates = nil
	commit(2800, key)
	for i := range 5 {
		commit(2801+i, append(bytes.Clone(other), make([]byte, 7<<20)...))
	}
	testkit.Commit(t, svc, updates...)
	p.refused(http.StatusTooManyRequests, "video", "id", film)
}
