package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
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
	// where no line then tells a confidence.
	headed, sure bool

	layout
	idWidth  int
	lastDate string
	lastTime string
	before   map[engram.ID]engram.Payload // the first instance of each entity's newest line
}

// maxBefore bounds of how many entities the payload before is kept.
const maxBefore = 1000

func newSnapshotLines(w io.Writer, types *typeCache) *snapshotLines {
	return &snapshotLines{w: w, types: types, layout: layoutOf(w), before: map[engram.ID]engram.Payload{}}
}

// head prints the entity of the lines that follow, the first of which is of the given snapshot.
func (l *snapshotLines) head(id engram.ID) error {
	spans := []span{{bright, id.Parent().String()}}
	if at, _ := id.Time(); l.width > 0 {
		l.lastTime, l.lastDate = "", at.String()[:len(dateLayout)]
		spans = append(spans, span{faint, "  " + l.lastDate})
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
	at, _ := id.Time()
	when, err := l.when(at)
	if err != nil {
		return err
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

// when returns a time as it stands in a line. On a terminal it prints a new date on a line of its
// own, and leaves out what is as in the line before.
func (l *snapshotLines) when(t engram.Time) (string, error) {
	text := t.String()
	if l.width == 0 {
		return text, nil
	}
	const date, second, milli = len(dateLayout), len(secondLayout), len(milliLayout)
	if day := text[:date]; day != l.lastDate {
		l.lastDate, l.lastTime = day, ""
		if err := printLine(l.w, span{faint, day}); err != nil {
			return "", err
		}
	}
	text = text[date+1:][:milli]
	same := l.lastTime == text[:second]
	l.lastTime = text[:second]
	if same {
		text = strings.Repeat(" ", second) + text[second:]
	}
	return text, nil
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
	room, last := min(max(l.width*2/5, 20), 60), len(names)-1
	short := []string{strings.Join(names, "/")}
	if last >= 3 {
		short = append(short, "…/"+strings.Join(names[last-2:], "/"))
	}
	if last >= 2 { // who writes it matters the least
		short = append(short, names[last-2]+"/…/"+names[last])
	}
	short = append(short, "…/"+names[last])
	for _, text := range short {
		if uniseg.StringWidth(text) <= room {
			return text
		}
	}
	return cutMiddle(names[last], room)
}

// text returns what a snapshot holds, and its least confidence.
func (l *snapshotLines) text(ctx context.Context, entity engram.ID, s *engram.Snapshot, index int) (spans []span, confidence float32) {
	confidence = 1
	for i, inst := range s.Instances {
		if index >= 0 && i != index {
			continue
		}
		confidence = min(confidence, inst.Confidence)
		o := idf.TextOptions{Time: s.Time, Brief: l.width > 0}
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
			if len(l.before) == maxBefore {
				clear(l.before)
			}
			l.before[entity] = inst.Payload
		}
	}
	for i, s := range spans {
		spans[i].text = visible(s.text)
	}
	return spans, confidence
}

// shortDuration writes a delay with the digits that matter: 5.1 ms, 51 ms, 1.2 s, 3m20s.
func shortDuration(d time.Duration) string {
	switch ms := float64(d) / 1e6; {
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", ms/1000)
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", ms/1000)
	}
	return formatDuration(d)
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
	ids := make([]engram.ID, len(items))
	for i, it := range items {
		ids[i] = it.ID.Parent()
		lines.headed = lines.headed || i > 0 && ids[i-1] == ids[i]
	}
	lines.base = commonBase(ids)
	lines.sure = lines.width > 0 && !slices.ContainsFunc(items, func(it shown) bool {
		return slices.ContainsFunc(it.Instances, func(inst engram.Instance) bool { return inst.Confidence < 1 })
	})
	for i, it := range items {
		lines.widen(ids[i])
		if lines.headed && (i == 0 || ids[i] != ids[i-1]) {
			if err := lines.head(it.ID); err != nil {
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
