// Command ltm measures what the long-term memory's codecs take on disk, in time and
// in quality, on the recordings of ../shared/data and the simulated robot.
//
//	go run ./bench/ltm [-data ../shared/data/recordings] [-quick] [images] [numbers]
//
// Without a name all that it measures is measured. Tables are printed on standard
// output; the targets are those of docs/performance.md.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"text/tabwriter"
)

// config is what all measurements share.
type config struct {
	data  string // the folder of the recordings
	quick bool   // a smoke run on little data
	out   io.Writer
}

// measurements are what can be measured, by name, in the order of the report.
var measurements = []struct {
	name    string
	measure func(config) error
}{
	{"images", images},
	{"numbers", numbers},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/ltm: ")
	c := config{out: os.Stdout}
	flag.StringVar(&c.data, "data", "../shared/data/recordings", "the folder of the recordings")
	flag.BoolVar(&c.quick, "quick", false, "a smoke run on little data")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: ltm [flags] [images] [numbers]")
		flag.PrintDefaults()
	}
	flag.Parse()
	wanted := map[string]bool{}
	for _, name := range flag.Args() {
		wanted[name] = true
	}
	for _, m := range measurements {
		if len(wanted) > 0 && !wanted[m.name] {
			continue
		}
		delete(wanted, m.name)
		if err := m.measure(c); err != nil {
			log.Fatalf("%s: %v", m.name, err)
		}
	}
	for name := range wanted {
		log.Printf("there is no measurement %q", name)
		flag.Usage()
		os.Exit(2)
	}
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
