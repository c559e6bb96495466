package record

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
)

const second = engram.Time(time.Second)

func snapshotOf(t testing.TB, at engram.Time, m proto.Message) *engram.Snapshot {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &engram.Snapshot{Time: at, Arrived: at, Instances: []engram.Instance{
		engram.NewInstance(engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b})}}
}

func valueOf(t testing.TB, at engram.Time, v any) *engram.Snapshot {
	t.Helper()
	p := testkit.Value(t, v)
	return &engram.Snapshot{Time: at, Arrived: at, Instances: []engram.Instance{engram.NewInstance(p)}}
}

// recordedAt offers values at times and returns the indices of those recorded.
func recordedAt(f *Filter, snapshots ...*engram.Snapshot) (kept []int, why []string) {
	for i, s := range snapshots {
		d := f.Offer(s)
		why = append(why, d.Why)
		if d.Verdict == Record {
			kept = append(kept, i)
		}
	}
	return kept, why
}

func TestRateKeepsToItsGrid(t *testing.T) {
	for _, c := range []struct {
		name        string
		rate        float64
		times       func(i int) engram.Time // of 600 snapshots
		least, most int
	}{
		{"30 Hz at 5 Hz", 5, func(i int) engram.Time { return engram.Time(i) * second / 30 }, 100, 100},
		{"jittering 30 Hz at 5 Hz", 5, func(i int) engram.Time { return engram.Time(i)*second/30 + engram.Time(i*i%7)*2e6 }, 98, 101},
		{"20 Hz at 30 Hz", 30, func(i int) engram.Time { return engram.Time(i) * second / 20 }, 600, 600},
		{"bursts of 10 each second at 2 Hz", 2, func(i int) engram.Time { return engram.Time(i/10)*second + engram.Time(i%10)*1e6 }, 60, 61},
		{"all at one time", 1, func(i int) engram.Time { return second + engram.Time(i)*1000 }, 1, 1},
		{"two sources, one 5 s late, at 2 Hz", 2, func(i int) engram.Time { return engram.Time(i)*second/20 - engram.Time(i%2)*5*second }, 60, 125},
		{"time set back in the middle", 5, func(i int) engram.Time { return engram.Time(i%300) * second / 30 }, 100, 102},
	} {
		f := NewFilter(policy.Policy{Record: policy.Rate, MaxRate: c.rate}, idf.NewRegistry())
		n := 0
		for i := range 600 {
			if f.Offer(&engram.Snapshot{Time: c.times(i)}).Verdict == Record {
				n++
			}
		}
		if n < c.least || n > c.most {
			t.Errorf("%s: %d of 600 are recorded, want %d to %d", c.name, n, c.least, c.most)
		}
		counts := f.Counts()
		if counts.Recorded[WhyRate] != uint64(n) || counts.Skipped[WhyRate] != uint64(600-n) {
			t.Errorf("%s: counted %+v", c.name, counts)
		}
	}
}

func TestCorrectionsOfWhatWasRecordedAreRecorded(t *testing.T) {
	f := NewFilter(policy.Policy{Record: policy.Rate, MaxRate: 1}, idf.NewRegistry())
	kept, why := recordedAt(f, valueOf(t, 0, 1), valueOf(t, 100, 2), valueOf(t, 0, 3), valueOf(t, 100, 4))
	if !slices.Equal(kept, []int{0, 2}) || why[2] != WhyCorrected {
		t.Errorf("recorded %v because of %v", kept, why)
	}
}

// So are those of several, in any order, and the turns go on as if there were none.
func TestCorrectionsOfSeveralAreRecorded(t *testing.T) {
	for _, mode := range []policy.Mode{policy.Rate, policy.All, policy.Change} {
		f := NewFilter(policy.Policy{Record: mode, MaxRate: 1}, idf.NewRegistry())
		var offered []*engram.Snapshot
		var want []int
		offer := func(at engram.Time, record bool) {
			if record {
				want = append(want, len(offered))
			}
			offered = append(offered, valueOf(t, at, len(offered)))
		}
		for i := range engram.Time(100) {
			offer(i*second, true)
			offer(i*second+100, false)
		}
		for i := range engram.Time(3) {
			offer((97+i)*second, true)
		}
		for i := range engram.Time(maxRecent) {
			offer((99-i)*second, true)
		}
		offer(99*second+200, false)
		offer(100*second, true)
		if kept, why := recordedAt(f, offered...); !slices.Equal(kept, want) || why[200] != why[202] {
			t.Errorf("%s: recorded %v, want %v", mode, kept, want)
		}
	}
}

// A correction of an earlier snapshot is not what the next one is compared to.
func TestChangeAfterACorrection(t *testing.T) {
	f := NewFilter(policy.Policy{Record: policy.Change}, idf.NewRegistry())
	kept, why := recordedAt(f, valueOf(t, 0, 1), valueOf(t, 1, 2), valueOf(t, 0, 2), valueOf(t, 2, 2), valueOf(t, 1, 2), valueOf(t, 3, 1))
	if !slices.Equal(kept, []int{0, 1, 2, 5}) || why[2] != WhyCorrected {
		t.Errorf("recorded %v because of %v", kept, why)
	}
}

func TestAllAndNever(t *testing.T) {
	s := valueOf(t, 0, 1)
	if kept, _ := recordedAt(NewFilter(policy.Policy{}, idf.NewRegistry()), s, s, s); len(kept) != 3 {
		t.Errorf("the zero policy records %v of three", kept)
	}
	if kept, why := recordedAt(NewFilter(policy.Policy{Record: policy.Never}, idf.NewRegistry()), s); kept != nil || why[0] != WhyNever {
		t.Errorf("never records %v: %v", kept, why)
	}
}

func TestChangeMeasures(t *testing.T) {
	pose := func(at engram.Time, x, turn float64) *engram.Snapshot {
		return snapshotOf(t, at, &foxglove.PoseInFrame{FrameId: "map", Pose: &foxglove.Pose{
			Position:    &foxglove.Vector3{X: x, Y: 2},
			Orientation: &foxglove.Quaternion{Z: math.Sin(turn / 2), W: math.Cos(turn / 2)},
		}})
	}
	raw := func(at engram.Time, level uint8, encoding string, size int) *engram.Snapshot {
		return snapshotOf(t, at, &foxglove.RawImage{Width: 100, Height: 70, Step: uint32(100 * size), Encoding: encoding,
			Data: bytes.Repeat([]byte{level}, 70*100*size)})
	}
	photo := func(at engram.Time, level uint8) *engram.Snapshot {
		img := image.NewGray(image.Rect(0, 0, 80, 60))
		for i := range img.Pix {
			img.Pix[i] = level
		}
		img.SetGray(int(at)%80, 5, color.Gray{})
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, nil); err != nil {
			t.Fatal(err)
		}
		return snapshotOf(t, at, &foxglove.CompressedImage{Format: "jpeg", Data: b.Bytes()})
	}
	joints := func(at engram.Time, name string, on bool, v ...float64) *engram.Snapshot {
		return valueOf(t, at, map[string]any{"name": name, "on": on, "position": v, "stamp": at})
	}
	link := func(at engram.Time, id string) *engram.Snapshot {
		return valueOf(t, at, map[string]any{"seen": engram.MustID(id), "x": 1.0})
	}
	for _, c := range []struct {
		name      string
		similar   policy.Similarity
		snapshots []*engram.Snapshot
		want      []int
	}{
		{"numbers drift", policy.Similarity{Numbers: 0.1}, []*engram.Snapshot{
			joints(0, "a", true, 1, 0), joints(1, "a", true, 1.06, 0), joints(2, "a", true, 1.12, 0), joints(3, "a", true, 1.12, -0.05)}, []int{0, 2}},
		{"a zero that is not written", policy.Similarity{Numbers: 0.1}, []*engram.Snapshot{
			joints(0, "a", true, 1), joints(1, "a", true, 0.5), joints(2, "a", true, 0)}, []int{0, 1, 2}},
		{"how many numbers", policy.Similarity{Numbers: 10}, []*engram.Snapshot{joints(0, "a", true, 1, 1), joints(1, "a", true, 1, 11.5, 1)}, []int{0, 1}},
		{"NaN stays NaN", policy.Similarity{Numbers: 0.1}, []*engram.Snapshot{
			joints(0, "a", true, math.NaN()), joints(1, "a", true, math.NaN()), joints(2, "a", true, 1)}, []int{0, 2}},
		{"texts and flags are exact", policy.Similarity{Numbers: 10}, []*engram.Snapshot{
			joints(0, "a", true, 1), joints(1, "b", true, 1), joints(2, "b", false, 1), joints(3, "b", false, 2)}, []int{0, 1, 2}},
		{"only the time", policy.Similarity{Numbers: 0.1}, []*engram.Snapshot{joints(0, "a", true, 1), joints(90, "a", true, 1)}, []int{0}},
		{"a link to another time of the same", policy.Similarity{Numbers: 0.1}, []*engram.Snapshot{
			link(0, "A/B/C/d/1970-01-01 00:00:01"), link(1, "A/B/C/d/1970-01-01 00:00:02"), link(2, "A/B/C/e/1970-01-01 00:00:02")}, []int{0, 2}},
		{"distance", policy.Similarity{Distance: 0.01, Angle: 0.1}, []*engram.Snapshot{pose(0, 0, 0), pose(1, 0.009, 0), pose(2, 0.011, 0)}, []int{0, 2}},
		{"angle", policy.Similarity{Distance: 0.01, Angle: 0.1}, []*engram.Snapshot{pose(0, 0, 3.1), pose(1, 0, 3.19), pose(2, 0, 3.21)}, []int{0, 2}},
		{"angle is not compared", policy.Similarity{Distance: 0.01}, []*engram.Snapshot{pose(0, 0, 0), pose(1, 0, 2)}, []int{0}},
		{"nothing compared is everything", policy.Similarity{}, []*engram.Snapshot{pose(0, 0, 0), pose(1, 0, 0), pose(2, 1e-9, 0)}, []int{0, 2}},
		{"exact", policy.Similarity{Exact: true, Distance: 1}, []*engram.Snapshot{pose(0, 0, 0), pose(1, 0, 0), pose(2, 1e-9, 0)}, []int{0, 2}},
		{"raw images", policy.Similarity{Image: 2}, []*engram.Snapshot{raw(0, 100, "rgb8", 3), raw(1, 101, "rgb8", 3), raw(2, 103, "rgb8", 3), raw(3, 103, "mono8", 1)}, []int{0, 2}},
		{"depth images", policy.Similarity{Image: 2}, []*engram.Snapshot{raw(0, 2, "16UC1", 2), raw(1, 2, "16UC1", 2), raw(2, 9, "16UC1", 2)}, []int{0, 2}},
		{"photos", policy.Similarity{Image: 2}, []*engram.Snapshot{photo(0, 100), photo(1, 101), photo(2, 110)}, []int{0, 2}},
		{"an encoding nobody knows", policy.Similarity{Image: 2}, []*engram.Snapshot{raw(0, 1, "odd", 1), raw(1, 1, "odd", 1), raw(2, 2, "odd", 1)}, []int{0, 2}},
		{"texts", policy.Similarity{Text: 0.3}, []*engram.Snapshot{
			valueOf(t, 0, "bring me the blue cup"), valueOf(t, 1, "bring me the blue cups"), valueOf(t, 2, "go to the kitchen")}, []int{0, 2}},
		{"at least", policy.Similarity{Exact: true, AtLeast: 10}, []*engram.Snapshot{pose(0, 0, 0), pose(9, 0, 0), pose(10, 0, 0), pose(19, 0, 0), pose(20, 0, 0)}, []int{0, 2, 4}},
		{"another type", policy.Similarity{Numbers: 1e9}, []*engram.Snapshot{valueOf(t, 0, 1), pose(1, 0, 0)}, []int{0, 1}},
	} {
		kept, why := recordedAt(NewFilter(policy.Policy{Record: policy.Change, Similar: c.similar}, idf.NewRegistry()), c.snapshots...)
		if !slices.Equal(kept, c.want) {
			t.Errorf("%s: recorded %v, want %v: %v", c.name, kept, c.want, why)
		}
	}
}

func TestAngle(t *testing.T) {
	for _, turn := range []float64{0, 1e-9, 1e-3, 1, 3, math.Pi} {
		q := [4]float64{0, 3 * math.Sin(turn/2), 0, 3 * math.Cos(turn/2)} // not normalised
		if got := angle([4]float64{0, 0, 0, 1}, q); math.Abs(got-turn) > 1e-12 {
			t.Errorf("a turn of %v is measured as %v", turn, got)
		}
		for i := range q {
			q[i] = -q[i]
		}
		if got := angle([4]float64{0, 0, 0, 1}, q); math.Abs(got-turn) > 1e-12 {
			t.Errorf("the other quaternion of a turn of %v is measured as %v", turn, got)
		}
	}
}

// tableOf returns the policies of the segments A/Event (all) and A/Image (linked).
func tableOf(t testing.TB, linking policy.Linking) *policy.Table {
	t.Helper()
	table, err := policy.NewTable(map[engram.ID]policy.Policy{engram.MustID("A/Image"): {Record: policy.Linked, Linking: linking}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestLinkedIsKeptWithWhatLinksToIt(t *testing.T) {
	f := NewFilters(tableOf(t, policy.Linking{Within: 10 * time.Second}), idf.NewRegistry())
	camera, event := engram.MustID("A/Image/p/camera"), engram.MustID("A/Event/p/e")
	var kept []string
	keep := func(id engram.ID, s *engram.Snapshot) error {
		kept = append(kept, fmt.Sprintf("%s@%d", id.Entity(), s.Time/second))
		return nil
	}
	offer := func(id engram.ID, s *engram.Snapshot) Decision {
		t.Helper()
		d, err := f.Offer(id, s, keep)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	image := func(at engram.Time) Decision { return offer(camera, valueOf(t, at*second, int(at))) }
	for at := range engram.Time(5) {
		if d := image(at); d.Verdict != Hold {
			t.Fatalf("an image that nothing links to: %+v", d)
		}
	}
	// To an exact time, to the newest one before, to one that comes later, to one that was kept already.
	offer(event, valueOf(t, 4*second, camera.At(2*second)))
	offer(event, valueOf(t, 3*second, camera))
	offer(event, valueOf(t, 5*second, camera.At(6*second).Instance(0)))
	offer(event, valueOf(t, 5*second, camera.At(2*second)))
	image(5)
	if d := image(6); d != (Decision{Record, WhyLinked}) {
		t.Errorf("an image that a link waits for: %+v", d)
	}
	want := []string{"camera@2", "e@4", "camera@3", "e@3", "e@5", "e@5", "camera@6"}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	f.Expire(11 * second)
	counts := f.Counts()[engram.MustID("A/Image")]
	if counts.Recorded[WhyLinked] != 3 || counts.Skipped[WhyNotLinked] != 1 || counts.Held != 3 {
		t.Errorf("counted %+v", counts)
	}
	f.Expire(99 * second)
	if counts := f.Counts()[engram.MustID("A/Image")]; counts.Held != 0 || counts.Skipped[WhyNotLinked] != 4 {
		t.Errorf("after all expired: %+v", counts)
	}
}

// What is kept because of a link brings with it what it links to, round in circles too.
func TestLinksAreFollowed(t *testing.T) {
	f := NewFilters(tableOf(t, policy.Linking{}), idf.NewRegistry())
	a, b := engram.MustID("A/Image/p/a"), engram.MustID("A/Image/p/b")
	var kept []string
	keep := func(id engram.ID, s *engram.Snapshot) error {
		kept = append(kept, id.Entity())
		return nil
	}
	for _, o := range []struct {
		id, link engram.ID
	}{{a, b.At(0)}, {b, a.At(0)}, {engram.MustID("A/Event/p/e"), a}} {
		if _, err := f.Offer(o.id, valueOf(t, 0, o.link), keep); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(kept, []string{"b", "a", "e"}) {
		t.Errorf("kept %v", kept)
	}
	broken := errors.New("disk")
	if _, err := f.Offer(engram.MustID("A/Event/p/e"), valueOf(t, 1, 1), func(engram.ID, *engram.Snapshot) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error of keep is %v", err)
	}
}

func TestWhatWaitsForLinksIsBounded(t *testing.T) {
	f := NewFilter(policy.Policy{Record: policy.Linked, Linking: policy.Linking{MaxBytes: 100, Within: time.Hour}}, idf.NewRegistry())
	for i := range 50 {
		f.Offer(&engram.Snapshot{Time: engram.Time(i), Instances: []engram.Instance{{Payload: engram.Payload{Bytes: make([]byte, 30)}}}})
	}
	if c := f.Counts(); c.Held != 3 || c.Skipped[WhyNotLinked] != 47 {
		t.Errorf("%+v", c)
	}
	f = NewFilter(policy.Policy{Record: policy.Linked, Linking: policy.Linking{Within: time.Hour}}, idf.NewRegistry())
	for i := range 2 * maxHeld {
		f.Offer(&engram.Snapshot{Time: engram.Time(i)})
	}
	if c := f.Counts(); c.Held != maxHeld {
		t.Errorf("%d empty ones are held", c.Held)
	}
}

func TestChangedPoliciesAreFollowed(t *testing.T) {
	table := tableOf(t, policy.Linking{})
	f := NewFilters(table, idf.NewRegistry())
	camera := engram.MustID("A/Image/p/camera")
	n := 0
	offer := func(at engram.Time) {
		t.Helper()
		if _, err := f.Offer(camera, valueOf(t, at, 1), func(engram.ID, *engram.Snapshot) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	offer(1)
	if err := table.Override(policy.Override{Pattern: engram.MustPattern("A/*"), Settings: map[string]string{"record": "all"}}); err != nil {
		t.Fatal(err)
	}
	offer(2)
	if n != 0 {
		t.Errorf("%d are recorded before the filters know of the change", n)
	}
	f.Changed()
	offer(3)
	f.Forget(camera)
	counts := f.Counts()[engram.MustID("A/Image")]
	if n != 1 || !maps.Equal(counts.Skipped, map[string]uint64{WhyNotLinked: 2}) || !maps.Equal(counts.Recorded, map[string]uint64{WhyAll: 1}) {
		t.Errorf("%d recorded, counted %+v", n, counts)
	}
}

func TestAfterARestartTheLastOneIsKnown(t *testing.T) {
	f := NewFilter(policy.Policy{Record: policy.Change}, idf.NewRegistry())
	f.Recorded(valueOf(t, 5, "same"))
	if kept, _ := recordedAt(f, valueOf(t, 6, "same"), valueOf(t, 7, "other")); !slices.Equal(kept, []int{1}) {
		t.Errorf("recorded %v", kept)
	}
}

func BenchmarkChange(b *testing.B) {
	small := snapshotOf(b, 0, &foxglove.PoseInFrame{FrameId: "map", Pose: &foxglove.Pose{Position: &foxglove.Vector3{X: 1}, Orientation: &foxglove.Quaternion{W: 1}}})
	img := &foxglove.RawImage{Width: 640, Height: 480, Step: 1920, Encoding: "rgb8", Data: make([]byte, 640*480*3)}
	for name, s := range map[string]*engram.Snapshot{"pose": small, "image": snapshotOf(b, 0, img)} {
		b.Run(name, func(b *testing.B) {
			f := NewFilter(policy.Policy{Record: policy.Change, Similar: policy.Similarity{Distance: 0.01, Angle: 0.01, Image: 3}}, idf.NewRegistry())
			data := s.Instances[0].Payload.Bytes
			for i := 0; b.Loop(); i++ {
				data[len(data)-1] = byte(i)
				f.Offer(s)
				s.Time++
			}
		})
	}
}
