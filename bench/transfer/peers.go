package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

// runPeers runs the peers' benchmark, which builds itself (and installs ZeroC Ice
// from Debian if it is missing), into a folder and adds what it measured.
func runPeers(script, out string, e extent, quick bool, round int, into *results) error {
	out, err := filepath.Abs(filepath.Join(out, "peers", fmt.Sprint(round)))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	cmd := exec.Command(script)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "FAM=c ice", "OUT="+out, "BENCH_ROUNDS=1",
		fmt.Sprint("BENCH_N=", e.samples),
		fmt.Sprint("BENCH_CELL_S=", math.Ceil(e.cell.Seconds())),
		fmt.Sprint("BENCH_MIX_S=", math.Ceil(e.mix.Seconds())),
		// One attempt, as ours: the rounds say how the figures vary.
		"BENCH_TRIES=1", "BENCH_GATE_MS="+map[bool]string{false: "1000", true: "200"}[quick])
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	f, err := os.Open(filepath.Join(out, "results.csv"))
	if err != nil {
		return err
	}
	defer f.Close()
	return into.readPeers(round, f)
}
