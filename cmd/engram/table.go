package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
)

// table is what a command prints for people, and as CSV. Programs that read CSV get
// the cells raw: numbers without separators and units, times as in JSON, names as
// they are (but on a terminal, see screen).
type table struct {
	header   []string // upper case
	verbatim bool     // the header is not: it has names, which CSV has as they are
	right    []bool   // columns aligned to the right
	rows     [][]cell
}

type cell struct{ shown, raw string }

// add adds a row. Counts, sizes and times may stand as such (int, uint64, int64,
// byteSize, engram.Time), and a cell that differs for people as a cell.
func (t *table) add(values ...any) {
	row := make([]cell, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case cell:
			row[i] = v
		case int:
			row[i] = cell{formatCount(v), strconv.Itoa(v)}
		case int64:
			row[i] = cell{formatCount(v), strconv.FormatInt(v, 10)}
		case uint64:
			row[i] = cell{formatCount(v), strconv.FormatUint(v, 10)}
		case byteSize:
			row[i] = cell{v.String(), strconv.FormatInt(int64(v), 10)}
		case engram.Time:
			row[i] = cell{v.String()[:len("2006-01-02 15:04:05.000")], string(v.AppendRFC3339(nil))}
		default:
			text := fmt.Sprint(v)
			row[i] = cell{text, text}
		}
	}
	t.rows = append(t.rows, row)
}

// fullTime is the cell of a time that people need in full.
func fullTime(t engram.Time) cell { return cell{t.String(), string(t.AppendRFC3339(nil))} }

// write prints the table with aligned columns, cut to the terminal's width if w is
// a terminal.
func (t *table) write(w io.Writer) error {
	lines := make([][]string, 1, 1+len(t.rows))
	lines[0] = t.header
	for _, row := range t.rows {
		line := make([]string, len(row))
		for i, c := range row {
			line[i] = visible(c.shown)
		}
		lines = append(lines, line)
	}
	width := make([]int, len(t.header))
	for _, line := range lines {
		for i, c := range line {
			width[i] = max(width[i], uniseg.StringWidth(c))
		}
	}
	screen := terminalWidth(w)
	for _, cells := range lines {
		var line strings.Builder
		for i, c := range cells {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-uniseg.StringWidth(c))
			if i < len(t.right) && t.right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		if _, err := io.WriteString(w, cutLine(strings.TrimRight(line.String(), " "), screen)+"\n"); err != nil {
			return err
		}
	}
	return nil
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

// terminalWidth returns how many cells wide the terminal is that w writes to; 0 if
// it is none.
func terminalWidth(w io.Writer) int {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
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

// maxNarrow is how many cells wide a name is that others stand beside.
const maxNarrow = 48

// narrow is the cell of a name that is to make no column wide: people see its beginning and
// its end.
func narrow(name string) cell {
	shown := visible(name)
	if uniseg.StringWidth(shown) <= maxNarrow {
		return cell{name, name}
	}
	begin := cutLine(shown, maxNarrow/2)
	end := shown
	for state := -1; uniseg.StringWidth(end) > maxNarrow/2; {
		_, end, _, state = uniseg.FirstGraphemeClusterInString(end, state)
	}
	return cell{begin + end, name}
}
