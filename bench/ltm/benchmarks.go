package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// results are figures of benchmarks by name and unit, one for each round.
type results map[string]map[string][]float64

// of returns the median.
func (r results) of(benchmark, unit string) float64 { return median(r[benchmark][unit]) }

// at returns the figure of a round, or NaN if there is none.
func (r results) at(benchmark, unit string, round int) float64 {
	if values := r[benchmark][unit]; round < len(values) {
		return values[round]
	}
	return math.NaN()
}

// each returns the median of f over the rounds.
func (r results) each(f func(round int) float64) float64 {
	rounds := 0
	for _, units := range r {
		for _, values := range units {
			rounds = max(rounds, len(values))
		}
	}
	var all []float64
	for i := range rounds {
		all = append(all, f(i))
	}
	return median(all)
}

// benchmarks are a package's own, run as they are.
type benchmarks struct {
	binary, dir string // the test program, and the folder that it runs in
	env         []string
	quick       bool
	results     results
}

// benchmarksOf builds the test program of a package of this module.
func benchmarksOf(ctx context.Context, c config, pkg string) (*benchmarks, error) {
	b := &benchmarks{binary: filepath.Join(c.dir, strings.ReplaceAll(pkg, "/", "-")+".test"), quick: c.quick, results: results{}}
	var err error
	if b.dir, err = filepath.Abs(pkg); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", b.binary, "./"+pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the benchmarks of %s cannot be built; run this in the module's folder: %w\n%s", pkg, err, out)
	}
	b.env = append(os.Environ(), "ENGRAM_BENCH_DIR="+c.dir, "TMPDIR="+c.dir)
	return b, nil
}

// round runs the benchmarks that match once, and adds their figures.
func (b *benchmarks) round(ctx context.Context, match, time string) error {
	args := []string{"-test.run=^$", "-test.bench=" + match, "-test.benchtime=" + time, "-test.timeout=1h"}
	if b.quick {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, b.binary, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", match, err, out)
	}
	if b.results.parse(out) == 0 {
		return fmt.Errorf("%s: no benchmark has answered\n%s", match, out)
	}
	return nil
}

// parse reads the lines of benchmarks, and returns how many there were.
func (r results) parse(out []byte) (lines int) {
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil { // the number of processors
				name = name[:i]
			}
		}
		if r[name] == nil {
			r[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				r[name][f[i+1]] = append(r[name][f[i+1]], v)
			}
		}
		lines++
	}
	return lines
}

// commits measures what the log takes of who commits.
func commits(ctx context.Context, c config) error {
	b, err := benchmarksOf(ctx, c, "core/ltm/wal")
	if err != nil {
		return err
	}
	long, rate := "2s", "20000x"
	if c.quick {
		long, rate = "100ms", "500x"
	}
	for range c.rounds {
		for _, run := range [][2]string{{"^BenchmarkCommit$", long}, {"^BenchmarkCommitLatency$", rate}, {"^BenchmarkSynced$", long}} {
			if err := b.round(ctx, run[0], run[1]); err != nil {
				return err
			}
		}
	}
	r := b.results
	added := func(unit string) float64 {
		return r.each(func(i int) float64 {
			return r.at("BenchmarkCommitLatency/logged", unit, i) - r.at("BenchmarkCommitLatency/volatile", unit, i)
		})
	}
	const perSecond = "commits/s"
	c.report.atLeast("commits of 100 B into a `logged` segment, one process, with CRC, all on disk in the end", 300_000, r.of("BenchmarkCommit/logged", perSecond), "/s")
	c.report.note("… into a `volatile` segment", quantity(r.of("BenchmarkCommit/volatile", perSecond), "/s"))
	c.report.atLeast("`synced`, 64 writers, against one fsync per commit", 15, r.each(func(i int) float64 {
		return r.at("BenchmarkSynced/writers=64", perSecond, i) / r.at("BenchmarkSynced/fsync-per-commit", perSecond, i)
	}), " ×")
	c.report.note("… one fsync per commit, 1 writer, 64 writers", fmt.Sprintf("%s, %s, %s", quantity(r.of("BenchmarkSynced/fsync-per-commit", perSecond), "/s"),
		quantity(r.of("BenchmarkSynced/writers=1", perSecond), "/s"), quantity(r.of("BenchmarkSynced/writers=64", perSecond), "/s")))
	c.report.atMost("latency that `logged` adds to a commit at 10,000/s, p50", 2, added("p50-µs"), " µs")
	c.report.atMost("… p99", 100, added("p99-µs"), " µs")
	return nil
}

// recovery measures how long a log takes to be read back.
func recovery(ctx context.Context, c config) error {
	b, err := benchmarksOf(ctx, c, "core/ltm/wal")
	if err != nil {
		return err
	}
	for range min(c.rounds, 3) {
		if err := b.round(ctx, "^BenchmarkRecovery$/^payload=(100|1000)$", "1x"); err != nil {
			return err
		}
	}
	for _, size := range []string{"100", "1000"} {
		name := "BenchmarkRecovery/payload=" + size
		c.report.atMost(fmt.Sprintf("recovery of a log of 1 GB, %s records of %s B", quantity(b.results.of(name, "snapshots/op"), ""), size), 5, b.results.of(name, "s/GB"), " s")
	}
	return nil
}

// reads measures look-ups in an hour of a million snapshots.
func reads(ctx context.Context, c config) error {
	b, err := benchmarksOf(ctx, c, "ltm")
	if err != nil {
		return err
	}
	long := "2s"
	if c.quick {
		long = "50ms"
	}
	for range min(c.rounds, 3) {
		if err := b.round(ctx, "^BenchmarkOneValue(FromDisk)?$", long); err != nil {
			return err
		}
	}
	r := b.results
	c.report.atMost("one value at a time in 1 h of 1,000,000 snapshots, nothing cached by the memory", 1, r.of("BenchmarkOneValue/cold", "ns/op")/1e6, " ms")
	c.report.note("… nothing cached by the operating system either", quantity(r.of("BenchmarkOneValueFromDisk", "p50-ns")/1e6, " ms"))
	c.report.atMost("… warm", 50, r.of("BenchmarkOneValue/warm", "ns/op")/1e3, " µs")
	c.report.atLeast("range read of numbers", 1_000_000, r.of("BenchmarkOneValue/range", "snapshots/s"), " snapshots/s")
	return nil
}

// folder measures how long a folder with many episodes takes to open.
func folder(ctx context.Context, c config) error {
	b, err := benchmarksOf(ctx, c, "ltm")
	if err != nil {
		return err
	}
	if err := b.round(ctx, "^BenchmarkOpenThousandEpisodes$", fmt.Sprintf("%dx", 2*c.rounds)); err != nil {
		return err
	}
	c.report.atMost("open a folder with 1,000 episodes of 100 entities", 0.5, b.results.of("BenchmarkOpenThousandEpisodes", "ns/op")/1e9, " s")
	return nil
}
