package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report gathers the lines of the table.
type report struct {
	head string
	rows [][4]string // what, target, measured, met
}

// begin notes on what is measured.
func (r *report) begin(c config) {
	commit := "an unknown commit"
	if b, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		commit = "commit " + strings.TrimSpace(string(b))
	}
	if b, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(b) > 0 {
		commit += " with changes"
	}
	r.head = fmt.Sprintf("Measured on %s at %s, %s, %d cores, load before %s; each run of the robot %v, benchmarks %d times.",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), commit, runtime.Version(), runtime.NumCPU(), load(), c.duration, c.rounds)
	if c.quick {
		r.head = "**A smoke run: these figures mean nothing.** " + r.head
	}
}

// load is the system's load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

// atMost adds a line whose value must not be above its target.
func (r *report) atMost(what string, target, measured float64, unit string) {
	r.add(what, "≤ "+quantity(target, unit), quantity(measured, unit), measured <= target)
}

// atLeast adds a line whose value must not be below its target.
func (r *report) atLeast(what string, target, measured float64, unit string) {
	r.add(what, "≥ "+quantity(target, unit), quantity(measured, unit), measured >= target)
}

func (r *report) add(what, target, measured string, met bool) {
	verdict := "**no**"
	if met {
		verdict = "yes"
	}
	r.rows = append(r.rows, [4]string{what, target, measured, verdict})
}

// note adds a line without a target.
func (r *report) note(what, measured string) {
	r.rows = append(r.rows, [4]string{what, "–", measured, "–"})
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s Load after %s.\n\n| what | target | measured | met |\n|---|---|---|---|\n", r.head, load())
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row[:], " | "))
	}
	return b.String()
}

// quantity prints a value with three digits that count.
func quantity(v float64, unit string) string {
	digits := 0
	if v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
		digits = 2 - int(math.Floor(math.Log10(math.Abs(v))))
	}
	scale := math.Pow10(digits)
	text := strconv.FormatFloat(math.Round(v*scale)/scale, 'f', max(digits, 0), 64)
	if whole, fraction, found := strings.Cut(text, "."); found {
		if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
			whole += "." + fraction
		}
		text = whole
	} else {
		for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
	}
	return text + unit
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}
