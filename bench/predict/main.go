// Command predict measures predictions on recordings: it trains level 2 on some and judges both
// levels on another, beside holding the last value.
//
//	go run ./bench/predict -train g1_bottle_2.mcap -judge g1_bottle_10.mcap
//
// Of each entity with joint states, which is in all of them, it prints for each horizon the root mean
// square of the errors, its ratio to that of holding, and the share of truths inside the predicted
// band of 90 %. Of each camera it prints how much better the next frames are than the last one
// repeated. With -json these are JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// horizonsAsked are those of the rows.
var horizonsAsked = []time.Duration{67 * time.Millisecond, 200 * time.Millisecond, time.Second}

func main() {
	train := flag.String("train", "", "recordings to learn from, separated by commas")
	judge := flag.String("judge", "", "the recording to judge on")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if err := run(context.Background(), strings.Split(*train, ","), *judge, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "predict:", err)
		os.Exit(1)
	}
}

// result is all that is measured.
type result struct {
	Train  []string   `json:"train"`
	Judge  string     `json:"judge"`
	Joints []jointRow `json:"joints"`
	// Poses are those of the simulated robot's platform; no recording counts for them.
	Poses  []jointRow `json:"poses"`
	Frames []frameRow `json:"frames"`
}

func run(ctx context.Context, train []string, judge string, asJSON bool) error {
	if judge == "" || train[0] == "" {
		return fmt.Errorf("name recordings: -train A.mcap[,B.mcap …] -judge C.mcap")
	}
	var learned []*recording
	for _, path := range train {
		r, err := read(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		learned = append(learned, r)
	}
	judged, err := read(ctx, judge)
	if err != nil {
		return fmt.Errorf("%s: %w", judge, err)
	}
	res := result{Train: train, Judge: judge}
	if res.Joints, err = joints(learned, judged); err != nil {
		return err
	}
	if res.Poses, err = poses(); err != nil {
		return err
	}
	if res.Frames, err = cameras(learned, judged); err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(res)
	}
	print(res)
	return nil
}

func print(res result) {
	rows := func(of string, rows []jointRow) {
		fmt.Printf("%-40s %8s %8s %10s %10s %10s %8s %8s %8s\n", of, "model", "horizon", "RMSE", "hold", "ratio", "median", "band", "samples")
		for _, r := range rows {
			fmt.Printf("%-40s %8s %8s %10.5f %10.5f %10.3f %8.3f %7.1f%% %8d\n", r.Entity, r.Level, time.Duration(r.HorizonMS*1e6), r.RMSE, r.Hold, r.Ratio, r.MedianRatio, 100*r.Band90, r.Samples)
		}
	}
	rows("joints of", res.Joints)
	rows("poses of", res.Poses)
	fmt.Printf("%-40s %10s %8s %12s %12s %12s %12s %8s %8s\n", "frames of", "model", "ahead", "PSNR", "hold", "gain", "gain changed", "changed", "frames")
	for _, r := range res.Frames {
		fmt.Printf("%-40s %10s %8s %9.2f dB %9.2f dB %9.2f dB %9.2f dB %7.1f%% %8d\n", r.Camera, r.Model, time.Duration(r.HorizonMS*1e6), r.PSNR, r.PSNRHold, r.Gain, r.GainChanged, 100*r.Changed, r.Frames)
	}
}
