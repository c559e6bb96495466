package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/words"
)

// snapshotLines prints snapshots for people, a line each:
//
//	2026-11-29
//	14:03:07.375  Object/Instance/Simulation/cup  pose: …, frame_id: "map"   0.92  +51 ms
//	      .415    Skill/…/GraspObject             status: Running                  +52 ms
//
// On a terminal a date and a time stand once, IDs are shortened from the left where they are long,
// and members that differ from the snapshot of the entity before come first, brightly. Elsewhere
// every line has the whole time and ID, and members are in the order of their type.
type snapshotLines struct {
	w     io.Writer
	types *typeCache
	// base is what all IDs begin with, and those on a terminal leave out.
	base engram.ID
	// headed is set where the entity stands above its snapshots, and not in each line; sure
	// where no line then tells a confidence; stamped where timestamps were asked for, and stand
	// in the text also if they are the snapshot's time.
	headed, sure, stamped bool

	layout
	idWidth int
	clock   clock
	before  map[engram.ID]engram.Payload // the first instance of each entity's newest line
}

// Of so many entities the payload before is kept, if it has no more bytes than that.
const (
	maxBefore      = 1000
	maxBeforeBytes = 64 << 10
)

func newSnapshotLines(w io.Writer, types *typeCache) *snapshotLines {
	return &snapshotLines{w: w, types: types, layout: layoutOf(w), before: map[engram.ID]engram.Payload{}}
}

// head prints what the lines that follow are of, the first of which has the given time.
func (l *snapshotLines) head(of engram.ID, at engram.Time) error {
	spans := []span{{bright, of.String()}}
	if l.width > 0 {
		spans = append(spans, span{faint, "  " + l.clock.begin(at)})
	}
	return printLine(l.w, spans...)
}

// widen makes room for the name of an entity.
func (l *snapshotLines) widen(entity engram.ID) {
	l.idWidth = max(l.idWidth, uniseg.StringWidth(l.name(entity)))
}

const (
	dateLayout   = "2006-01-02"
	secondLayout = "15:04:05"
	milliLayout  = "15:04:05.000"
)

// line prints a snapshot; arrived is 0 where it does not matter, and the snapshot is nil where only
// its ID is known. Of the instances all are printed, or one of that index.
func (l *snapshotLines) line(ctx context.Context, id engram.ID, s *engram.Snapshot, index int, arrived engram.Time) error {
	l.layout = layoutOf(l.w) // its window may have another size now
	at, _ := id.Time()
	when := at.String()
	if l.width > 0 {
		var err error
		if when, err = l.clock.print(l.w, at); err != nil {
			return err
		}
	}
	spans := []span{{faint, when + "  "}}
	if l.headed {
		spans[0].text = "  " + spans[0].text
	} else {
		l.widen(id.Parent())
		name := l.name(id.Parent())
		spans = append(spans, span{text: name + strings.Repeat(" ", l.idWidth-uniseg.StringWidth(name)+2)})
	}
	var tail []string
	if s != nil {
		text, confidence := l.text(ctx, id.Parent(), s, index)
		told := fmt.Sprintf("%4.2f", confidence)
		switch {
		case l.headed && !l.sure:
			spans = append(spans, span{faint, told + "  "})
		case confidence < 1:
			tail = append(tail, told)
		}
		spans = append(spans, text...)
	}
	late := span{style: faint}
	if delay := arrived.Sub(at); arrived != 0 && delay >= 0 && delay <= time.Hour {
		tail = append(tail, fmt.Sprintf("%8s", "+"+shortDuration(delay)))
		if delay >= time.Second {
			late.style = warning
		}
	}
	late.text = strings.Join(tail, " ")
	return printLine(l.w, alignRight(spans, late, l.width)...)
}

// clock shows times one below the other, on a terminal: what is as in the line before is left out.
type clock struct {
	date, second string // of the line before
	decimals     int    // of the seconds; 0 means 3
}

// begin returns the date of a time that stands in a heading; the time itself is printed next.
func (c *clock) begin(t engram.Time) string {
	c.date, c.second = t.String()[:len(dateLayout)], ""
	return c.date
}

// print returns a time as it stands in its line, and prints a new date on a line of its own.
func (c *clock) print(w io.Writer, t engram.Time) (string, error) {
	day, text := splitTime(t)
	if day != c.date {
		if err := printLine(w, span{faint, c.begin(t)}); err != nil {
			return "", err
		}
	}
	text = text[:len(secondLayout+".")+cmp.Or(c.decimals, 3)]
	second := text[:len(secondLayout)]
	if second == c.second {
		text = strings.Repeat(" ", len(second)) + text[len(second):]
	}
	c.second = second
	return text, nil
}

// discern has the clock show as many decimals as two times differ in.
func (c *clock) discern(t, u engram.Time) {
	switch d := t.Sub(u).Abs(); {
	case d == 0 || d >= time.Millisecond:
	case d >= time.Microsecond:
		c.decimals = max(c.decimals, 6)
	default:
		c.decimals = 9
	}
}

// splitTime returns the date and the time of day, with nine decimals.
func splitTime(t engram.Time) (date, clock string) {
	text := t.String()
	return text[:len(dateLayout)], (text[len(dateLayout)+1:] + "000")[:len(secondLayout)+10]
}

// name returns an entity's ID as it stands in a line.
func (l *snapshotLines) name(id engram.ID) string {
	if l.width == 0 {
		return visible(id.String())
	}
	names := id.Names()
	if n := min(int(l.base.Level()), len(names)-1); n > 0 && l.base.Contains(id) {
		names = names[n:]
	}
	for i, name := range names {
		names[i] = visible(engram.EscapeName(name))
	}
	robot := ""
	if name, _ := engram.SplitName(id.Memory()); name != "" && len(names) == int(id.Level()) {
		robot = visible(name) + ":"
	}
	room, last := min(max(l.width*4/5-38, 20), 60), len(names)-1 // what it says matters more
	short := []string{strings.Join(names, "/")}
	if last >= 3 {
		short = append(short, robot+"…/"+strings.Join(names[last-2:], "/"))
	}
	if last >= 2 { // who writes it matters the least
		first := names[last-2]
		if last > 2 {
			first = robot + first
		}
		short = append(short, first+"/…/"+names[last])
	}
	short = append(short, robot+"…/"+names[last])
	for _, text := range short {
		if uniseg.StringWidth(text) <= room {
			return text
		}
	}
	return cutMiddle(robot+names[last], room)
}

// text returns what a snapshot holds, and its least confidence.
func (l *snapshotLines) text(ctx context.Context, entity engram.ID, s *engram.Snapshot, index int) (spans []span, confidence float32) {
	confidence = 1
	for i, inst := range s.Instances {
		if index >= 0 && i != index {
			continue
		}
		confidence = min(confidence, inst.Confidence)
		o := idf.TextOptions{Brief: l.width > 0}
		if !l.stamped {
			o.Time = s.Time
		}
		if len(spans) > 0 {
			spans = append(spans, span{faint, " | "})
		}
		if before, ok := l.before[entity]; ok && l.width > 0 && i == 0 && before.Type == inst.Payload.Type {
			changed, same := l.types.difference(ctx, inst.Payload, before, o)
			spans = append(spans, span{bright, changed})
			if changed != "" && same != "" {
				same = ", " + same
			}
			spans = append(spans, span{faint, same})
		} else {
			spans = append(spans, span{text: l.types.text(ctx, inst.Payload, o)})
		}
		if i == 0 && l.width > 0 {
			l.keep(entity, inst.Payload)
		}
	}
	for i, s := range spans {
		spans[i].text = visible(s.text)
	}
	return spans, confidence
}

// keep keeps the payload that the next one of its entity is compared with.
func (l *snapshotLines) keep(entity engram.ID, p engram.Payload) {
	if len(p.Bytes) > maxBeforeBytes {
		delete(l.before, entity)
		return
	}
	if _, ok := l.before[entity]; !ok && len(l.before) == maxBefore {
		clear(l.before)
	}
	l.before[entity] = p
}

// shortDuration writes a delay with the digits that matter: 5.1 ms, 51 ms, 1.2 s, 3m20s.
func shortDuration(d time.Duration) string {
	switch ms := float64(d) / 1e6; {
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 9950:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms < 59_500:
		return fmt.Sprintf("%.0f s", ms/1000)
	}
	return words.Duration(d)
}

// commonBase returns the longest ID above entities that contains all the given ones.
func commonBase(ids []engram.ID) (base engram.ID) {
	for i, id := range ids {
		if id = id.Truncate(min(id.Level(), engram.LevelProviderSegment)); i == 0 {
			base = id
		}
		for !base.Contains(id) {
			base = base.Parent()
		}
	}
	return base
}

// baseOf returns what all IDs begin with that match one of the patterns.
func baseOf(patterns []engram.Pattern) engram.ID {
	ids := make([]engram.ID, len(patterns))
	for i, p := range patterns {
		ids[i] = p.Enclosing()
	}
	return commonBase(ids)
}

// showLines prints a line per instance: below its entity where one has several snapshots, else
// beside it.
func showLines(ctx context.Context, cmd *cobra.Command, types *typeCache, items []shown) error {
	lines := newSnapshotLines(cmd.OutOrStdout(), types)
	lines.stamped = stamped(cmd)
	ids := make([]engram.ID, len(items))
	for i, it := range items {
		if ids[i] = it.ID.Parent(); i > 0 && ids[i-1] == ids[i] {
			lines.headed = true
			lines.clock.discern(items[i-1].Time, it.Time)
		}
	}
	lines.base = commonBase(ids)
	lines.sure = lines.width > 0 && !slices.ContainsFunc(items, func(it shown) bool {
		return slices.ContainsFunc(it.Instances, func(inst engram.Instance) bool { return inst.Confidence < 1 })
	})
	if !lines.headed {
		for _, id := range ids {
			lines.widen(id)
		}
		if lines.width > 0 && !lines.base.IsRoot() {
			if err := lines.head(lines.base, items[0].Time); err != nil {
				return err
			}
		}
	}
	for i, it := range items {
		if lines.headed && (i == 0 || ids[i] != ids[i-1]) {
			if err := lines.head(ids[i], it.Time); err != nil {
				return err
			}
		}
		for n := range it.Instances {
			if it.index >= 0 && n != it.index {
				continue
			}
			if err := lines.line(ctx, it.ID, it.Snapshot, n, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// stamped reports whether the timestamps of snapshots were asked for.
func stamped(cmd *cobra.Command) bool {
	fields, _ := cmd.Flags().GetStringArray("field")
	return slices.Contains(fields, "timestamp")
}
