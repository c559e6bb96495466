package web_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Images and plots in a real browser: what the cameras see, live and before, depth in colours, images saved; numbers that
// are chosen, plotted live, gone to, looked closer at and taken along.
func TestPanels(t *testing.T) {
	srv, rest := living(t, 400)
	var near, far []float64
	for i := range 64 {
		near, far = append(near, 1+float64(i)/64), append(far, 3)
	}
	near[5] = 0
	depth := depths("16UC1", 48, append(near, far...)...)
	testkit.Commit(t, srv, message(t, "Vision/ImageDepth/Simulation/depth_camera", engram.Now().Add(-5*time.Second), depth))
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "panels.mjs", url, map[string]func() string{"rest": rest, "skill": func() string {
		stats, err := srv.Stats(t.Context(), engram.MustPattern("Skill/Execution/Platform"), engram.LevelEntity)
		if err != nil {
			t.Error(err)
		}
		for _, s := range stats {
			if s.ID.Level() == engram.LevelEntity {
				return s.ID.Entity()
			}
		}
		return ""
	}})
}

// The lines of plots: of many values in a bin, of values that hold, are told regularly, are lost, or are none.
func TestLines(t *testing.T) {
	inNode(t, "lines.mjs")
}

// A browser decodes video, at any time and live; one that does not is given images.
func TestVideoInTheBrowser(t *testing.T) {
	testkit.Long(t)
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
		testkit.Commit(t, srv, message(t, "Vision/ImageRGB/Film/camera", at, &foxglovepb.CompressedVideo{FrameId: "eye", Format: "h264", Data: append(bytes.Clone(delimiter), data...)}))
	}
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "video.mjs", url, map[string]func() string{"time": func() string { return begin.Add(1950 * time.Millisecond).String() }})
}
