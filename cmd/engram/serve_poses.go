package main

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
)

func addPoseDefaultFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Duration("pose-gap", time.Second, "answer poses between samples up to so far apart; 0 is any distance")
	f.Duration("pose-hold", 0, "answer poses up to so long after the last sample of a frame or joint with that sample, such as 1h\nfor joints that are seldom sent; 0 is not at all")
	f.String("pose-unset", "", "what a joint is at that was never set, rad or m, and its standard deviation, such as 0 or 0,0.1\n(default: what hangs on it has no pose)")
}

// poseDefaults returns what the flags say of poses where there is no sample.
func poseDefaults(cmd *cobra.Command) (memories.Option, error) {
	f := cmd.Flags()
	gap, _ := f.GetDuration("pose-gap")
	hold, _ := f.GetDuration("pose-hold")
	if gap < 0 || hold < 0 {
		return memories.WithPoseDefaults(0, 0, pose.UnsetPolicy{}), usagef("--pose-gap %v --pose-hold %v: 0 or more", gap, hold)
	}
	if gap == 0 {
		gap = -1 // any
	}
	var unset pose.UnsetPolicy
	var err error
	if text, _ := f.GetString("pose-unset"); text != "" {
		value, sigma, given := strings.Cut(text, ",")
		unset.Use = true
		unset.Q, err = strconv.ParseFloat(value, 64)
		if err == nil && given {
			unset.Sigma, err = strconv.ParseFloat(sigma, 64)
		}
		if finite := !math.IsNaN(unset.Q+unset.Sigma) && !math.IsInf(unset.Q+unset.Sigma, 0); err != nil || !finite || unset.Sigma < 0 {
			unset, err = pose.UnsetPolicy{}, usagef("--pose-unset %s: a value in rad or m, or with its standard deviation, such as 0 or 0,0.1", text)
		}
	}
	return memories.WithPoseDefaults(gap, hold, unset), err
}
