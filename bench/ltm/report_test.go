package main

import (
	"math"
	"strings"
	"testing"
)

func TestQuantity(t *testing.T) {
	for want, v := range map[string]float64{
		"0 s": 0, "0.0174 s": 0.01742, "0.1 s": 0.1, "2.2 s": 2.2, "16.1 s": 16.09, "299,000 s": 299_499, "300,000 s": 300_000,
		"1,000,000 s": 1e6, "999 s": 999.4, "-1,230 s": -1234, "10 s": 9.999, "NaN s": math.NaN(),
	} {
		if got := quantity(v, " s"); got != want {
			t.Errorf("%v is printed %q, not %q", v, got, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	var r report
	r.atMost("a", 2, 2, "")
	r.atMost("b", 2, 2.01, "")
	r.atLeast("c", 2, 2, "")
	r.atLeast("d", 2, 1.99, "")
	r.atLeast("e", 2, math.NaN(), "") // not measured
	r.atMost("f", 2, math.NaN(), "")
	r.note("g", "7")
	for i, want := range []string{"yes", "**no**", "yes", "**no**", "**no**", "**no**", "–"} {
		if got := r.rows[i][3]; got != want {
			t.Errorf("%v: %s, not %s", r.rows[i], got, want)
		}
	}
	if text := r.markdown(); !strings.Contains(text, "| b | ≤ 2 | 2.01 | **no** |\n") {
		t.Error(text)
	}
}

func TestBenchmarksAreRead(t *testing.T) {
	r := results{}
	n := r.parse([]byte(`goos: linux
BenchmarkCommit/logged-2         	 2045350	      1201 ns/op	    832382 commits/s	     419 B/op
BenchmarkSynced/fsync-per-commit-2 	     100	     10000 ns/op
BenchmarkSynced/writers=64 	     100	     30000 ns/op
BenchmarkSynced/writers=64 	     100	     10000 ns/op
BenchmarkBroken
PASS
`))
	if n != 4 || r.of("BenchmarkCommit/logged", "commits/s") != 832382 || r.of("BenchmarkSynced/fsync-per-commit", "ns/op") != 10000 ||
		r.of("BenchmarkSynced/writers=64", "ns/op") != 20000 {
		t.Fatal(n, r)
	}
	if !math.IsNaN(r.of("BenchmarkCommit/synced", "commits/s")) || !math.IsNaN(r.at("BenchmarkCommit/logged", "ns/op", 1)) {
		t.Error("there are figures of a benchmark that did not run")
	}
}

func TestTurning(t *testing.T) {
	for n, want := range map[int][]int{1: {0, 0, 0}, 2: {0, 1, 0, 1}, 3: {0, 1, 2, 1, 0, 1, 2}} {
		for i, at := range want {
			if got := turning(i, n); got != at {
				t.Errorf("frame %d of %d is %d, not %d", i, n, got, at)
			}
		}
	}
}

func TestRowsAreKnown(t *testing.T) {
	if wanted, err := wantedRows("online,reads"); err != nil || !wanted("reads") || wanted("folder") {
		t.Error(err)
	}
	if _, err := wantedRows("online,nothing"); err == nil {
		t.Error("a row that is not there is taken")
	}
}
