package ltm_test

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/policy"
	"github.com/seed-301d4374/engram/wm"
)

// other is an entity beside volatileCup.
const other = "Test/Volatile/p/other"

// beginWithTwo begins a memory with twenty snapshots of volatileCup and of other. Those over ten steps old are due.
func beginWithTwo(t *testing.T) (l *life, o ltm.Options, c *clock) {
	t.Helper()
	c = &clock{}
	o = ltm.Options{Dir: fastDir(t), Now: c.now, ForgetEvery: time.Hour, SealAge: 10_000 * time.Hour, Policies: map[engram.ID]policy.Policy{
		engram.MustID("Test/Volatile"): {Keep: policy.Retention{MaxAge: 10 * step}},
	}}
	l = begin(t, o)
	if err := l.wm.Values().Begin("Test"); err != nil {
		t.Fatal(err)
	}
	l.stepwise(t, c, 0, 20, 4, volatileCup, other)
	return l, o, c
}

// What an entity is worth in the working memory slows how it goes by age, in the next epoch as
// well, and fades by the clock.
func TestWorthSlowsForgetting(t *testing.T) {
	l, o, c := beginWithTwo(t)
	l.wm.Values().Regard(engram.MustID(volatileCup), wm.Marked, wm.MarkUses)
	stretch := func(entity string) float64 {
		t.Helper()
		st, err := l.Stats(t.Context(), engram.MustPattern(entity), engram.LevelEntity, nil)
		if err != nil || len(st) != 1 {
			t.Fatal(st, err)
		}
		return st[0].Disk.Stretch
	}
	l.end(t)
	l = begin(t, o)
	if marked, usual := stretch(volatileCup), stretch(other); marked != 2.5 || usual != 1 {
		t.Errorf("in the next epoch ages count %v and %v times less, want 2.5 and 1", marked, usual)
	}
	l.due(t)
	l.onDisk(t, "what was marked", volatileCup, span(0, 20)...)
	l.onDisk(t, "what was not", other, span(8, 20)...)
	c.Store(int64(after(30)[0]))
	l.due(t)
	l.onDisk(t, "what was marked, later", volatileCup, span(4, 20)...)
	l.onDisk(t, "what was not, later", other)
	c.Add(int64(30 * 24 * time.Hour))
	if left := stretch(volatileCup); left < 1.74 || left > 1.76 {
		t.Errorf("after 30 days ages count %v times less, want 1.75", left)
	}
}

// A mark by hand slows how what is on disk goes by age, whether RAM has the entity or not; it does not fade, and
// leaves nothing behind when it is taken back.
func TestMarkSlowsForgetting(t *testing.T) {
	l, o, c := beginWithTwo(t)
	l.end(t)
	l = begin(t, o) // RAM has nothing of it
	mark := engram.Mark{ID: engram.MustID("S/Mark/ann/cups"), Note: "for the demo"}
	if err := l.wm.Values().SetMarks([]wm.StandingMark{{Mark: mark, Of: engram.MustPattern(volatileCup)}}); err != nil {
		t.Fatal(err)
	}
	stretch := func() (marked, usual float64) {
		t.Helper()
		st, err := l.Stats(t.Context(), engram.MustPattern("Test/Volatile/p"), engram.LevelEntity, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range st {
			switch {
			case s.ID == engram.MustID(volatileCup):
				if marked = s.Disk.Stretch; (s.Mark == nil) != (marked == 1) || s.Mark != nil && *s.Mark != mark {
					t.Errorf("its mark is told as %+v", s.Mark)
				}
			case s.ID == engram.MustID(other):
				usual = s.Disk.Stretch
			}
		}
		return marked, usual
	}
	if marked, usual := stretch(); marked != 2.5 || usual != 1 {
		t.Errorf("ages count %v and %v times less, want 2.5 and 1", marked, usual)
	}
	l.due(t)
	l.onDisk(t, "what was marked", volatileCup, span(0, 20)...)
	l.onDisk(t, "what was not", other, span(8, 20)...)
	c.Store(int64(after(30)[0]))
	l.due(t)
	l.onDisk(t, "what was marked, later", volatileCup, span(4, 20)...)
	if err := l.wm.Values().SetMarks(nil); err != nil {
		t.Fatal(err)
	}
	if marked, _ := stretch(); marked != 1 {
		t.Errorf("without the mark its ages count %v times less", marked)
	}
	l.due(t)
	l.onDisk(t, "what was marked no more", volatileCup)
}
