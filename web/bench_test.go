package web_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"

	"github.com/seed-301d4374/engram/internal/sim"
)

// recordHour is a server with an hour of what a robot feels: 43 joints at 100 Hz, most of it on disk, and beside them
// a value that changes every ten minutes. With -short it is a hundredth of an hour.
func recordHour(b *testing.B) (p *viewer, from, to engram.Time, joints, sparse engram.ID) {
	const robot = "Test"
	store, err := ltm.Open(b.Context(), ltm.Options{Dir: b.TempDir(), Log: testkit.Quiet})
	if err != nil {
		b.Fatal(err)
	}
	svc := serving.NewOf(b, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
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
		if tick%60_000 == 0 {
			sparse = engram.MustID("GeneralPurpose/Any/p/sparse")
			testkit.Commit(b, svc, testkit.Update(b, sparse.String(), r.Time(tick), float64(tick)))
		}
	}
	if err := store.Seal(b.Context(), "benchmark"); err != nil {
		b.Fatal(err)
	}
	return open(b, svc), from, r.Time(ticks), joints, sparse
}

// A plot of an hour: ten joints at 100 Hz, and a series beside them that hardly changes.
func BenchmarkHour(b *testing.B) {
	p, from, to, joints, sparse := recordHour(b)
	ask := func(b *testing.B, name string, query ...string) {
		res := p.piece(name, append(query, "from", text(from), "to", text(to), "n", "1000")...)
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err)
		}
	}
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("series/joints=%d", n), func(b *testing.B) {
			query := []string{"id", joints.String()}
			for i := range n {
				query = append(query, "path", fmt.Sprintf("position[%d]", 4*i))
			}
			for b.Loop() {
				ask(b, "series", query...)
				ask(b, "series", "id", sparse.String(), "path", "")
			}
		})
	}
	b.Run("density", func(b *testing.B) {
		for b.Loop() {
			ask(b, "density", "id", joints.String(), "id", sparse.String())
		}
	})
}

// An image of a camera, as a page shows it in a tile, and as it is.
func BenchmarkImage(b *testing.B) {
	svc := cameras(b)
	p := open(b, svc)
	data := make([]byte, 1280*720*3)
	for i := range data {
		data[i] = byte(i/3840 + i%1001/9)
	}
	testkit.Commit(b, svc, message(b, camera, start, raw("rgb8", 1280, 720, 3840, data...)))
	for _, width := range []string{"320", "1280"} {
		b.Run("rgb8 1280x720/w="+width, func(b *testing.B) {
			for b.Loop() {
				if res := p.piece("image", "id", camera, "w", width); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
		})
	}
}
