package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// addDataFlags adds the flags of the long-term memory.
func addDataFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("data", "", "record in this folder, and answer from it what the working memory has not (default: nothing is kept on disk)")
	f.String("robot", "", "the robot's name, noted in what is recorded (default: this computer's name)")
	f.String("ltm-cache", "64 MiB", "keep so many bytes of what was read from disk")
	f.String("episode-size", "256 MiB", "begin another episode file at this size")
	f.Duration("episode-age", 0, "begin another episode file after this time (default 10m)")
}

// openStore opens the long-term memory that the flags ask for, nil if they ask for none.
func openStore(cmd *cobra.Command) (*ltm.Store, error) {
	f := cmd.Flags()
	dir, _ := f.GetString("data")
	if dir == "" {
		for _, name := range []string{"robot", "ltm-cache", "episode-size", "episode-age"} {
			if f.Changed(name) {
				return nil, usagef("--%s goes with --data DIR", name)
			}
		}
		return nil, nil
	}
	o := ltm.Options{Dir: dir}
	o.Robot, _ = f.GetString("robot")
	host, _ := os.Hostname()
	o.Robot = cmp.Or(o.Robot, host)
	for name, bytes := range map[string]*int64{"ltm-cache": &o.CacheBytes, "episode-size": &o.SealBytes} {
		text, _ := f.GetString(name)
		var err error
		if *bytes, err = policy.ParseSize(text); err != nil || *bytes <= 0 {
			return nil, usagef("--%s %s: a number of bytes such as 64 MiB", name, text)
		}
	}
	if o.SealAge, _ = f.GetDuration("episode-age"); o.SealAge < 0 {
		return nil, usagef("--episode-age %v: 0 or more", o.SealAge)
	}
	return ltm.Open(cmd.Context(), o)
}
