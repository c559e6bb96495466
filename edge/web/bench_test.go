package web_test

import (
	"fmt"
	"io"
	"net/http"
	neturl "net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"

	"github.com/seed-301d4374/engram/internal/sim"
)

// recordHour is a server with an hour of what a robot feels: 43 joints at 100 Hz, most of it on disk, and beside them
// a value that changes every ten minutes. With -short it is a hundredth of an hour.
func recordHour(b *testing.B) (svc *server.Server, from, to engram.Time, joints, sparse engram.ID) {
	const robot = "Test"
	store, err := ltm.Open(b.Context(), ltm.Options{Dir: b.TempDir(), Log: testkit.Quiet})
	if err != nil {
		b.Fatal(err)
	}
	svc = serving.NewOf(b, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
	if err := svc.AddCoreSegment(b.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Any")}); err != nil {
		b.Fatal(err)
	}
	ticks := 360_000
	if testing.Short() {
		ticks /= 100
	}
	from = engram.Now().Add(-2 * time.Hour)
	r, err := sim.New(sim.Config{Robot: robot, Start: from})
	if err != nil {
		b.Fatal(err)
	}
	for tick := range ticks {
		c := r.State(tick)
		for _, u := range c.Updates {
			if u.Entity.CoreSegment() == "Proprioception" {
				joints = u.Entity
				testkit.Commit(b, svc, u)
			}
		}
		if tick%2000 == 1999 { // as fast as is recorded, so that all is
			testkit.Until(b, func() (string, bool) {
				stats, err := svc.Stats(b.Context(), engram.PatternOf(joints), engram.LevelEntity)
				if err != nil || len(stats) == 0 {
					return fmt.Sprint(err), false
				}
				n := stats[len(stats)-1].Disk.Snapshots
				return fmt.Sprintf("%d of %d are recorded", n, tick+1), n > uint64(tick)
			})
		}
		if tick%60_000 == 0 {
			sparse = engram.MustID("GeneralPurpose/Any/p/sparse")
			testkit.Commit(b, svc, testkit.Update(b, sparse.String(), r.Time(tick), float64(tick)))
		}
	}
	if err := store.Seal(b.Context(), "benchmark"); err != nil {
		b.Fatal(err)
	}
	return svc, from, r.Time(ticks), joints, sparse
}

// cpuTime is what the process has used of its processors.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// A plot of an hour: ten joints at 100 Hz, and a series beside them that hardly changes.
func BenchmarkHour(b *testing.B) {
	svc, from, to, joints, sparse := recordHour(b)
	p := open(b, svc)
	ask := func(b *testing.B, name string, query ...string) {
		res := p.piece(name, append(query, "from", text(from), "to", text(to), "n", "1000")...)
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err)
		}
	}
	var named []string // the positions, by the joints' names
	for _, m := range read[struct{ Members []struct{ Path string } }](p, "members", "id", joints.String()).Members {
		if strings.HasPrefix(m.Path, "position[") {
			named = append(named, m.Path)
		}
	}
	turn := 0
	for _, n := range []int{1, 10} {
		for _, of := range []struct {
			name string
			path func(i int) string
		}{
			{"series", func(i int) string { return fmt.Sprintf("position[%d]", (4*i+turn)%43) }},
			{"series by name", func(i int) string { return named[(4*i+turn)%len(named)] }},
			{"series again", func(i int) string { return fmt.Sprintf("position[%d]", 4*i) }},
		} {
			b.Run(fmt.Sprintf("%s/joints=%d", of.name, n), func(b *testing.B) {
				began := cpuTime(b)
				for b.Loop() {
					turn++ // other joints each time, of which nothing is held
					query := []string{"id", joints.String()}
					for i := range n {
						query = append(query, "path", of.path(i))
					}
					ask(b, "series", query...)
					ask(b, "series", "id", sparse.String(), "path", "")
				}
				b.ReportMetric(float64((cpuTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
			})
		}
	}
	b.Run("density", func(b *testing.B) {
		for b.Loop() {
			ask(b, "density", "id", joints.String(), "id", sparse.String())
		}
	})
}

// BenchmarkPlot is BenchmarkHour in Chromium: from the address to the whole plot on the screen, in ms.
func BenchmarkPlot(b *testing.B) {
	svc, from, to, joints, sparse := recordHour(b)
	var plot []string
	for i := range 10 {
		plot = append(plot, fmt.Sprintf("%v#position[%d]", joints, 4*i))
	}
	url, _ := serve(b, svc, serving.AnyPort)
	query := neturl.Values{"plot": {strings.Join(append(plot, sparse.String()+"#"), "|")}, "from": {text(from)}, "to": {text(to)}}
	for b.Loop() {
		for _, line := range browser(b, "plot.mjs", url+"?"+query.Encode(), nil) {
			if name, value, ok := strings.Cut(strings.TrimPrefix(line, "figure "), " "); ok && strings.HasPrefix(line, "figure ") {
				if ms, err := strconv.ParseFloat(value, 64); err == nil {
					b.ReportMetric(ms, name)
				}
			}
		}
	}
}

// An image of a camera, as a page shows it in a tile, and as it is.
func BenchmarkImage(b *testing.B) {
	svc := cameras(b)
	p := open(b, svc)
	data := make([]byte, 640*480*3)
	for i := range data {
		data[i] = byte(i/1920 + i%1001/9)
	}
	testkit.Commit(b, svc, message(b, camera, start, raw("rgb8", 640, 480, 1920, data...)))
	for _, width := range []string{"320", "640"} {
		b.Run("rgb8 640x480/w="+width, func(b *testing.B) {
			for b.Loop() {
				if res := p.piece("image", "id", camera, "w", width); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
		})
	}
}
