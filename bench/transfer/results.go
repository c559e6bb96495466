package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The systems of ours, and their peers as run.sh calls them.
const (
	inProcess = "engram" // no transport: the working memory, the conversions
	ours      = "engram-"

	iceDirect         = "ice-p2p"
	iceQuery          = "ice-query"
	iceStorm          = "icestorm-twoway" // ordered
	iceStormUnordered = "icestorm"
	iceMemory         = "ice-memory" // works as ArMem does
	iceVariant        = "aron-"      // before a kind: as variant trees
)

// The metrics of ours.
const (
	metricConvert     = "convert"      // business objects to IDF
	metricCommit      = "commit"       // conversion, commit, answer
	metricStore       = "store"        // commit in the memory's process
	metricLookup      = "lookup"       // query in the memory's process
	metricQuery       = "query"        // query, answer, conversion back
	metricConvertBack = "convert_back" // IDF to business objects
	metricAge         = "oneway"       // business objects at the producer to the same at the consumer
)

// cell is what a row of the results is about.
type cell struct {
	system string
	mode   string // how the consumer gets its data; the peers' mode
	kind   string
	batch  int
	metric string
}

// results are the figures of all cells in all rounds.
type results struct {
	order  []cell
	rounds map[cell]map[int]figures
}

func newResults() *results { return &results{rounds: map[cell]map[int]figures{}} }

func (r *results) add(round int, c cell, f figures) {
	if r.rounds[c] == nil {
		r.rounds[c] = map[int]figures{}
		r.order = append(r.order, c)
	}
	r.rounds[c][round] = f
}

// spread is how a figure varies over the rounds.
type spread struct{ min, median, max float64 }

// over is the spread of a figure, and of how many rounds; ok is false if there are
// none.
func over(values []float64) (s spread, ok bool) {
	if len(values) == 0 {
		return spread{}, false
	}
	slices.Sort(values)
	n := len(values)
	return spread{values[0], (values[(n-1)/2] + values[n/2]) / 2, values[n-1]}, true
}

// p50 is the spread of a cell's median.
func (r *results) p50(c cell) (spread, bool) {
	var all []float64
	for _, f := range r.rounds[c] {
		all = append(all, f.p50)
	}
	return over(all)
}

// ratio is the spread of how a's median compares with b's in the same round.
func (r *results) ratio(a, b cell) (spread, bool) {
	var all []float64
	for round, fa := range r.rounds[a] {
		if fb, ok := r.rounds[b][round]; ok && fb.p50 > 0 {
			all = append(all, fa.p50/fb.p50)
		}
	}
	return over(all)
}

var header = []string{
	"round", "system", "mode", "kind", "info_bytes", "batch", "metric",
	"n", "mean_us", "min_us", "p50_us", "p90_us", "p99_us", "max_us", "foreign_cpu_pct",
}

// write writes all cells as CSV.
func (r *results) write(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(header)
	for _, c := range r.order {
		rounds := r.rounds[c]
		for _, round := range sorted(rounds) {
			f := rounds[round]
			out.Write([]string{
				strconv.Itoa(round), c.system, c.mode, c.kind, strconv.Itoa(infoOf(c.kind)), strconv.Itoa(c.batch), c.metric,
				strconv.Itoa(f.n), us(f.mean), us(f.min), us(f.p50), us(f.p90), us(f.p99), us(f.max), fmt.Sprintf("%.1f", f.foreign),
			})
		}
	}
	out.Flush()
	return out.Error()
}

// kinds returns the kinds of objects that were measured.
func (r *results) kinds() []*kind {
	var all []*kind
	for i := range kinds {
		for _, c := range r.order {
			if c.kind == kinds[i].name && strings.HasPrefix(c.system, inProcess) {
				all = append(all, &kinds[i])
				break
			}
		}
	}
	return all
}

func us(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

func sorted[V any](m map[int]V) []int {
	var keys []int
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// infoOf returns the bytes of information in an object of ours or the peers'.
func infoOf(name string) int {
	for _, k := range kinds {
		if name == k.name || name == iceVariant+k.name {
			return k.info
		}
	}
	return 0
}

// readPeers adds what run.sh measured in a round.
func (r *results) readPeers(round int, in io.Reader) error {
	rows, err := csv.NewReader(in).ReadAll()
	if err == nil && len(rows) < 2 {
		err = errors.New("the peers measured nothing")
	}
	if err != nil {
		return err
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, name := range header[1:] {
		if _, ok := column[name]; !ok {
			return fmt.Errorf("the peers' results have no column %s", name)
		}
	}
	for line, row := range rows[1:] {
		var bad error
		number := func(name string) float64 {
			v, err := strconv.ParseFloat(row[column[name]], 64)
			if err != nil {
				bad = fmt.Errorf("the peers' results, row %d, column %s: %w", line+1, name, err)
			}
			return v
		}
		text := func(name string) string { return row[column[name]] }
		r.add(round, cell{text("system"), text("mode"), text("kind"), int(number("batch")), text("metric")}, figures{
			n: int(number("n")), mean: number("mean_us"), min: number("min_us"), p50: number("p50_us"),
			p90: number("p90_us"), p99: number("p99_us"), max: number("max_us"), foreign: number("foreign_cpu_pct"),
		})
		if bad != nil {
			return bad
		}
	}
	return nil
}
