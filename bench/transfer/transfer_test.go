package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

// The tests' binary is started again for the other processes, as the command is.
func TestMain(m *testing.M) {
	if is, err := role(os.Args[1:]); is {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Processes that are built with -race would each wait a second at their end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// tiny is as little as can be measured.
var tiny = extent{samples: 2, cell: 10 * time.Millisecond, mix: 100 * time.Millisecond, batches: []int{1, 20}, transports: transports}

// A run measures every cell and every rate, and draws what it measured.
func TestRun(t *testing.T) {
	c := config{out: t.TempDir(), rounds: 1, quick: true, extent: tiny, kinds: []*kind{&kinds[0], &kinds[1], &kinds[2]}}
	var printed bytes.Buffer
	if err := c.run(&printed); err != nil {
		t.Fatal(err)
	}
	type key struct{ system, mode, kind, batch, metric string }
	have := map[key]bool{}
	for i, row := range readCSV(t, filepath.Join(c.out, "results.csv"))[1:] {
		for j, name := range header {
			if row[j] == "" {
				t.Errorf("row %d has no %s: %v", i+1, name, row)
			}
			if strings.HasSuffix(name, "_us") {
				if v, err := strconv.ParseFloat(row[j], 64); err != nil || v < 0 || name == "max_us" && v == 0 {
					t.Errorf("row %d: %s is %q", i+1, name, row[j])
				}
			}
		}
		have[key{row[1], row[2], row[3], row[5], row[6]}] = true
	}
	expected := 0
	expect := func(k key) {
		if expected++; !have[k] {
			t.Errorf("no cell %+v", k)
		}
	}
	for _, k := range kinds {
		for _, n := range tiny.batches {
			batch := strconv.Itoa(n)
			for _, m := range []string{"convert", "store", "lookup", "convert_back"} {
				expect(key{"engram", "alone", k.name, batch, m})
			}
			for _, transport := range []string{"local", "unix", "tcp"} {
				expect(key{"engram-" + transport, "subscription", k.name, batch, "oneway"})
				expect(key{"engram-" + transport, "notification", k.name, batch, "oneway"})
				expect(key{"engram-" + transport, "call", k.name, batch, "commit"})
				expect(key{"engram-" + transport, "call", k.name, batch, "query"})
			}
		}
	}
	if len(have) != expected {
		t.Errorf("%d cells instead of %d", len(have), expected)
	}
	for _, row := range readCSV(t, filepath.Join(c.out, "rates.csv"))[1:] {
		// No slot need be late, and a CPU time may be below the clock's resolution.
		if v, err := strconv.ParseFloat(row[2], 64); err != nil || v <= 0 && row[1] != "mixed_late_slots" && row[1] != "camera_server_cpu" {
			t.Errorf("the rate %v", row)
		}
	}
	for _, name := range []string{"figure12", "figure13", "figure14"} {
		f, err := os.Open(filepath.Join(c.out, name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n := count(t, f, "circle"); n < len(kinds)*len(tiny.batches)*3 {
			t.Errorf("%s has only %d markers", name, n)
		}
	}
	if s := printed.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("printed:\n%s", s)
	}
}

func readCSV(t *testing.T, name string) [][]string {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows
}

// count returns how many elements of that name an XML file has.
func count(t *testing.T, r io.Reader, name string) (n int) {
	for d := xml.NewDecoder(r); ; {
		tok, err := d.Token()
		if err == io.EOF {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == name {
			n++
		}
	}
}

// The peers' results join ours by round, and targets are met or missed by the
// median of the rounds' ratios.
func TestPeers(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "run.sh")
	rows := "round,system,mode,kind,info_bytes,batch,metric,n,mean_us,var_us2,min_us,p50_us,p90_us,p99_us,max_us,foreign_cpu_pct\n" +
		"1,ice-p2p,hot,aron-simple,8,1,oneway,9,1,0,1,100,1,1,1,2.0\n" +
		"1,icestorm-twoway,hot,aron-simple,8,1,oneway,9,1,0,1,100,1,1,1,2.0\n" +
		"1,ice-p2p,mixed,moderate,33,1,oneway,9,1,0,1,10,1,50,1,2.0\n"
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat >\"$OUT/results.csv\" <<E\n"+rows+"E\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	res := newResults()
	for round, p50 := range []float64{90, 80, 120} {
		if err := runPeers(script, dir, tiny, true, round, res); err != nil {
			t.Fatal(err)
		}
		res.add(round, bySubscriptionLocal.of("simple", 1), figures{n: 1, p50: p50})
	}
	ratio, ok := res.ratio(bySubscriptionLocal.of("simple", 1), peerDirect.of("simple", 1))
	if want := (spread{0.8, 0.9, 1.2}); !ok || ratio != want {
		t.Errorf("the ratio is %v, %v; not %v", ratio, ok, want)
	}
	var printed strings.Builder
	r := report{config{script: script, rounds: 3, extent: tiny}, res, []rates{{mixedP50: 1, mixedP99: 2}}}
	if err := r.write(&printed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 8 B × 1 | 90.0 (80.0–120) | 100 | 0.90 (0.80–1.20) | ≤ 1 met | 100 | 0.90 (0.80–1.20) | ≤ 0.7 **missed** | – | – | – |",
		"1 of 2 met.",
		"Ice, one connection: 5.00",
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("not printed: %s\nbut:\n%s", want, &printed)
		}
	}
}

// A peer's benchmark that fails, or says what nobody understands, ends the run.
func TestBadPeers(t *testing.T) {
	for name, text := range map[string]string{
		"fails":   "exit 3",
		"silent":  "exit 0",
		"columns": `echo a,b >"$OUT/results.csv"`,
		"number":  `printf 'round,system,mode,kind,info_bytes,batch,metric,n,mean_us,min_us,p50_us,p90_us,p99_us,max_us,foreign_cpu_pct\n1,a,b,c,8,x,m,1,1,1,1,1,1,1,1\n' >"$OUT/results.csv"`,
		"empty":   `: >"$OUT/results.csv"`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script := filepath.Join(dir, "run.sh")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := runPeers(script, dir, tiny, true, 1, newResults()); err == nil {
				t.Error("no error")
			}
		})
	}
}

// What was measured before the peers failed is kept, and the failure told.
func TestFailingPeersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	few := tiny
	few.batches, few.transports = []int{1}, []string{overLocal}
	c := config{out: dir, rounds: 1, quick: true, extent: few, kinds: []*kind{&kinds[0]}, script: filepath.Join(dir, "missing.sh")}
	if err := c.run(io.Discard); err == nil {
		t.Error("no error")
	}
	if rows := readCSV(t, filepath.Join(dir, "results.csv")); len(rows) != 1+4+4 {
		t.Errorf("%d rows", len(rows))
	}
}

// The targets are those of issue 3.
func TestAgeTarget(t *testing.T) {
	for _, c := range []struct {
		peer, kind string
		batch      int
		want       float64
	}{
		{iceDirect, "simple", 100, 1}, {iceDirect, "moderate", 20, 1}, {iceDirect, "moderate", 50, 0.25}, {iceDirect, "complex", 1, 1},
		{iceDirect, "complex", 100, 0.85}, {iceStorm, "complex", 100, 0.7}, {iceMemory, "moderate", 100, 0.25}, {iceMemory, "complex", 1, 0.4},
	} {
		if got := ageTarget(c.peer, c.kind, c.batch); got != c.want {
			t.Errorf("%+v: %g", c, got)
		}
	}
}

// dropping is a memory whose subscription has lost two updates.
type dropping struct{ service }

func (dropping) Subscribe(context.Context, engram.Subscription) (engram.UpdateStream, error) {
	return dropping{}, nil
}

func (dropping) Next(context.Context) ([]engram.Update, error) {
	return []engram.Update{{Number: 3, Dropped: 2}}, nil
}

func (dropping) Epoch() uint64 { return 1 }
func (dropping) Close() error  { return nil }

// A consumer that loses updates is not taken for a fast one.
func TestLostIsAnError(t *testing.T) {
	theirs, mine := net.Pipe()
	defer mine.Close()
	c := consumer{
		task: task{Way: bySubscription, Batch: 1}, svc: dropping{}, batch: newBatch(&kinds[0], 1),
		tell: func(x told) error { return binary.Write(theirs, binary.LittleEndian, x) },
	}
	go func() {
		defer theirs.Close()
		c.updates(t.Context())
	}()
	conn := consumerConn{mine}
	if _, err := conn.next(); err != nil {
		t.Fatalf("it does not begin: %v", err)
	}
	if got, err := conn.next(); !errors.Is(err, errLost) || got.Lost != 2 {
		t.Errorf("instead of a loss: %+v, %v", got, err)
	}
}

func TestSummarise(t *testing.T) {
	var ns []int64
	for i := range 100 {
		ns = append(ns, int64(100-i)*1000)
	}
	got := summarise(ns)
	want := figures{n: 100, mean: 50.5, min: 1, p50: 51, p90: 91, p99: 100, max: 100}
	if got != want {
		t.Errorf("%+v instead of %+v", got, want)
	}
}
