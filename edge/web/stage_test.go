package web_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// BenchmarkStage measures 3D in Chromium, and how much of a core a page costs the server while
// somebody only looks at it.
func BenchmarkStage(b *testing.B) {
	testkit.Node(b, "app", "playwright-core")
	srv := serving.NewOf(b, server.Config{Memories: memories.All(), Log: testkit.Quiet, Limits: wm.Limits{MaxPayload: 128 << 20}})
	rest := live(b, srv, 300)
	large := engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Large"), Type: "foxglove.Grid", History: engram.Bounds{MaxBytes: 256 << 20}}
	if err := srv.AddCoreSegment(b.Context(), large); err != nil {
		b.Fatal(err)
	}
	url, _ := serve(b, srv, serving.AnyPort)
	var at time.Time
	var cpu time.Duration
	for b.Loop() {
		lines := browser(b, "stage.mjs", url, map[string]func() string{
			"rest": rest,
			"many": func() string { many(b, srv, 10_000); return "there" },
			"grid": func() string {
				const n = 10_000
				data := make([]byte, n*n)
				for i := range data {
					data[i] = byte((i/n/100 + i%n/100) % 2 * 200)
				}
				putMessage(b, srv, "GeneralPurpose/Large/Simulation/floor", engram.Now(), &foxglovepb.Grid{
					FrameId: "map", ColumnCount: n, RowStride: n, CellStride: 1, CellSize: &foxglovepb.Vector2{X: 0.05, Y: 0.05},
					Fields: []*foxglovepb.PackedElementField{{Name: "cost", Type: foxglovepb.PackedElementField_UINT8}}, Data: data,
				})
				return "there"
			},
			// Of a core that the server took since it was asked before.
			"share": func() string {
				var u syscall.Rusage
				if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
					b.Error(err)
				}
				now, spent := time.Now(), time.Duration(u.Utime.Nano()+u.Stime.Nano())
				share := (spent - cpu).Seconds() / now.Sub(at).Seconds()
				at, cpu = now, spent
				return strconv.FormatFloat(share, 'f', 5, 64)
			},
		})
		for _, line := range lines {
			var name string
			var value float64
			if n, _ := fmt.Sscanf(line, "figure %s %g", &name, &value); n == 2 {
				b.ReportMetric(value, name)
			}
		}
	}
}
