// Command pose measures package pose beside libtf2, in turn on the same machine,
// and prints the ratios.
//
//	go run ./bench/pose [-peer ../shared/peers/tf2/run.sh] [-span 150ms] [-repeats 5] [-only diff]
//
// With -peer "" only ours is measured, which takes half a minute; libtf2's
// benchmark builds itself (it installs Debian's libtf2-dev if that is missing) and
// takes some minutes. Both take the median of the thread's CPU time. The rows are
// those of issue 5; `go test -bench . ./bench/pose` runs them under the testing
// package.
package main

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-301d4374/engram/mind/pose"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench/pose: ")
	peer := flag.String("peer", "../shared/peers/tf2/run.sh", "libtf2's benchmark; empty for none")
	span := flag.Duration("span", 150*time.Millisecond, "CPU time of one measurement")
	repeats := flag.Int("repeats", 5, "measurements per row")
	only := flag.String("only", "", "measure only the rows whose names contain this, and nothing else")
	flag.Parse()
	if flag.NArg() > 0 || *repeats < 1 || *span <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	theirs := map[string]float64{}
	if *peer != "" {
		var err error
		if theirs, err = runPeer(*peer, *span, *repeats); err != nil {
			log.Fatal(err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "operation\tlibtf2\tours\tratio\ttarget\t")
	measured := map[string]float64{}
	for _, c := range cases() {
		if !strings.Contains(c.name, *only) {
			continue
		}
		ns := median(c.setup(), *span, *repeats)
		measured[c.name] = ns
		if c.beyond != "" {
			ns -= measured[c.beyond]
		}
		printRow(w, c, ns, theirs)
	}
	if *only != "" {
		if err := w.Flush(); err != nil {
			log.Fatal(err)
		}
		return
	}
	ours := path(chain(10, samples, 0), 10)
	scale := readersScale(at(ours, randomTimes(samples)...), measured["depth 10, random in 10 s"], 80**repeats)
	tf2Scale := "–"
	if one, two := theirs["lookup_random_1thr_ref,10 best"], theirs["lookup_random_2thr,10 best"]; two > 0 {
		tf2Scale = fmt.Sprintf("×%.2f", one/two)
	}
	fmt.Fprintf(w, "2 readers against 1, throughput\t%s\t×%.2f\t\t≥ ×1.7\t\n", tf2Scale, scale)
	memory := "–"
	if b := theirs["memory_1h_100Hz,1 bytes"]; b > 0 {
		memory = fmt.Sprintf("%.1f B", b)
	}
	perPose := heapPer(hour, func() *pose.Store { return chain(1, hour, 0) })
	fmt.Fprintf(w, "memory per pose\t%s\t%.1f B\t\t64 B\t\n", memory, perPose)
	fmt.Fprintf(w, "memory per joint value\t–\t%.1f B\t\t16 B\t\n", heapPer(hour, jointHour))
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
}

func printRow(w *tabwriter.Writer, c benchCase, ns float64, theirs map[string]float64) {
	peer, ratio, plus := "–", "", ""
	if t := theirs[c.peer]; t > 0 {
		if c.peer == "set_inorder,1" {
			t -= theirs["set_message_only,1"]
		}
		peer, ratio = nanoseconds(t), fmt.Sprintf("×%.1f", t/ns)
	}
	if c.beyond != "" {
		plus = "+"
	}
	target := ""
	if c.target > 0 {
		target = "≤ " + plus + nanoseconds(c.target)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", c.name, peer, plus+nanoseconds(ns), ratio, target)
}

func nanoseconds(ns float64) string {
	switch {
	case ns >= 1e5:
		return fmt.Sprintf("%.2f ms", ns/1e6)
	case ns >= 1e4:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// runPeer runs libtf2's benchmark and returns its medians in nanoseconds by
// "bench,depth", the best by "bench,depth best" and the bytes of a sample by
// "bench,depth bytes".
func runPeer(script string, span time.Duration, repeats int) (map[string]float64, error) {
	cmd := exec.Command(script, fmt.Sprint(span.Seconds()), strconv.Itoa(repeats))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	r := csv.NewReader(bytes.NewReader(out))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("output of %s: %w", script, err)
	}
	res := map[string]float64{}
	for _, row := range rows {
		if len(row) < 8 || row[0] == "bench" {
			continue
		}
		key := row[0] + "," + row[1]
		if res[key+" best"], err = strconv.ParseFloat(row[4], 64); err != nil {
			return nil, fmt.Errorf("output of %s, row %s: %w", script, key, err)
		}
		if res[key], err = strconv.ParseFloat(row[5], 64); err != nil {
			return nil, fmt.Errorf("output of %s, row %s: %w", script, key, err)
		}
		var b float64
		if n, _ := fmt.Sscanf(row[7], "%f bytes/sample", &b); n == 1 {
			res[key+" bytes"] = b
		}
	}
	return res, nil
}
