package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// addDataFlags adds the flags of the long-term memory.
func addDataFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("data", "", "record in this folder, and answer from it what the working memory has not (default: nothing is kept on disk)")
	f.String("ltm-cache", "64 MiB", "keep so many bytes of what was read from disk")
	f.String("episode-size", "256 MiB", "begin another episode file at this size")
	f.Duration("episode-age", 0, "begin another episode file after this time (default 10m)")
	f.Duration("end-within", 2*time.Minute, "when it is told to end, record for up to so long what is not recorded yet, then name what is left")
	f.Bool("accept-loss", false, "start although something that was on the disk of the log is gone, and tell from then on that it is")
	f.Float64("disk-limit", 85, "forget, lowest priority first, when more than so many percent of the disk are in use")
}

// readDataSettings reads and checks the flags of the long-term memory; nil if they
// ask for none. Which robot's it is the backbone may know.
func readDataSettings(cmd *cobra.Command) (*ltm.Options, error) {
	f := cmd.Flags()
	dir, _ := f.GetString("data")
	if dir == "" && f.Changed("data") {
		return nil, usagef("--data: give a folder; without --data nothing is kept on disk")
	}
	if dir == "" {
		return nil, needs(cmd, "--data DIR", "ltm-cache", "episode-size", "episode-age", "end-within", "accept-loss", "disk-limit")
	}
	o := ltm.Options{Dir: dir}
	var wrong []error
	for _, size := range []struct {
		name  string
		bytes *int64
	}{{"ltm-cache", &o.CacheBytes}, {"episode-size", &o.SealBytes}} {
		text, _ := f.GetString(size.name)
		var err error
		if *size.bytes, err = policy.ParseSize(text); err != nil || *size.bytes <= 0 {
			wrong = append(wrong, usagef("--%s %s: a number of bytes such as 64 MiB", size.name, text))
		}
	}
	if o.SealAge, _ = f.GetDuration("episode-age"); o.SealAge < 0 {
		wrong = append(wrong, usagef("--episode-age %v: 0 or more", o.SealAge))
	}
	if o.CloseWithin, _ = f.GetDuration("end-within"); o.CloseWithin <= 0 {
		wrong = append(wrong, usagef("--end-within %v: more than 0", o.CloseWithin))
	}
	o.AcceptLoss, _ = f.GetBool("accept-loss")
	percent, _ := f.GetFloat64("disk-limit")
	if !(percent > 0 && percent <= 100) {
		wrong = append(wrong, usagef("--disk-limit %v: percent, more than 0 and up to 100", percent))
	}
	o.DiskLimit = percent / 100
	return &o, errors.Join(wrong...)
}

// needs returns a usage error for each of the flags that was set, which are for nothing
// without what they need.
func needs(cmd *cobra.Command, what string, flags ...string) error {
	var lacking []error
	for _, name := range flags {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() != flag.DefValue {
			lacking = append(lacking, &usageError{&needsError{name, what}})
		}
	}
	return errors.Join(lacking...)
}

// needsError says that a flag is for nothing without another.
type needsError struct{ flag, what string }

func (e *needsError) Error() string { return "--" + e.flag + " needs " + e.what }
