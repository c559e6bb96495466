package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/memories"
)

// fakeTerminal is a terminal of so many cells that shows styles as ⟨1⟩text⟨⟩.
type fakeTerminal struct {
	bytes.Buffer
	width int
}

func (t *fakeTerminal) layout() layout { return layout{width: t.width} }

func (t *fakeTerminal) writeLine(spans []span) error {
	for _, s := range spans {
		if s.style != plain && s.text != "" {
			s.text = "⟨" + string(s.style) + "⟩" + s.text + "⟨⟩"
		}
		t.WriteString(s.text)
	}
	t.WriteByte('\n')
	return nil
}

// Whatever the spans hold, a line is no wider than the terminal, ends with a sign where something is
// missing, and none of the texts steers the terminal.
func TestLinesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans []span
		whole := ""
		for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "cup ", "机器人", "\x1b[2J", "  ", "", "é", "x\u202ey"}), 0, 12).Draw(t, "texts") {
			spans = append(spans, span{rapid.SampledFrom([]style{plain, faint, bright}).Draw(t, "style"), text})
			whole += visible(text)
		}
		width := rapid.IntRange(1, 30).Draw(t, "width")
		whole = strings.TrimRight(whole, " ")
		got := ""
		for _, s := range cutSpans(spans, width) {
			got += s.text
		}
		switch n := uniseg.StringWidth(got); {
		case n > width:
			t.Errorf("%q is %d cells wide, of %d", got, n, width)
		case uniseg.StringWidth(whole) <= width && got != whole:
			t.Errorf("%q was cut to %q, on %d cells", whole, got, width)
		case got != whole && !(strings.HasSuffix(got, "…") && strings.HasPrefix(whole, strings.TrimSuffix(got, "…"))):
			t.Errorf("%q was cut to %q", whole, got)
		}
		if strings.ContainsFunc(got, unprintable) {
			t.Errorf("the line is %q", got)
		}
	})
}

// Colours are the program's alone: on a screen without them, and in a file, there is none.
func TestColours(t *testing.T) {
	name := filepath.Join(t.TempDir(), "screen")
	for _, c := range []struct {
		colour bool
		want   string
	}{{true, "\x1b[32mok\x1b[0m  \\x1b[31mcup\n"}, {false, "ok  \\x1b[31mcup\n"}} {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := printLine(&screen{File: f, colour: c.colour}, span{good, "ok"}, span{text: "  \x1b[31mcup"}, span{faint, "   "}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != c.want {
			t.Errorf("with colours %v the terminal got %q, %v; want %q", c.colour, got, err, c.want)
		}
		if newScreen(f) != f || newNotes(f) != f {
			t.Error("a file is no terminal")
		}
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := notes{f, warning}
	for _, line := range []string{"engram: a copy answers\n", "5 snapshots\n"} {
		if k, err := n.WriteString(line); err != nil || k != len(line) {
			t.Errorf("%d bytes of %q, %v", k, line, err)
		}
	}
	_, _ = io.WriteString(failed(n), "engram: refused\n")
	want := "\x1b[33mengram: a copy answers\x1b[0m\n5 snapshots\n\x1b[31mengram: refused\x1b[0m\n"
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("the terminal got %q, %v; want %q", got, err, want)
	}
}

// A terminal gets colours unless it is a dumb one or $NO_COLOR is set; a bar of progress is drawn in any
// case, and is not coloured.
func TestTerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !term.IsTerminal(int(f.Fd())) {
		t.Skip("there is no terminal to be had")
	}
	defer f.Close()
	for _, c := range []struct {
		noColor, term string
		colour        bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := layoutOf(newScreen(f)).colour; got != c.colour {
			t.Errorf("with %+v answers have colours: %v", c, got)
		}
		w := newNotes(f)
		if _, got := w.(notes); got != c.colour {
			t.Errorf("with %+v warnings have colours: %v", c, got)
		}
		cmd := newRoot()
		cmd.SetErr(w)
		if newProgress(cmd, "import", false).bar == nil {
			t.Errorf("with %+v there is no bar", c)
		}
	}
	cmd := newRoot()
	cmd.SetErr(&strings.Builder{})
	if newProgress(cmd, "import", false).bar != nil {
		t.Error("there is a bar where no terminal is")
	}
}

// Whatever is in a table, and however narrow the terminal, no line is wider; numbers, times and the
// names of a tree are not cut while there are columns to spare.
func TestAnyTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SampledFrom([]string{"", "a", "cup and saucer", "机器人机器人机器人机器人", "\x1b[2J", "│  │  └─ é", "👩‍🚀👩‍🚀👩‍🚀", "\u0301x", "🇩🇪🇫🇷🇩🇪", strings.Repeat("long ", 9)})
		columns := rapid.IntRange(1, 5).Draw(t, "columns")
		tab := &table{header: make([]string, columns), right: make([]bool, columns), folded: rapid.Bool().Draw(t, "folded")}
		for i := range columns {
			tab.header[i] = strings.Repeat("H", i+1)
			tab.right[i] = rapid.Bool().Draw(t, "right")
		}
		tab.spare = tab.header[:rapid.IntRange(0, columns-1).Draw(t, "spare")]
		for range rapid.IntRange(0, 3).Draw(t, "rows") {
			row := make([]any, columns)
			for i := range row {
				row[i] = cells.Draw(t, "cell")
			}
			tab.add(row...)
		}
		out := &fakeTerminal{width: rapid.IntRange(20, 60).Draw(t, "width")}
		if err := tab.write(out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.NewReplacer("⟨2⟩", "", "⟨⟩", "").Replace(out.String())) {
			if line = strings.TrimSuffix(line, "\n"); !tab.folded && uniseg.StringWidth(line) > out.width || strings.ContainsFunc(line, unprintable) {
				t.Errorf("on %d cells a line is %q", out.width, line)
			}
		}
	})
}

// A time is whole or not there; a name behind the lines of a tree stays one that can be read; a
// sentence is folded.
func TestTableOfTimes(t *testing.T) {
	day, err := engram.ParseTime("1965-02-03 04:05:06.123456789")
	if err != nil {
		t.Fatal(err)
	}
	now := engram.Now()
	since := fullTime(now)
	since.shown = "since " + since.shown
	for _, c := range []struct {
		cell any
		want string
	}{
		{day, "1965-02-03 04:05:06.123"}, {fullTime(day), day.String()}, {plainTime(day).aged(), day.String()}, {secondTime(day), "1965-02-03 04:05:06"},
		{since, "since " + now.String()[len(dateLayout+" "):]}, {secondTime(now), now.String()[len(dateLayout+" "):][:len(secondLayout)]},
	} {
		out := &fakeTerminal{width: 60}
		tab := &table{header: []string{"FRAME", "TIME", "JOINT", "WHY"}, spare: []string{"JOINT"}, folded: true}
		tab.add("│  │  │  └─ left_upper_arm_link_of_the_robot", c.cell, "Simulation/left_upper_arm", "it moved and moved and moved on")
		if err := tab.write(out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "  "+c.want+"  ") {
			t.Errorf("of %q one sees\n%s", c.want, out)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "└─ left_up") || strings.Contains(text, "JOINT ") || !strings.Contains(text, "moved on") {
			t.Errorf("the table is\n%s", out)
		}
	}
}

// What has no room behind the head of a line stands below, as far to the right; in a file it is one
// line.
func TestFolded(t *testing.T) {
	head := []span{{warning, "warn    "}, {text: " disk "}}
	for width, want := range map[int]string{
		0:  "⟨33⟩warn    ⟨⟩ disk it is full, as good as \\x1b[2J\n",
		36: "⟨33⟩warn    ⟨⟩ disk it is full, as good as\n              \\x1b[2J\n",
		12: "⟨33⟩warn    ⟨⟩ disk it is full, as good as \\x1b[2J\n",
	} {
		out := &fakeTerminal{width: width}
		if err := printFolded(out, head, span{text: "it is full, as good as \x1b[2J"}); err != nil || out.String() != want {
			t.Errorf("on %d cells it is\n%s%v, want\n%s", width, out, err, want)
		}
	}
}

// On a terminal a table fits: times of today have no date, spare columns go, with a word, and names
// are cut in their middle, behind the lines of a tree.
func TestTableFits(t *testing.T) {
	now := engram.Now()
	for _, width := range []int{200, 60, 40, 12} {
		out := &fakeTerminal{width: width}
		tab := &table{header: []string{"ID", "COUNT", "FIRST", "LAST", "TYPE"}, right: []bool{1: true}, spare: []string{"FIRST", "TYPE"}}
		tab.add("Object", 5, now, age(now.Add(-9900*time.Millisecond)), "lab.Object")
		tab.add("└─ A name that is far longer than its column", 7, now, age(now.Add(-9900*time.Millisecond)), "")
		if err := tab.write(out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(strings.NewReplacer("⟨2⟩", "", "⟨⟩", "").Replace(out.String()), "\n"), "\n")
		for _, line := range lines {
			if n := uniseg.StringWidth(line); n > width {
				t.Errorf("on %d cells a line has %d: %q", width, n, line)
			}
		}
		clock := now.String()[len(dateLayout)+1:][:len(milliLayout)]
		switch width {
		case 200:
			if len(lines) != 3 || !strings.Contains(lines[1], "  "+clock+"  9.9 s ago  lab.Object") || strings.Contains(lines[1], now.String()[:len(dateLayout)]) || !strings.HasPrefix(lines[2], "└─ A name that is far longer than its column ") {
				t.Errorf("on a wide terminal the table is\n%s", out.String())
			}
		case 60:
			if len(lines) != 4 || strings.Contains(lines[0], "FIRST") || !strings.HasSuffix(lines[1], "9.9 s ago  lab.Object") || !strings.HasPrefix(lines[2], "└─ A name that i…an its column  ") ||
				lines[3] != "(FIRST: on a wider terminal, or with -o csv)" {
				t.Errorf("on 60 cells the table is\n%s", out.String())
			}
		case 40:
			if !strings.Contains(lines[0], "COUNT") || strings.Contains(lines[0], "TYPE") {
				t.Errorf("on 40 cells the table is\n%s", out.String())
			}
		}
	}
}

// Lines for people: on a terminal a time and a name stand once, what differs comes first; in a file
// every line is whole.
func TestSnapshotLines(t *testing.T) {
	instance, ok := memories.Type("engram.object.Instance")
	if !ok {
		t.Fatal("there is no type of objects")
	}
	types := newTypeCache(nil)
	if _, err := types.known.Add(instance.Def()); err != nil {
		t.Fatal(err)
	}
	day, err := engram.ParseTime("2026-11-29 14:03:07.375")
	if err != nil {
		t.Fatal(err)
	}
	print := func(w *snapshotLines, entity string, at engram.Time, x float64, delay time.Duration) {
		t.Helper()
		image := engram.MustID("Vision/ImageRGB/Simulation/head_camera").At(at).Instance(0)
		payload, err := instance.Encode(map[string]any{"timestamp": at, "frame_id": "map", "object_class": engram.MustID("Object/Class/Simulation/cup"), "source_image": image,
			"pose": map[string]any{"position": map[string]any{"x": x, "y": -0.219, "z": 0.849}, "orientation": map[string]any{"w": 1}}})
		if err != nil {
			t.Fatal(err)
		}
		id := engram.MustID("Object/Instance/Simulation/" + entity).At(at)
		s := &engram.Snapshot{Time: at, Arrived: at.Add(delay), Instances: []engram.Instance{{Confidence: 0.9167, Payload: engram.Payload{Type: instance.Name(), Bytes: payload}}}}
		if err := w.line(t.Context(), id, s, -1, s.Arrived); err != nil {
			t.Fatal(err)
		}
	}
	written := func(w *snapshotLines) {
		print(w, "cup", day, 1.17015, 51*time.Millisecond)
		print(w, "cup", day.Add(100*time.Millisecond), 1.2, 4*time.Second)
		print(w, "a-bottle-with-a-very-long-name", day.Add(10*time.Hour), 1, 0)
	}
	out := &fakeTerminal{width: 110}
	w := newSnapshotLines(out, types)
	w.base = baseOf([]engram.Pattern{engram.MustPattern("Object/Instance")})
	written(w)
	want := `⟨2⟩2026-11-29⟨⟩
⟨2⟩14:03:07.375  ⟨⟩Simulation/cup  frame_id: "map", pose: (1.170, -0.219, 0.849) (0, 0, 0, 1), obje…  ⟨2⟩0.92   +51 ms⟨⟩
⟨2⟩        .475  ⟨⟩Simulation/cup  ⟨1⟩pose: (1.2, -0.219, 0.849) (0, 0, 0, 1), source_image: Simulatio…⟨⟩  ⟨33⟩0.92   +4.0 s⟨⟩
⟨2⟩2026-11-30⟨⟩
⟨2⟩00:03:07.375  ⟨⟩Simulation/a-bottle-with-a-very-long-name  frame_id: "map", pose: (1, -0.219, 0.…  ⟨2⟩0.92  +0.0 ms⟨⟩
`
	if out.String() != want {
		t.Errorf("the terminal shows\n%swant\n%s", out.String(), want)
	}
	var file bytes.Buffer
	written(newSnapshotLines(&file, types))
	rest := `frame_id: "map", pose: {position: (%s, -0.219, 0.849), orientation: (0, 0, 0, 1)}, object_class: Object/Class/Simulation/cup, source_image: Vision/ImageRGB/Simulation/head_camera/`
	want = "2026-11-29 14:03:07.375000  Object/Instance/Simulation/cup  " + strings.Replace(rest, "%s", "1.17015", 1) + "2026-11-29 14:03:07.375000/0  0.92   +51 ms\n"
	if got, _, _ := strings.Cut(file.String(), "\n"); got+"\n" != want {
		t.Errorf("the file begins with\n%s\nwant\n%s", got, want)
	}
}

// A clock tells a date when it is another one, and of a time what differs from the line before; as
// many decimals as the times of an entity differ in.
func TestClock(t *testing.T) {
	var c clock
	out := &fakeTerminal{width: 80}
	var times []engram.Time
	for _, text := range []string{"1677-09-22 00:00:00", "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.9999995", "1970-01-01 00:00:00", "1970-01-02 00:00:00", "2262-04-11 00:00:00.5"} {
		at, err := engram.ParseTime(text)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, at)
	}
	print := func() (shown string) {
		for _, at := range times {
			text, err := c.print(out, at)
			if err != nil {
				t.Fatal(err)
			}
			shown += text + "\n"
		}
		return shown
	}
	if got, want := print(), "00:00:00.000\n23:59:59.999\n        .999\n00:00:00.000\n00:00:00.000\n00:00:00.500\n"; got != want {
		t.Errorf("it shows\n%swant\n%s", got, want)
	}
	if want := "⟨2⟩1677-09-22⟨⟩\n⟨2⟩1969-12-31⟨⟩\n⟨2⟩1970-01-01⟨⟩\n⟨2⟩1970-01-02⟨⟩\n⟨2⟩2262-04-11⟨⟩\n"; out.String() != want {
		t.Errorf("the dates are\n%swant\n%s", out, want)
	}
	c.discern(times[2], times[1])
	if got, want := print(), "00:00:00.000000000\n23:59:59.999999000\n        .999999500\n"; !strings.HasPrefix(got, want) {
		t.Errorf("with nine decimals it shows\n%s", got)
	}
}

// The payloads before are kept of so many entities, and only small ones.
func TestLinesKeepLittle(t *testing.T) {
	l := newSnapshotLines(&fakeTerminal{width: 80}, nil)
	small, large := engram.Payload{Bytes: make([]byte, maxBeforeBytes)}, engram.Payload{Bytes: make([]byte, maxBeforeBytes+1)}
	provider := engram.MustID("A/B/C")
	of := func(n int) engram.ID {
		id, err := provider.Child(strconv.Itoa(n))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for n := range maxBefore {
		l.keep(of(n), small)
	}
	l.keep(of(0), small)
	if len(l.before) != maxBefore {
		t.Errorf("of %d entities %d are kept", maxBefore, len(l.before))
	}
	if l.keep(of(0), large); len(l.before) != maxBefore-1 {
		t.Error("a large payload is kept, or the one before it")
	}
	l.keep(of(0), small)
	if l.keep(of(maxBefore), small); len(l.before) != 1 {
		t.Errorf("of one more entity %d are kept", len(l.before))
	}
}

// A watch without IDs leaves SystemState out, and nothing of what its updates tell.
func TestWithoutSystem(t *testing.T) {
	entity := func(memory string) engram.ID { return engram.MustID(memory + "/Text/me/shell") }
	sent := []engram.Update{
		{ID: entity("SystemState"), Dropped: 2, Restarted: true}, {Absence: &engram.Absence{Server: "s"}}, {ID: entity("SystemState"), Dropped: 3},
		{ID: entity("Speech"), Dropped: 1}, {ID: entity("robot1:SystemState")}, {ID: entity("SystemState")},
	}
	var got []engram.Update
	for u, err := range withoutSystem(func(yield func(engram.Update, error) bool) {
		for _, u := range sent {
			if !yield(u, nil) {
				return
			}
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, u)
	}
	want := []engram.Update{sent[1], {ID: entity("Speech"), Dropped: 6, Restarted: true}, sent[4]}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("there are\n%+v, want\n%+v", got, want)
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 ms", 9949 * time.Microsecond: "9.9 ms", 9951 * time.Microsecond: "10 ms", 999600 * time.Microsecond: "1.0 s",
		9949 * time.Millisecond: "9.9 s", 9960 * time.Millisecond: "10 s", 59400 * time.Millisecond: "59 s", 59700 * time.Millisecond: "1m", 200 * time.Second: "3m20s",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Of an ID that is too long, its core segment and its entity stay the longest.
func TestShortNames(t *testing.T) {
	id := engram.MustID("RobotState/Proprioception/Simulation/humanoid")
	for width, want := range map[int]string{0: id.String(), 160: id.String(), 100: "…/Proprioception/Simulation/humanoid", 80: "Proprioception/…/humanoid", 50: "…/humanoid"} {
		l := newSnapshotLines(&fakeTerminal{width: width}, nil)
		if got := l.name(id); got != want {
			t.Errorf("on %d cells it is %q, want %q", width, got, want)
		}
	}
	l := newSnapshotLines(&fakeTerminal{width: 160}, nil)
	l.base = engram.MustID("RobotState/Proprioception/Simulation")
	if got := l.name(id); got != "humanoid" {
		t.Errorf("below its provider it is %q", got)
	}
	l.base = engram.MustID("Object")
	if got := l.name(id); got != id.String() {
		t.Errorf("elsewhere it is %q", got)
	}
	other := engram.MustID(`robot1:RobotState/Proprioception/a\/b/the-humanoid`)
	for width, want := range map[int]string{160: other.String(), 100: `robot1:…/Proprioception/a\/b/the-humanoid`, 86: "robot1:…/the-humanoid", 50: "robot1:…/…-humanoid"} {
		if got := newSnapshotLines(&fakeTerminal{width: width}, nil).name(other); width != 50 && got != want || width == 50 && !strings.HasPrefix(got, "robot1") {
			t.Errorf("another robot's is %q on %d cells, want %q", got, width, want)
		}
	}
}

// The help is wrapped to the terminal: paragraphs are set anew, examples stay.
func TestWrapped(t *testing.T) {
	text := "One two three\nfour.\n\n  engram  ls  # as it is, however long\nFive\nsix"
	for width, want := range map[int]string{
		80: "One two three four.\n\n  engram  ls  # as it is, however long\nFive six",
		9:  "One two\nthree\nfour.\n\n  engram  ls  # as it is, however long\nFive six",
	} {
		if got := wrapped(text, width); got != want {
			t.Errorf("in %d cells it is\n%s\nwant\n%s", width, got, want)
		}
	}
	root := newRoot()
	root.SetOut(&strings.Builder{})
	fitHelp(root, 60)
	watch, _, err := root.Find([]string{"watch"})
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Help(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(watch.Long + "\n" + watch.LocalFlags().FlagUsagesWrapped(60)) {
		if n := uniseg.StringWidth(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("a line of the help has %d cells: %q", n, line)
		}
	}
}
