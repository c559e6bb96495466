package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/words"
)

// copyStatusJSON is how a copy is.
type copyStatusJSON struct {
	copyJSON
	Since         engram.Time       `json:"since"` // of the state
	Error         string            `json:"error,omitempty"`
	BehindUpdates uint64            `json:"behind_updates,string"`
	BehindBytes   int64             `json:"behind_bytes,string"`
	LagSeconds    float64           `json:"lag_seconds"`
	Contact       *engram.Time      `json:"contact,omitempty"` // absent: never
	Arrived       *engram.Time      `json:"arrived,omitempty"` // by the owner's clock: everything before it is here
	Received      uint64            `json:"received,string"`
	Payload       int64             `json:"payload_bytes,string"`
	Wire          int64             `json:"wire_bytes,string"`
	Had           uint64            `json:"had,string"`
	Removed       uint64            `json:"removed,string"`
	LeftOut       []copyLeftOutJSON `json:"left_out"`
	Lost          uint64            `json:"lost,string"`
	Losses        []copyLossJSON    `json:"losses"`
}

type copyLeftOutJSON struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count,string"`
	Bytes  int64  `json:"bytes,string"`
}

type copyLossJSON struct {
	ID      string       `json:"id"`
	Reason  string       `json:"reason"`
	Count   uint64       `json:"count,string"` // 0: not known
	From    *engram.Time `json:"from,omitempty"`
	To      *engram.Time `json:"to,omitempty"`
	Noticed *engram.Time `json:"noticed,omitempty"`
}

func newCopyStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print how far copies are behind, what was left out and what was lost",
		Long: `Prints of each copy how far it is behind its owner: updates and payload bytes that
match and are still to come, and how old the newest that is here is, by the owner's
clock. While the owner is away that goes on. Counts are of this life of the server, but
for what was left out and lost. What a pattern of many memories made stands below it; its
own line sums that up.

A copy is live when it has all there is, catching while it catches up, waiting when its
owner is not there, and failed when something is in its way that does not pass by
itself; then the exit code is 1.

With --long it tells what was lost: of which entity or segment, why, how many snapshots
of which times, when that was noticed last, and what helps. It goes on being told until
the copy is removed, or its owner removes what it was of.`,
		Args: positional(cobra.NoArgs),
	}
	cmd.Flags().Bool("long", false, "tell also what was lost, why, and what helps")
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		long, _ := cmd.Flags().GetBool("long")
		return withCopyStatus(cmd, func(format string, list []contract.Status) error {
			out := &table{
				header: []string{"COPY", "STATE", "FOR", "BEHIND", "BYTES", "LAG", "RECEIVED", "PAYLOAD", "LINK", "LEFT OUT", "LOST", "OWNER"},
				right:  []bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: false},
				spare:  []string{"PAYLOAD", "LINK", "RECEIVED", "BYTES", "FOR", "OWNER"},
			}
			objects := []copyStatusJSON{}
			for i := range list {
				o := copyStatusObject(&list[i])
				left := uint64(0)
				for _, l := range o.LeftOut {
					left += l.Count
				}
				lag := cellOf("?", "")
				if o.Contact != nil {
					lag = cellOf(words.Duration(list[i].Lag), fmt.Sprint(o.LagSeconds))
				}
				inState := max(engram.Now().Sub(o.Since), 0)
				out.add(o.shown(), state(o.State), cellOf(words.Duration(inState.Truncate(time.Second)), fmt.Sprint(inState.Seconds())),
					o.BehindUpdates, byteSize(o.BehindBytes), lag, o.Received, byteSize(o.Payload), byteSize(o.Wire), left, o.Lost, o.from())
				objects = append(objects, o)
			}
			if err := print(cmd.OutOrStdout(), format, out, objects); err != nil {
				return err
			}
			if format == "table" {
				if err := explainCopies(cmd, objects, long); err != nil {
					return err
				}
			}
			var failed []string
			for _, o := range objects {
				if o.State == string(contract.StateFailed) {
					failed = append(failed, o.Pattern)
				}
			}
			if len(failed) > 0 {
				return engram.Errorf(engram.Unavailable, strings.Join(failed, ", "), "failed")
			}
			return nil
		})
	}
	return cmd
}

func copyStatusObject(s *contract.Status) copyStatusJSON {
	o := copyStatusJSON{
		copyJSON: describeCopy(s), Since: s.Since, Error: s.Error, BehindUpdates: s.Updates, BehindBytes: s.Bytes, LagSeconds: s.Lag.Seconds(),
		Received: s.Received, Payload: s.Payload, Wire: s.Wire, Had: s.Had, Removed: s.Removed, LeftOut: []copyLeftOutJSON{}, Lost: s.Lost, Losses: []copyLossJSON{},
	}
	if s.Contact != 0 {
		o.Contact = &s.Contact
		if !s.OfMany() {
			o.Arrived = &s.Position.Arrived
		}
	}
	for _, l := range s.LeftOut {
		o.LeftOut = append(o.LeftOut, copyLeftOutJSON(l))
	}
	for i := range s.Losses {
		l := &s.Losses[i]
		x := copyLossJSON{ID: l.ID.String(), Reason: l.Reason, Count: l.Count}
		if l.Interval != engram.Always() {
			last := l.Interval.End - 1
			x.From, x.To = &l.Interval.Start, &last
		}
		if l.Noticed != 0 {
			x.Noticed = &l.Noticed
		}
		o.Losses = append(o.Losses, x)
	}
	return o
}

// explainCopies says below the table what is in the way of copies, and what they lost.
func explainCopies(cmd *cobra.Command, objects []copyStatusJSON, long bool) error {
	type trouble struct{ rule, text string }
	told := map[trouble]bool{} // of what rules made
	for _, o := range objects {
		if o.Rule != "" && o.State == string(contract.StateFailed) {
			told[trouble{o.Rule, o.Error}] = true
		}
	}
	lost := false
	for _, o := range objects {
		lost = lost || o.Lost > 0
		if o.Error != "" && !told[trouble{o.Pattern, o.Error}] {
			cmd.PrintErrf("%s: %s\n", visible(o.Pattern), visible(oneLine(strings.TrimPrefix(o.Error, o.Pattern+": "))))
		}
	}
	if lost && !long {
		cmd.PrintErrln("some was lost; 'engram copy status --long' says what, why, and what helps")
	}
	if !lost || !long {
		return nil
	}
	out := &table{header: []string{"LOST", "SNAPSHOTS", "WHY", "FROM", "TO", "NOTICED"}, right: []bool{1: true, 5: false}, spare: []string{"NOTICED"}}
	at := func(t *engram.Time) any {
		if t == nil {
			return "?"
		}
		return *t
	}
	var reasons []string
	for _, o := range objects {
		for _, l := range o.Losses {
			count := any(l.Count)
			if l.Count == 0 {
				count = "?"
			}
			out.add(l.ID, count, l.Reason, at(l.From), at(l.To), at(l.Noticed))
			if !slices.Contains(reasons, l.Reason) {
				reasons = append(reasons, l.Reason)
			}
		}
	}
	cmd.Println()
	if err := out.write(cmd.OutOrStdout()); err != nil {
		return err
	}
	cmd.Println()
	for _, reason := range reasons {
		cmd.Printf("%s: %s\n", visible(reason), whatHelps(reason))
	}
	return nil
}

// whatHelps explains why something was lost to a copy, and what can be done.
func whatHelps(reason string) string {
	switch reason {
	case engram.MissingEvicted:
		return "the owner's working memory had dropped it before it was pulled, and its disk does not have it.\n" +
			"  Have the owner record the segment (--data, 'engram ltm policy'), or keep more of it (its history), or\n" +
			"  copy less (rate=, fields=, where=), so that the link keeps up."
	case engram.MissingForgotten:
		return "the owner's long-term memory had forgotten it, for its age or a bound, before it was pulled.\n" +
			"  Raise what the owner keeps ('engram ltm policy' there), or be connected more often."
	case engram.MissingDamaged:
		return "it cannot be read on the owner's disk. 'engram ltm repair' there saves what can be saved;\n" +
			"  'engram copy fetch' gets it afterwards."
	case engram.MissingFiltered:
		return "the owner's policy had left it out of its long-term memory, and its working memory had dropped it before\n" +
			"  it was pulled. Have the owner record more of the segment ('engram ltm policy' there), or keep more of it in\n" +
			"  its working memory (its history), or be connected more often."
	case contract.LostRefused:
		return "this server did not take it; its log says why. When that is mended, 'engram copy fetch' gets it."
	}
	return "so its owner says, which may be of a newer release; its log may tell more."
}
