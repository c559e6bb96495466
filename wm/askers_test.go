package wm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/wm"
)

// valueOf returns what an entity is worth.
func valueOf(t testing.TB, w *wm.WM, entity string) engram.Value {
	t.Helper()
	st, err := w.Stats(context.Background(), engram.PatternOf(modelID(entity)), engram.LevelEntity)
	if err != nil || len(st) != 1 || st[0].Value == nil {
		t.Fatal(st, err)
	}
	return *st[0].Value
}

// by asks for an entity's newest state as somebody: in one of the ways in which one can.
func by(t testing.TB, w *wm.WM, who engram.Asker, entity string, way int) {
	t.Helper()
	ctx, id, err := engram.WithAsker(context.Background(), who), modelID(entity), error(nil)
	switch way % 4 {
	case 0:
		_, err = w.Latest(ctx, id)
	case 1:
		_, err = w.AtOrBefore(ctx, id, engram.MaxTime)
	case 2:
		_, err = w.Query(ctx, engram.SelectID(id, engram.Latest(1)))
	case 3:
		w.View(ctx, nil).Entity(id).Asked()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Several askers are told apart up to four, whatever way they ask; what nobody asked for but Engram itself has
// no uses; and as many uses of several are worth more than those of one.
func TestAskers(t *testing.T) {
	w := byValue(t, engram.Bounds{}, engram.Bounds{MaxCount: 100_000})
	write := func(n int) {
		for range n {
			testkit.Commit(t, w, change("other", 1, blob(10)))
		}
	}
	for _, e := range []string{"one", "three", "none", "many"} {
		testkit.Commit(t, w, change(e, 1, blob(10)))
	}
	for round := range 4 {
		for range 3 { // no clock: at the same time, uses of one asker count once
			write(16)
			by(t, w, 1, "one", round)
			by(t, w, 1, "one", round+1)
		}
		for who := range engram.Asker(3) {
			by(t, w, who, "three", round)
			by(t, w, who, "three", round)
		}
		for range 10 {
			by(t, w, engram.Nobody, "none", round)
		}
	}
	for who := range engram.Asker(9) {
		by(t, w, who, "many", 0)
	}
	one, three, none, many := valueOf(t, w, "one"), valueOf(t, w, "three"), valueOf(t, w, "none"), valueOf(t, w, "many")
	if one.Askers != 1 || three.Askers != 3 || many.Askers != 4 || none.Askers != 0 || none.Asked != 0 || none.Stretch != 1 {
		t.Errorf("askers of one: %+v, of three: %+v, of nine: %+v, of nobody: %+v", one, three, many, none)
	}
	if one.Asked < 10 || three.Asked < 10 || one.Asked > 12 || three.Asked > 12 || three.Stretch <= one.Stretch+0.5 || many.Asked != 4 {
		t.Errorf("12 uses by one: %+v, by three: %+v; 9 by nine, within a part of a stay: %+v", one, three, many)
	}
	if want := 1 + 3*(three.Asked*3-2)/(three.Asked*3-2+8); three.Stretch != want {
		t.Errorf("the stretch is %v, want %v", three.Stretch, want)
	}
	write(900) // less than a stay of 1,024
	if v := valueOf(t, w, "three"); v.Askers != 3 || v.Asked >= three.Asked {
		t.Errorf("within a stay: %+v", v)
	}
	write(200)
	if v := valueOf(t, w, "three"); v.Askers != 0 || v.Asked == 0 {
		t.Errorf("after a stay: %+v", v)
	}
	by(t, w, 2, "three", 0)
	if v := valueOf(t, w, "three"); v.Askers != 1 {
		t.Errorf("when one of them asks again: %+v", v)
	}
}

// Askers are those that asked within the last stay, up to four, whoever asks when.
func TestAskersModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := byValue(t, engram.Bounds{}, engram.Bounds{MaxCount: 1_000_000})
		testkit.Commit(t, w, change("e", 1, blob(10)))
		last := map[engram.Asker]int{}
		now := 0
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			steps := rapid.SampledFrom([]int{0, 1, 7, 16, 40, 300, 1100}).Draw(rt, "later")
			for range steps {
				testkit.Commit(t, w, change("other", 1, blob(10)))
			}
			now += steps
			if who := rapid.SampledFrom([]engram.Asker{0, 1, 2, 3, engram.Nobody}).Draw(rt, "who"); who != engram.Nobody {
				last[who] = now
				by(t, w, who, "e", rapid.IntRange(0, 3).Draw(rt, "way"))
			} else {
				by(t, w, who, "e", 0)
			}
			// A part is 16 updates, and when in a part somebody asked is not known.
			surely, maybe := 0, 0
			for _, at := range last {
				if now-at < 600 {
					surely++
				}
				if now-at < 1400 {
					maybe++
				}
			}
			if v := valueOf(t, w, "e"); v.Askers < surely || v.Askers > maybe {
				rt.Fatalf("%d askers, want %d to %d: %v at %d", v.Askers, surely, maybe, slices.Collect(maps.Values(last)), now)
			}
		}
	})
}

// Many readers at once count without a lock, and no more than there are.
func TestAskersAtOnce(t *testing.T) {
	w := byValue(t, engram.Bounds{}, engram.Bounds{MaxCount: 10_000})
	testkit.Commit(t, w, change("e", 1, blob(10)))
	var all sync.WaitGroup
	for who := range engram.Asker(3) {
		all.Go(func() {
			for i := range 2000 {
				by(t, w, who, "e", i)
			}
		})
	}
	for range 2000 {
		testkit.Commit(t, w, change("other", 1, blob(10)))
	}
	all.Wait()
	for who := range engram.Asker(3) {
		by(t, w, who, "e", 0)
	}
	if v := valueOf(t, w, "e"); v.Askers != 3 {
		t.Errorf("%+v", v)
	}
}

// A mark stands for what its pattern names, also for what comes later, does not fade, and is taken back.
func TestMarks(t *testing.T) {
	w := byValue(t, engram.Bounds{MaxCount: 100}, engram.Bounds{})
	values := w.Values()
	set := func(patterns ...string) {
		t.Helper()
		var all []wm.StandingMark
		for i, p := range patterns {
			all = append(all, wm.StandingMark{Of: engram.MustPattern(p), Mark: engram.Mark{ID: engram.MustID(fmt.Sprint("S/Mark/ann/", i)), Note: p}})
		}
		if err := values.SetMarks(all); err != nil {
			t.Fatal(err)
		}
	}
	one := modelID("e1").String()
	at := 0
	write := func(rounds int) {
		for range rounds {
			at++
			for e := range 3 {
				testkit.Commit(t, w, change(fmt.Sprint("e", e), at, blob(10)))
			}
		}
	}
	set(modelID("e0").Parent().String()+"/~e[01]", one)
	write(5000)
	if v := valueOf(t, w, "e1"); v.Marked != wm.MarkUses || v.Stretch != wm.MarkStretch() || v.Asked != 0 {
		t.Errorf("what is marked is worth %+v", v)
	}
	if marked, other := count(t, w, "e0"), count(t, w, "e2"); marked != 250 || other != 100 {
		t.Errorf("what is marked has %d snapshots, another %d; want 250 and 100", marked, other)
	}
	if m := values.Mark(modelID("e1")); m == nil || m.Note == one || values.Mark(modelID("e2")) != nil || values.Mark(modelID("e0")) == nil {
		t.Errorf("of two marks the first is told: %+v", m)
	}
	for id := range func(yield func(engram.ID) bool) {
		values.Stretched(1, func(id engram.ID, _ float64) bool { return yield(id) })
	} {
		t.Errorf("%s is stretched without its mark", id)
	}
	set(one)
	write(1000)
	if taken, marked := count(t, w, "e0"), count(t, w, "e1"); taken != 100 || marked != 250 {
		t.Errorf("what is marked no more has %d snapshots, what is has %d", taken, marked)
	}
	if err := values.SetMarks([]wm.StandingMark{{Of: engram.Pattern{Levels: []engram.NameSelector{engram.MatchRegex("(")}}}}); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a wrong pattern: %v", err)
	}
	if values.Mark(modelID("e1")) == nil {
		t.Error("a wrong pattern changed what stands")
	}
	set()
	if v := valueOf(t, w, "e1"); v.Stretch != 1 || values.Mark(modelID("e1")) != nil {
		t.Errorf("without marks: %+v", v)
	}
}
