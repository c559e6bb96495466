// Command transfer measures how old data is when it reaches a consumer through the
// memory, and what the memory costs on the way, as figures 12 to 14 of the ArMem
// paper do (Peller-Konrad et al. 2022), beside ZeroC Ice, IceStorm and a memory
// that works as ArMem does, in turn on the same machine.
//
//	go run ./bench/transfer [-out DIR] [-rounds 3] [-n 1000] [-quick] [-no-peers]
//	      [-objects simple,moderate,complex] [-batches 1,20,50,100,1000]
//	      [-transports local,unix,tcp] [-measures alone,subscription,…] [-profile]
//
// Producer, memory server and consumer are three processes. The objects are the
// paper's three (types/), in batches of 1 to 1000; the memory holds 1000 entries
// of the object's kind. The peers are those of ../shared/peers/transfer, which
// install and build themselves; what they count in is in docs/history/2026-11-20-transfer.md.
//
// Tables in Markdown are printed on standard output; results.csv, rates.csv and
// the figures as SVG are written into DIR.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/transfer: ")
	if is, err := role(os.Args[1:]); is {
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	c := config{script: "../shared/peers/transfer/run.sh"}
	c.extent.transports = transports
	flag.StringVar(&c.out, "out", filepath.Join(os.TempDir(), "engram-transfer"), "where results.csv, rates.csv and the figures go")
	flag.IntVar(&c.rounds, "rounds", 3, "how often ours and the peers are measured, in turn")
	flag.IntVar(&c.extent.samples, "n", 1000, "samples of a cell, at most")
	flag.DurationVar(&c.extent.cell, "cell", 5*time.Second, "time for a cell, about")
	flag.DurationVar(&c.extent.mix, "mix", 8*time.Second, "time for each of the rates, about")
	flag.BoolVar(&c.quick, "quick", false, "a smoke run: one round, few samples")
	flag.StringVar(&c.script, "peers", c.script, "the peers' benchmark")
	flag.BoolVar(&c.profile, "profile", false, "write CPU profiles of all processes into DIR, which costs time itself")
	objects := []string{"simple", "moderate", "complex"}
	among("objects", "the kinds of objects", &objects, objects)
	batches := flag.String("batches", "1,20,50,100,1000", "the sizes of batches")
	among("transports", "the transports", &c.extent.transports, transports)
	among("measures", "what is measured", &c.extent.measures, measures)
	noPeers := flag.Bool("no-peers", false, "measure only ours")
	flag.Parse()
	for i := range kinds {
		if slices.Contains(objects, kinds[i].name) {
			c.kinds = append(c.kinds, &kinds[i])
		}
	}
	err := c.setBatches(*batches)
	if err != nil {
		log.Print(err)
	}
	if err != nil || flag.NArg() > 0 || c.rounds < 1 || c.extent.samples < 1 || c.extent.cell <= 0 || c.extent.mix <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	c.extent.warm = true
	if c.quick {
		c.rounds, c.extent.samples, c.extent.cell, c.extent.mix = 1, 50, 200*time.Millisecond, 2*time.Second
	}
	if *noPeers {
		c.script = ""
	} else if _, err := os.Stat(c.script); err != nil {
		log.Printf("without peers: %v", err)
		c.script = ""
	}
	if err := c.run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// config is what a run is to do.
type config struct {
	out    string
	rounds int
	quick  bool
	script string // the peers' benchmark; "" for none
	extent extent
	kinds  []*kind

	profile bool
}

// among is a flag that lists some of what is known; all if it is not given.
func among(name, usage string, list *[]string, known []string) {
	flag.Func(name, usage+", of "+strings.Join(known, ",")+" (default all)", func(text string) error {
		*list = strings.Split(text, ",")
		for _, name := range *list {
			if !slices.Contains(known, name) {
				return fmt.Errorf("there is none called %q", name)
			}
		}
		return nil
	})
}

func (c *config) setBatches(sizes string) error {
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 || n > held {
			return fmt.Errorf("-batches: %q is not a size from 1 to %d", size, held)
		}
		c.extent.batches = append(c.extent.batches, n)
	}
	return nil
}

// run measures, and writes the tables to w and the files.
func (c config) run(w io.Writer) error {
	if err := os.MkdirAll(c.out, 0o755); err != nil {
		return err
	}
	if c.profile {
		dir, err := filepath.Abs(c.out)
		if err != nil {
			return err
		}
		os.Setenv(profileVariable, dir)
		stop, err := startProfile("producer")
		if err != nil {
			return err
		}
		defer stop()
	}
	res, rounds := newResults(), []rates{}
	own := func(round int) error {
		for _, k := range c.kinds {
			log.Printf("round %d of %d: %s", round, c.rounds, k.name)
			if err := cells(c.extent, round, k, res); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(rateMeasures, c.extent.wants) {
			return nil
		}
		log.Printf("round %d of %d: rates", round, c.rounds)
		r, err := measureRates(c.extent)
		if err == nil {
			rounds = append(rounds, r)
		}
		return err
	}
	peers := func(round int) error {
		if c.script == "" {
			return nil
		}
		log.Printf("round %d of %d: the peers", round, c.rounds)
		return runPeers(c.script, c.out, c.extent, c.quick, round, res)
	}
	measure := func() error {
		for round := 1; round <= c.rounds; round++ {
			// In turn, so that neither always comes first.
			steps := []func(int) error{own, peers}
			if round%2 == 0 {
				steps[0], steps[1] = peers, own
			}
			for _, step := range steps {
				if err := step(round); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := measure()
	if len(res.order)+len(rounds) == 0 {
		return err
	}
	// What was measured before a failure took long; it is not thrown away.
	return errors.Join(err, c.save("results.csv", res.write), c.save("rates.csv", func(w io.Writer) error { return writeRates(w, rounds) }),
		c.draw(res), report{c, res, rounds}.write(w))
}

func (c config) draw(res *results) error {
	for _, f := range figuresOf(res) {
		if err := c.save(f.name+".svg", f.write); err != nil {
			return err
		}
	}
	log.Printf("results and figures are in %s", c.out)
	return nil
}

func (c config) save(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(c.out, name))
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f.Close()
}
