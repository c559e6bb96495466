package main

import (
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/seed-301d4374/engram/node"
	"github.com/spf13/cobra"
)

// addOperationsFlags adds the flags of what operators need.
func addOperationsFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("metrics-listen", "", "serve /metrics, /healthz and /readyz, and nothing else, at host:port\n(they are at the other addresses, too)")
	f.Duration("clock-every", 30*time.Second, "how often to measure how far other servers' clocks are; 0 is never")
	f.Bool("no-page", false, "show the memory to no browsers (docs/ui.md)")
	f.StringArray("assets", nil, "let the page fetch files below this folder, such as meshes: package://arm/hand.stl is arm/hand.stl in it;\nall who reach the page may; may be repeated")
	addLogFlags(cmd)
}

func readOperationsSettings(cmd *cobra.Command) (s node.Operations, err error) {
	f := cmd.Flags()
	var wrong []error
	if s.Listen, _ = f.GetString("metrics-listen"); s.Listen != "" {
		wrong = append(wrong, checkHostPort("metrics-listen", s.Listen))
	}
	if s.ClockEvery, _ = f.GetDuration("clock-every"); s.ClockEvery < 0 {
		wrong = append(wrong, usagef("--clock-every %v: 0 or more", s.ClockEvery))
	}
	return s, errors.Join(wrong...)
}

// checkHostPort returns a usage error if a flag's value is not host:port, of which the
// host may be left out.
func checkHostPort(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usagef("--%s %s: write host:port", flag, address)
	}
	return nil
}
