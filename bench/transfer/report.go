package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// report is what is printed: Markdown, as it stands in docs/performance.md.
type report struct {
	config
	res   *results
	rates []rates
}

func (r report) write(w io.Writer) error {
	var b strings.Builder
	r.conditions(&b)
	if r.script != "" {
		r.ages(&b)
	}
	if len(r.rates) > 0 {
		r.rows(&b)
	}
	r.medians(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// conditions says where and how it was measured.
func (r report) conditions(b *strings.Builder) {
	var foreign []float64
	for _, rounds := range r.res.rounds {
		for _, f := range rounds {
			foreign = append(foreign, f.foreign)
		}
	}
	load, _ := over(foreign)
	var uname unix.Utsname
	unix.Uname(&uname)
	collector := os.Getenv("GOGC")
	if collector == "" {
		collector = "as it is by default"
	}
	fmt.Fprintf(b, "%s, %d cores, Linux %s, %s, GOGC %s; %s; rounds: %d, at most %d samples of a cell and round. Others used %.0f %% of the machine during the median cell, %.0f %% during the worst.\n\n",
		processor(), runtime.NumCPU(), unix.ByteSliceToString(uname.Release[:]), runtime.Version(), collector, time.Now().UTC().Format(time.DateOnly),
		r.config.rounds, r.extent.samples, load.median, load.max)
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// ageTarget is what issue 3 asks for of the age in a cell, as a ratio to a peer's.
func ageTarget(peer, kind string, batch int) float64 {
	many, large := batch == 50 || batch == 100, kind == "complex"
	switch {
	case peer == iceDirect && many && kind == "moderate":
		return 0.25
	case peer == iceDirect && many && large:
		return 0.85
	case peer == iceDirect:
		return 1
	case peer == iceStorm:
		return 0.7
	case large:
		return 0.4
	}
	return 0.25
}

// ages compares the age of data with the peers', cell by cell.
func (r report) ages(b *strings.Builder) {
	peers := []curve{peerDirect, peerStorm, peerMemory}
	b.WriteString("Age of the data, µs: median (smallest–largest median of a round). Ratios: ours by subscription with data over edge/transport/local, to the peer's in the same round.\n\n")
	b.WriteString("| object × batch | ours |")
	for _, p := range peers {
		fmt.Fprintf(b, " %s | ratio | target |", p.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|---|---|", len(peers)) + "\n")
	met, all := 0, 0
	for _, k := range r.res.kinds() {
		for _, n := range []int{1, 20, 50, 100} {
			mine := bySubscriptionLocal.of(k.name, n)
			fmt.Fprintf(b, "| %s B × %d | %s |", thousands(k.info), n, r.cell(mine))
			for _, p := range peers {
				theirs := p.of(k.name, n)
				ratio, ok := r.res.ratio(mine, theirs)
				if !ok {
					b.WriteString(" – | – | – |")
					continue
				}
				limit := ageTarget(p.cell.system, k.name, n)
				all++
				if ratio.median <= limit {
					met++
				}
				fmt.Fprintf(b, " %s | %s | ≤ %g %s |", r.cell(theirs), ratios(ratio), limit, verdict(ratio.median <= limit))
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(b, "\n%d of %d met.\n\n", met, all)
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// number writes a figure with three digits at least.
func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(int(v + 0.5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (s spread) String() string {
	if s.min == s.max {
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.median), number(s.min), number(s.max))
}

func ratios(s spread) string {
	if s.min == s.max {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.min, s.max)
}

// cell is a cell's median over the rounds, "–" if there is none.
func (r report) cell(c cell) string {
	s, ok := r.res.p50(c)
	if !ok {
		return "–"
	}
	return s.String()
}

// rateOf is how a rate varies over the rounds.
func (r report) rateOf(of func(rates) float64) spread {
	var all []float64
	for _, x := range r.rates {
		all = append(all, of(x))
	}
	s, _ := over(all)
	return s
}

// rows are the rest of issue 3's table.
func (r report) rows(b *strings.Builder) {
	b.WriteString("| | ours | peer | target | |\n|---|---|---|---|---|\n")
	row := func(what, mine, peer, target string, met bool) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", what, mine, peer, target, verdict(met))
	}
	jitter := r.rateOf(func(x rates) float64 { return x.mixedP99 / x.mixedP50 })
	peer := "–"
	var theirs []float64
	for _, f := range r.res.rounds[cell{iceDirect, "mixed", "moderate", 1, "oneway"}] {
		theirs = append(theirs, f.p99/f.p50)
	}
	if s, ok := over(theirs); ok {
		peer = "Ice, one connection: " + ratios(s)
	}
	row("p99 / p50 of the age, 33 B at 1 kHz beside 49 KB images at 30 Hz, one connection each",
		fmt.Sprintf("%s; p50 %s µs", ratios(jitter), r.rateOf(func(x rates) float64 { return x.mixedP50 })), peer, "≤ 5", jitter.median <= 5)
	mine := byNotificationLocal.of("moderate", 1)
	if s, ok := r.res.ratio(mine, peerMemory.of("moderate", 1)); ok {
		row("notification then query, 33 B × 1, to the memory over Ice", ratios(s)+"; "+r.cell(mine)+" µs",
			r.cell(peerMemory.of("moderate", 1))+" µs", "≤ 0.5", s.median <= 0.5)
	}
	polling := r.rateOf(func(x rates) float64 { return x.polling })
	row("queries a second that each bring a fresh 33 B state, none missed", polling.String()+"; states: "+r.rateOf(func(x rates) float64 { return x.pollingStates }).String(), "the paper: 160", "≥ 20,000", polling.median >= 20_000)
	throughput := r.rateOf(func(x rates) float64 { return x.throughput })
	row("commits a second of one 33 B object, one stream, stored and with one subscriber, none lost", throughput.String(), "–", "≥ 250,000", throughput.median >= 250_000)
	camera := r.rateOf(func(x rates) float64 { return x.camera })
	row("640×480 RGB stereo at 20 Hz to two consumers: CPU of the server, % of one core", camera.String(), "–", "≤ 20", camera.median <= 20)
	var tcp []float64
	for _, k := range r.res.kinds() {
		for _, n := range r.res.batches() {
			if s, ok := r.res.ratio(cell{ours + overTCP, bySubscription, k.name, n, metricAge}, cell{ours + overUnix, bySubscription, k.name, n, metricAge}); ok {
				tcp = append(tcp, s.median)
			}
		}
	}
	if s, ok := over(tcp); ok {
		row("rpc, TCP over loopback to Unix socket, age by subscription: median (range) of all cells", ratios(s), "–", "≤ 1.6", s.max <= 1.6)
	}
	b.WriteString("\n")
}

// medians are the medians of all cells.
func (r report) medians(b *strings.Builder) {
	batches := slices.DeleteFunc(r.res.batches(), func(n int) bool { return !slices.Contains(r.extent.batches, n) })
	curves := slices.Concat([]curve{conversion, storage}, commitCurves, []curve{lookup}, queryCurves, []curve{conversionBack}, ageCurves,
		[]curve{peerRoundTrip, peerQuery, peerDirect, peerStorm, peerUnordered, peerMemory})
	for _, k := range r.res.kinds() {
		fmt.Fprintf(b, "%s (%s B), medians in µs by the size of the batch:\n\n|  |", k.name, thousands(k.info))
		for _, n := range batches {
			fmt.Fprintf(b, " %d |", n)
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(batches)) + "\n")
		for _, c := range curves {
			line, any := "| "+c.name+" |", false
			for _, n := range batches {
				s, ok := r.res.p50(c.of(k.name, n))
				if any = any || ok; ok {
					line += " " + number(s.median) + " |"
				} else {
					line += " – |"
				}
			}
			if any {
				b.WriteString(line + "\n")
			}
		}
		b.WriteString("\n")
	}
}

// writeRates writes the rates as CSV.
func writeRates(w io.Writer, rounds []rates) error {
	out := csv.NewWriter(w)
	out.Write([]string{"round", "rate", "value", "unit"})
	for i, r := range rounds {
		for _, x := range []struct {
			name  string
			value float64
			unit  string
		}{
			{"mixed_small_p50", r.mixedP50, "us"}, {"mixed_small_p99", r.mixedP99, "us"}, {"mixed_image_p50", r.mixedImageP50, "us"},
			{"mixed_late_slots", float64(r.mixedLate), "1"}, {"polling_fresh_queries", r.polling, "1/s"}, {"polling_states", r.pollingStates, "1/s"},
			{"stream_commits", r.throughput, "1/s"}, {"camera_server_cpu", r.camera, "% of a core"},
		} {
			out.Write([]string{strconv.Itoa(i + 1), x.name, strconv.FormatFloat(x.value, 'g', 6, 64), x.unit})
		}
	}
	out.Flush()
	return out.Error()
}
