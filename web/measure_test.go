package web_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// BenchmarkPage measures the page in Chromium with a simulated robot that lives beside it, and 100,000 other entities.
func BenchmarkPage(b *testing.B) {
	srv, _ := living(b, 1000)
	typ, _ := memories.Type("engram.speech.Text")
	said := func(id engram.ID, text string) engram.EntityUpdate {
		v, err := typ.Encode(map[string]any{"text": text})
		if err != nil {
			b.Fatal(err)
		}
		return engram.EntityUpdate{Entity: id, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: v})}}
	}
	if err := srv.AddCoreSegment(b.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Many")}); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		var crowd []engram.EntityUpdate
		for k := range 1000 {
			crowd = append(crowd, said(engram.MustID(fmt.Sprintf("GeneralPurpose/Many/Crowd/entity-%05d", i*1000+k)), "here"))
		}
		testkit.Commit(b, srv, crowd...)
	}
	url, _ := serve(b, srv, serving.AnyPort)
	ticks := 0
	for b.Loop() {
		report(b, browser(b, "measure.mjs", url, map[string]func() string{"commit": func() string {
			begun := time.Now()
			testkit.Commit(b, srv, said(engram.MustID("Speech/Text/Bench/clock"), fmt.Sprintf("tick-%d", ticks)))
			ticks++
			return strconv.FormatFloat(float64(begun.UnixMicro())/1000, 'f', 3, 64)
		}}))
	}
}

// report takes lines of "figure NAME VALUE" as figures of a benchmark.
func report(b *testing.B, lines []string) {
	for _, line := range lines {
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "figure "), " ")
		if v, err := strconv.ParseFloat(value, 64); ok && err == nil && strings.HasPrefix(line, "figure ") {
			b.ReportMetric(v, name)
		}
	}
}

// BenchmarkJump measures how long it takes until three views are complete after a jump to any second of an hour: 3D of
// the robot and its surroundings (100 Hz), images of its cameras (a pair each second), a plot of three joints. With -short
// it is a hundredth of an hour.
func BenchmarkJump(b *testing.B) {
	store, err := ltm.Open(b.Context(), ltm.Options{Dir: b.TempDir(), Log: testkit.Quiet})
	if err != nil {
		b.Fatal(err)
	}
	srv := serving.NewOf(b, server.Config{Memories: memories.All(), Log: testkit.Quiet, Store: store})
	ticks := 360_000
	if testing.Short() {
		ticks /= 100
	}
	from := engram.Now().Add(-2 * time.Hour)
	r, err := sim.New(sim.Config{Start: from})
	if err != nil {
		b.Fatal(err)
	}
	commit := func(c engram.Commit) {
		if len(c.Updates) > 0 {
			testkit.Commit(b, srv, c.Updates...)
		}
	}
	commit(r.Setup())
	for tick := range ticks {
		commit(r.State(tick))
		commit(r.Kitchen(tick))
		commit(r.Events(tick))
		if tick%100 == 0 {
			commit(r.Objects(tick))
			commit(r.Images(tick))
		}
	}
	if err := store.Seal(b.Context(), "benchmark"); err != nil {
		b.Fatal(err)
	}
	url, _ := serve(b, srv, serving.AnyPort)
	for b.Loop() {
		report(b, browser(b, "jump.mjs", fmt.Sprintf("%s?from=%d&to=%d", url, from, r.Time(ticks)), nil))
	}
}
