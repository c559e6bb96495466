package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/ops/health"
)

func newHealth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Print whether a server is ready, and what does not work",
		Long: `Asks a server how it is, and prints what it checks: whether it lives, has its memories
back from disk, is registered with the name system, can write its disk, records, and
reaches the backbone. What is degraded works in part; the server is ready nevertheless.

The exit code is 0 if the server is ready and 1 if it is not, or does not answer. The
same is at /readyz, as JSON, with status 503 if it is not ready; /healthz says whether
the process does its work at all. --address may also be that of --metrics-listen.`,
		Example: `  engram health
  engram health --address http://10.0.0.1:9411 -o json`,
		Args: positional(cobra.NoArgs),
	}
	cmd.Flags().Duration("timeout", 5*time.Second, "how long to wait for the answer")
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		timeout, _ := cmd.Flags().GetDuration("timeout")
		if timeout <= 0 {
			return usagef("--timeout %v: more than 0", timeout)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		report, err := askHealth(ctx, cmd)
		if err != nil && ctx.Err() != nil && cmd.Context().Err() == nil {
			err = engram.Errorf(engram.Unavailable, "", "no answer within %v; --timeout waits longer, 'engram doctor' looks for the reason", timeout)
		}
		if err != nil {
			return err
		}
		if err := printHealth(cmd, format, report); err != nil {
			return err
		}
		if !report.Ready() {
			return engram.Errorf(engram.Unavailable, report.Server, "the server is not ready")
		}
		return nil
	})
	return cmd
}

func printHealth(cmd *cobra.Command, format string, r health.Report) error {
	if format != "table" && format != "csv" {
		return printObject(cmd.OutOrStdout(), format, r)
	}
	if format == "table" && len(r.Checks) == 0 {
		is := "is"
		if !r.Ready() {
			is = "is not"
		}
		cmd.Printf("the server %s ready; what it checks is for those who may read everything\n", is)
		return nil
	}
	out := &table{header: []string{"CHECK", "STATUS", "REASON"}, folded: true}
	for _, c := range r.Checks {
		out.add(c.Check, state(c.Status), visible(c.Reason))
	}
	return print[health.Finding](cmd.OutOrStdout(), format, out, nil)
}

// askHealth asks the server at --address, or at the usual places, how it is, by all checks or some.
func askHealth(ctx context.Context, cmd *cobra.Command, checks ...string) (health.Report, error) {
	address := namedAddress(cmd)
	if onBackbone(address) {
		return health.Report{}, usagef("--address %[1]s: that is the backbone, which has no health of its own; name one server, or let 'engram doctor --address %[1]s' look at all that are on it", backbone.Redacted(address))
	}
	dial, err := dialOptions(cmd)
	if err != nil {
		return health.Report{}, err
	}
	var first error
	addresses := placesOf(address)
	for _, a := range addresses {
		r, err := healthAt(ctx, a, dial, checks...)
		if err == nil || engram.CodeOf(err) != engram.Unavailable {
			return r, err
		}
		if first == nil {
			first = err
		}
	}
	if address != "" {
		return health.Report{}, fmt.Errorf("%w; %s", first, unreachedHint(first, address, dial.Credentials != nil))
	}
	return health.Report{}, engram.Errorf(engram.Unavailable, "", "no memory server answers at %s; start one with 'engram serve', or say where it is with --address or %s: %w",
		strings.Join(addresses, " or "), client.AddressVariable, first)
}

// noteRecovered says what of its memories the server has from copies at others, because it lost it
// when it was ended. A server that does not tell is asked in vain.
func noteRecovered(cmd *cobra.Command) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	report, err := askHealth(ctx, cmd, "recovery")
	if err != nil {
		return
	}
	for _, c := range report.Checks {
		if c.Check == "recovery" && c.Reason != "" {
			cmd.PrintErrf("engram: %s\n", visible(c.Reason))
		}
	}
}

// dialOptions says how a server is dialled directly, as who the flags say.
func dialOptions(cmd *cobra.Command) (o rpc.DialOptions, err error) {
	if file := namedCredentials(cmd); file != "" {
		if o.Credentials, err = credentials.Load(file, nil); err != nil {
			err = usagef("--credentials: %w", err)
		}
	}
	return o, err
}

// healthAt asks the server at an address how it is.
func healthAt(ctx context.Context, address string, o rpc.DialOptions, checks ...string) (r health.Report, err error) {
	path := "/readyz"
	if len(checks) > 0 {
		path += "?" + url.Values{"check": checks}.Encode()
	}
	status, body, err := rpc.Get(ctx, address, path, o)
	if code := engram.CodeOf(err); code == engram.Invalid || code == engram.Unsupported {
		err = usagef("--address: %w", err)
	}
	if err != nil {
		return r, err
	}
	if status != http.StatusOK && status != http.StatusServiceUnavailable || json.Unmarshal(body, &r) != nil || r.Status == "" {
		return r, engram.Errorf(engram.Unsupported, address, "what answers here does not tell how it is (HTTP status %d); it is no memory server, or of an earlier release", status)
	}
	return r, nil
}
