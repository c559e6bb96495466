// Command ltm measures the long-term memory: what it takes on disk, in time, in
// memory and in quality, on the recordings of ../shared/data and the simulated
// robot, row by row of the table in docs/performance.md.
//
//	go run ./bench/ltm [-rows online,small,lossless,…] [-out FILE] [-quick]
//	      [-data ../shared/data/recordings] [-dir DIR] [-duration 60s] [-rounds 5]
//
// Details are printed on standard output as they come, then the table as Markdown,
// which -out writes to a file too. Nothing else should run on the machine, and DIR
// should be on the disk that is to be measured: a gigabyte or two are written there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// config is what all measurements share.
type config struct {
	data     string        // the folder of the recordings
	dir      string        // a folder to write to, removed at the end
	duration time.Duration // of each run of the robot
	rounds   int           // how often benchmarks are run, in turn
	quick    bool          // a smoke run on little data
	out      io.Writer     // for details
	report   *report
}

// measurements are what can be measured, by name, in the order of the report.
var measurements = []struct {
	name, what string
	measure    func(context.Context, config) error
}{
	{"online", "the paper's workload at 640x480 in the default policies, at 5 and at 20 Hz, and without a disk", online},
	{"small", "the same at 128x128", small},
	{"lossless", "the paper's workload with everything recorded without loss", lossless},
	{"images", "codecs of images alone, and one frame of video", images},
	{"numbers", "codecs of numbers alone", numbers},
	{"commits", "commits into logged and synced segments", commits},
	{"reads", "one value, and ranges of values, out of an hour", reads},
	{"folder", "a folder with 1,000 episodes", folder},
	{"recovery", "a log of 1 GB", recovery},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/ltm: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	c := config{out: os.Stdout, report: &report{}}
	flag.StringVar(&c.data, "data", "../shared/data/recordings", "the folder of the recordings")
	flag.StringVar(&c.dir, "dir", os.TempDir(), "where to write, on the disk that is to be measured")
	flag.DurationVar(&c.duration, "duration", time.Minute, "how long the robot lives in each of its runs")
	flag.IntVar(&c.rounds, "rounds", 5, "how often each benchmark is run, in turn; medians are reported")
	flag.BoolVar(&c.quick, "quick", false, "a smoke run on little data: its figures mean nothing")
	rows := flag.String("rows", "", "measure only these, by name (default all)")
	file := flag.String("out", "", "write the table to this file, too")
	flag.Usage = func() {
		w := flag.CommandLine.Output()
		fmt.Fprintln(w, "usage: ltm [flags]")
		flag.PrintDefaults()
		fmt.Fprintln(w, "rows:")
		for _, m := range measurements {
			fmt.Fprintf(w, "  %-9s %s\n", m.name, m.what)
		}
	}
	flag.Parse()
	wanted, err := wantedRows(*rows)
	if err != nil || flag.NArg() > 0 || c.duration < time.Second || c.rounds < 1 {
		flag.Usage()
		if err == nil {
			err = fmt.Errorf("flags or arguments are wrong: %q", os.Args[1:])
		}
		return err
	}
	if c.quick {
		c.duration, c.rounds = min(c.duration, 5*time.Second), 1
	}
	if c.dir, err = os.MkdirTemp(c.dir, "engram-bench-ltm-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if c.dir, err = filepath.Abs(c.dir); err != nil {
		return err
	}
	c.report.begin(c)
	for _, m := range measurements {
		if !wanted(m.name) || ctx.Err() != nil {
			continue
		}
		log.Printf("%s: %s", m.name, m.what)
		// A failure of one does not take away the others, which take long.
		if e := m.measure(ctx, c); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", m.name, e))
			log.Printf("%s: %v", m.name, e)
		}
	}
	text := c.report.markdown()
	fmt.Fprint(c.out, "\n", text)
	if *file != "" {
		err = errors.Join(err, os.WriteFile(*file, []byte(text), 0o644))
	}
	return err
}

// wantedRows parses the names of measurements; none means all.
func wantedRows(names string) (func(string) bool, error) {
	if names == "" {
		return func(string) bool { return true }, nil
	}
	var known []string
	for _, m := range measurements {
		known = append(known, m.name)
	}
	list := strings.Split(names, ",")
	for _, name := range list {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("-rows: there is no %q", name)
		}
	}
	return func(name string) bool { return slices.Contains(list, name) }, nil
}

// table prints rows of cells below a head, separated by "|" each.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer, title, head string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	fmt.Fprintf(w, "\n%s\n\n", title)
	t.row("%s", head)
	return t
}

func (t table) row(format string, args ...any) {
	fmt.Fprintln(t, strings.ReplaceAll(fmt.Sprintf(format, args...), "|", "\t")+"\t")
}
