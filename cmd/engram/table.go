package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
)

// table is what a command prints for people, and as CSV. Programs that read CSV get
// the cells raw: numbers without separators and units, times as in JSON, names as
// they are (but on a terminal, see screen).
type table struct {
	header   []string // upper case
	verbatim bool     // the header is not: it has names, which CSV has as they are
	right    []bool   // columns aligned to the right
	spare    []string // the columns that a narrow terminal goes without, in this order
	whole    string   // the format of -o that has all columns; csv if it is empty
	folded   bool     // the last column has sentences, which a terminal has on several lines
	rows     [][]cell
}

// cell is what people see and what stands in CSV.
type cell struct {
	shown, raw string
	look       *look // nil for most: a table may have as many cells as a world has items, and more
}

// look is how a cell is otherwise on a terminal: there brief is shown instead, if there is one, in its style.
type look struct {
	brief string
	style style
	time  engram.Time // of a cell that is one
}

// looks returns how a cell is on a terminal.
func (c cell) looks() look {
	if c.look == nil {
		return look{}
	}
	return *c.look
}

// cellOf is a cell that differs for people.
func cellOf(shown, raw string) cell { return cell{shown: shown, raw: raw} }

// text is the cell of a text.
func text(s string) cell { return cellOf(s, s) }

// add adds a row. Counts, sizes and times may stand as such (int, uint64, int64,
// byteSize, engram.Time), and a cell that differs for people as a cell.
func (t *table) add(values ...any) {
	row := make([]cell, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case cell:
			row[i] = v
		case int:
			row[i] = cellOf(words.Count(v), strconv.Itoa(v))
		case int64:
			row[i] = cellOf(words.Count(v), strconv.FormatInt(v, 10))
		case uint64:
			row[i] = cellOf(words.Count(v), strconv.FormatUint(v, 10))
		case byteSize:
			row[i] = cellOf(v.String(), strconv.FormatInt(int64(v), 10))
		case engram.Time:
			row[i] = milliTime(v)
		default:
			row[i] = text(fmt.Sprint(v))
		}
	}
	t.rows = append(t.rows, row)
}

// age is the cell of a time that people are shown as how long ago it was, on a terminal, where it was
// within a day; other values are as they are.
func age(v any) any {
	t, ok := v.(engram.Time)
	if !ok {
		return v
	}
	return milliTime(t).aged()
}

// aged returns the cell of a time, on a terminal as how long ago it was, where it was within a day.
func (c cell) aged() cell {
	l := c.looks()
	if ago := engram.Now().Sub(l.time); ago >= 0 && ago <= 24*time.Hour {
		l.brief = shortDuration(ago) + " ago"
	}
	c.look = &l
	return c
}

// stateStyles are the styles of words that tell how something is.
var stateStyles = map[string]style{
	"ok": good, "live": good, "valid": good,
	"degraded": warning, "warn": warning, "catching": warning, "waiting": warning, "expired": warning,
	"failed": bad, "problem": bad, "revoked": bad,
}

// state is the cell of a word that tells how something is.
func state[S ~string](word S) cell {
	c := text(string(word))
	c.look = &look{style: stateStyles[strings.ToLower(c.raw)]}
	return c
}

// fullTime is the cell of a time that people need in full.
func fullTime(t engram.Time) cell {
	return cell{shown: t.String(), raw: string(t.AppendRFC3339(nil)), look: &look{time: t}}
}

// milliTime is the cell of a time that people are shown to the millisecond.
func milliTime(t engram.Time) cell {
	c := fullTime(t)
	c.shown = c.shown[:len(dateLayout+" "+milliLayout)]
	return c
}

// plainTime is the cell of a time that stands in CSV as people read it.
func plainTime(t engram.Time) cell {
	return cell{shown: t.String(), raw: t.String(), look: &look{time: t}}
}

// secondTime is the cell of a time that people are shown to the second; in CSV as people read it.
func secondTime(t engram.Time) cell {
	c := plainTime(t)
	c.shown = c.shown[:len(dateLayout+" "+secondLayout)]
	return c
}

// write prints the table with aligned columns. On a terminal it fits the width: times are
// brief, spare columns are left out, with a word, and wide ones are cut or folded.
func (t *table) write(w io.Writer) error {
	l := layoutOf(w)
	if l.width == 0 {
		return t.writePlain(w)
	}
	lines := t.lines()
	width := make([]int, len(t.header))
	for _, line := range lines {
		for i, c := range line {
			width[i] = max(width[i], cellsWide(c.text))
		}
	}
	hidden, left := t.fit(width, l.width)
	for _, cells := range lines {
		var line []span
		for i, c := range cells {
			if hidden[i] {
				continue
			}
			if len(line) > 0 {
				line = append(line, span{text: "  "})
			}
			if t.folded && i == len(cells)-1 {
				if err := printFolded(w, line, c); err != nil {
					return err
				}
				line = nil
				break
			}
			c.text = cutCell(c.text, width[i], i == len(cells)-1)
			pad := span{text: strings.Repeat(" ", width[i]-cellsWide(c.text))}
			if i < len(t.right) && t.right[i] {
				line = append(line, pad, c)
			} else {
				line = append(line, c, pad)
			}
		}
		if line == nil {
			continue
		}
		if err := printLine(w, line...); err != nil {
			return err
		}
	}
	if len(left) > 0 && len(t.rows) > 0 {
		return printFolded(w, nil, span{faint, "(" + listed(left, "and") + ": on a wider terminal, or with -o " + cmp.Or(t.whole, "csv") + ")"})
	}
	return nil
}

// writePlain prints the table where there is no terminal. A table may have as many rows as a world has items.
func (t *table) writePlain(w io.Writer) error {
	width := make([]int, len(t.header))
	widen := func(i int, text string) {
		_, cells := visibleCells(text)
		width[i] = max(width[i], cells)
	}
	for i, h := range t.header {
		widen(i, h)
	}
	for _, row := range t.rows {
		for i := range row {
			widen(i, row[i].shown)
		}
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	add := func(i int, text string) {
		text, cells := visibleCells(text)
		pad := width[i] - cells
		if i > 0 {
			line = append(line, "  "...)
		}
		left := i < len(t.right) && t.right[i]
		if !left {
			line = append(line, text...)
		}
		for ; pad > 0; pad -= len(blanks) {
			line = append(line, blanks[:min(pad, len(blanks))]...)
		}
		if left {
			line = append(line, text...)
		}
	}
	end := func() error {
		_, err := out.Write(append(bytes.TrimRight(line, " "), '\n'))
		line = line[:0]
		return err
	}
	for i, h := range t.header {
		add(i, h)
	}
	err := end()
	for _, row := range t.rows {
		for i := range row {
			add(i, row[i].shown)
		}
		err = cmp.Or(err, end())
	}
	return cmp.Or(err, out.Flush())
}

// blanks fill a column up.
const blanks = "                                "

// visibleCells returns a text as [visible] does, and how many cells of a terminal that takes.
func visibleCells(text string) (string, int) {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			text = visible(text)
			return text, cellsWide(text)
		}
	}
	return text, len(text) // as most are
}

// cellsWide returns how many cells of a terminal a text takes: as many as it has characters, where each takes one.
func cellsWide(text string) int {
	n := 0
	for _, r := range text {
		if !oneCell(r) {
			return uniseg.StringWidth(text)
		}
		n++
	}
	return n
}

// lines returns the header and the rows as a terminal shows them.
func (t *table) lines() [][]span {
	lines := make([][]span, 1, 1+len(t.rows))
	for _, h := range t.header {
		lines[0] = append(lines[0], span{faint, visible(h)})
	}
	now := engram.Now()
	today, date := t.ofDay(now), now.String()[:len(dateLayout+" ")]
	for _, row := range t.rows {
		line := make([]span, len(row))
		for i, c := range row {
			text, l := c.shown, c.looks()
			switch {
			case l.brief != "":
				text = l.brief
			case l.time != 0 && today:
				text = strings.Replace(text, date, "", 1) // it may say "since" before
			}
			line[i] = span{l.style, visible(text)}
		}
		lines = append(lines, line)
	}
	return lines
}

// ofDay reports whether all times that the table shows as such are of the same day as another.
func (t *table) ofDay(now engram.Time) bool {
	day := now.String()[:len(dateLayout)]
	for _, row := range t.rows {
		for _, c := range row {
			if l := c.looks(); l.time != 0 && l.brief == "" && l.time.String()[:len(dateLayout)] != day {
				return false
			}
		}
	}
	return true
}

// floors returns to how many cells columns may be cut that are so wide: numbers and times not at
// all, the last one and the first one, which says what the row is of, less than others, and behind
// the lines of a tree.
func (t *table) floors(width []int) []int {
	floors := make([]int, len(width))
	for i := range floors {
		switch {
		case i < len(t.right) && t.right[i]:
			floors[i] = width[i]
		case i == 0:
			floors[i] = 24
		case i == len(width)-1:
			floors[i] = 20
		default:
			floors[i] = 16
		}
	}
	for _, row := range t.rows {
		for i, c := range row {
			if c.looks().time != 0 {
				floors[i] = width[i]
			} else if i == 0 {
				floors[i] = max(floors[i], uniseg.StringWidth(treeLines(c.shown))+16)
			}
		}
	}
	for i := range floors {
		floors[i] = min(floors[i], width[i])
	}
	return floors
}

// treeLines returns the lines of a tree that a name stands behind.
func treeLines(name string) string {
	return name[:len(name)-len(strings.TrimLeft(name, " │├└─"))]
}

// fit makes the columns as narrow as a terminal of so many cells needs, and returns which are left
// out.
func (t *table) fit(width []int, screen int) (hidden []bool, left []string) {
	hidden = make([]bool, len(width))
	if screen == 0 {
		return hidden, nil
	}
	floors := t.floors(width)
	least, all := -2, -2
	for i, w := range width {
		least += floors[i] + 2
		all += w + 2
	}
	for _, name := range t.spare {
		if i := slices.Index(t.header, name); i >= 0 && least > screen {
			hidden[i] = true
			left = append(left, name)
			least -= floors[i] + 2
			all -= width[i] + 2
		}
	}
	for ; all > screen; all-- {
		most := -1
		for i, w := range width {
			if spare := w - floors[i]; !hidden[i] && spare > 0 && (most < 0 || spare > width[most]-floors[most]) {
				most = i
			}
		}
		if most < 0 {
			break
		}
		width[most]--
	}
	return hidden, left
}

func (t *table) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	header := slices.Clone(t.header)
	for i, h := range header {
		if !t.verbatim {
			header[i] = strings.ToLower(h)
		}
	}
	_ = c.Write(header) // its error stays until Error
	for _, row := range t.rows {
		record := make([]string, len(row))
		for i, cell := range row {
			record[i] = cell.raw
		}
		_ = c.Write(record)
	}
	c.Flush()
	return c.Error()
}

// cutLine cuts a line that is wider than so many cells; 0 is no limit.
func cutLine(line string, width int) string {
	if width < 1 || uniseg.StringWidth(line) <= width {
		return line
	}
	var cut strings.Builder
	used, state := 0, -1
	for rest := line; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used += w; used > width-1 {
			break
		}
		cut.WriteString(cluster)
	}
	return cut.String() + "…"
}

// cutCell cuts what stands in a column to so many cells: a name in its middle, behind the lines of a
// tree; what stands last at its end.
func cutCell(text string, width int, last bool) string {
	indent := treeLines(text)
	name := text[len(indent):]
	if room := width - uniseg.StringWidth(indent); !last && room > 3 {
		return indent + cutMiddle(name, room)
	}
	return cutLine(text, width)
}

// cutMiddle cuts a name to so many cells, and leaves its beginning and its end.
func cutMiddle(name string, width int) string {
	if uniseg.StringWidth(name) <= width {
		return name
	}
	end := name
	for state := -1; uniseg.StringWidth(end) > width/2; {
		_, end, _, state = uniseg.FirstGraphemeClusterInString(end, state)
	}
	return cutLine(name, width-uniseg.StringWidth(end)) + end
}

// maxNarrow is how many cells wide a name is that others stand beside.
const maxNarrow = 48

// narrow is the cell of a name that is to make no column wide: people see its beginning and
// its end.
func narrow(name string) cell {
	return cellOf(cutMiddle(visible(name), maxNarrow), name)
}
