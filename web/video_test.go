package web_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/web"
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
	svc := robot(t)
	l := look(t, svc, web.Options{})
	const film = "Painter/Any/film/camera"
	now := engram.Now().Add(-time.Minute)
	at := func(i int) engram.Time { return now.Add(time.Duration(i) * 700 * time.Millisecond) }
	nal := func(kinds ...byte) (b []byte) {
		for _, k := range kinds {
			b = append(b, 0, 0, 0, 1, k, 1, 2, 3)
		}
		return b
	}
	frame := func(i int, format string, data []byte) {
		putMessage(t, svc, film, at(i), &foxglovepb.CompressedVideo{FrameId: "eye", Format: format, Data: append(data, byte(i))})
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
		frames := framesOf(t, l.ok("/view/video", "id", film, "t", fmt.Sprint(int64(at(shown))+1)))
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
	for when, want := range map[int]int{0: http.StatusNotFound, 30: http.StatusNotImplemented} {
		if status, b, _ := l.get("/view/video", "id", film, "t", fmt.Sprint(int64(at(when)))); status != want {
			t.Errorf("frame %d: %d %s", when, status, b)
		}
	}
	if status, b, _ := l.get("/view/video", "id", film, "as", "text/html"); status == http.StatusOK {
		t.Errorf("%d %s", status, b)
	}
	describe(t, svc, now)
	if status, b, _ := l.get("/view/video", "id", "RobotState/Description/arm/arm"); status != http.StatusNotImplemented {
		t.Errorf("%d %s", status, b)
	}
}

// A browser decodes it, at any time and live.
func TestVideoInTheBrowser(t *testing.T) {
	testkit.Node(t, "app", "playwright-core")
	cmd := exec.CommandContext(testkit.Context(t), testkit.Program(t, "ffmpeg"), strings.Fields("-loglevel error -f lavfi -i testsrc=size=320x240:rate=10 -t 3"+
		" -c:v libx264 -bf 0 -g 12 -pix_fmt yuv420p -bsf:v h264_metadata=aud=insert -f h264 -")...)
	stream, err := cmd.Output()
	if err != nil {
		t.Skip("ffmpeg makes no H.264: ", err)
	}
	srv := serving.New(t, memories.All()...)
	delimiter := []byte{0, 0, 0, 1, 9}
	begin := engram.Now().Add(-10 * time.Second)
	for i, data := range bytes.Split(stream, delimiter)[1:] {
		at := begin.Add(time.Duration(i) * 100 * time.Millisecond)
		putMessage(t, srv, "Vision/ImageRGB/Film/camera", at, &foxglovepb.CompressedVideo{FrameId: "eye", Format: "h264", Data: append(bytes.Clone(delimiter), data...)})
	}
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "video.mjs", url, map[string]func() string{"time": func() string { return begin.Add(1950 * time.Millisecond).String() }})
}
