package web_test

import (
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// A real robot's images and joints are shown as they were recorded.
func TestRecording(t *testing.T) {
	path := testkit.Recording(t, "g1_bottle_2.mcap")
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	if _, err := ingest.Import(t.Context(), svc, path, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	p := open(t, svc)
	cameras := read[[]struct{ ID string }](p, "cameras")
	if len(cameras) != 1 {
		t.Fatal(cameras)
	}
	img, format, res := p.show("id", cameras[0].ID, "w", "160")
	if a := aboutOf(t, res); a.Width != 640 || a.Height != 480 || format != "jpeg" || img.Bounds() != image.Rect(0, 0, 160, 120) {
		t.Errorf("%+v, %s %v", a, format, img.Bounds())
	}
	// As the whole image has it, but for what it covers.
	whole, _, _ := p.show("id", cameras[0].ID)
	for _, at := range []image.Point{{20, 20}, {80, 60}, {140, 100}} {
		var sum [3]int
		for y := range 4 {
			for x := range 4 {
				c := color.RGBAModel.Convert(whole.At(4*at.X+x, 4*at.Y+y)).(color.RGBA)
				sum[0], sum[1], sum[2] = sum[0]+int(c.R), sum[1]+int(c.G), sum[2]+int(c.B)
			}
		}
		c := color.RGBAModel.Convert(img.At(at.X, at.Y)).(color.RGBA)
		for i, v := range []uint8{c.R, c.G, c.B} {
			if diff := int(v) - sum[i]/16; diff < -12 || diff > 12 {
				t.Errorf("%v is %v, and covers %v", at, c, sum)
			}
		}
	}
	stats, err := svc.Stats(t.Context(), engram.MustPattern("RobotState/Proprioception"), engram.LevelEntity)
	if err != nil {
		t.Fatal(err)
	}
	plotted := 0
	for _, s := range stats {
		if s.ID.Level() != engram.LevelEntity {
			continue
		}
		plotted++
		members := read[struct {
			Members []struct{ Path, Name string }
		}](p, "members", "id", s.ID.String()).Members
		at := slices.IndexFunc(members, func(m struct{ Path, Name string }) bool {
			return strings.HasPrefix(m.Path, `position["`) && m.Name != ""
		})
		if at < 0 {
			t.Fatalf("%v: there is no joint with a name: %v", s.ID, members)
		}
		got := read[series](p, "series", "id", s.ID.String(), "path", members[at].Path, "n", "100").Series[0]
		var count int64
		for _, n := range got.Count {
			count += n
		}
		if count != int64(s.Snapshots) {
			t.Errorf("%v: %d values of %d snapshots", s.ID, count, s.Snapshots)
		}
	}
	if plotted == 0 {
		t.Error("no joints")
	}
}

// A page that is opened on a recording of another day leads there.
func TestPageOfARecording(t *testing.T) {
	testkit.Long(t)
	testkit.Node(t, "app", "playwright-core")
	svc := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	if _, err := ingest.Import(t.Context(), svc, testkit.Recording(t, "g1_bottle_2.mcap"), ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, svc, serving.AnyPort)
	browser(t, "recording.mjs", url, nil)
}
