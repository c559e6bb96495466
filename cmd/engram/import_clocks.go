package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/words"
)

func addTimeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArray("log-times", nil, "TOPIC, may be a glob: its times are the log times, whatever its stamps are")
	f.StringArray("offset", nil, "TOPIC=DURATION, such as '/odom=-7.65s': is added to its times")
}

// timeRules returns what the flags of addTimeFlags say.
func timeRules(cmd *cobra.Command) (rules []ingest.TimeRule, err error) {
	logs, _ := cmd.Flags().GetStringArray("log-times")
	for _, topic := range logs {
		if topic == "" {
			return nil, usagef("--log-times: name a topic, such as /odom, or '*' for all")
		}
		rules = append(rules, ingest.TimeRule{Topic: topic, Log: true})
	}
	offsets, _ := cmd.Flags().GetStringArray("offset")
	for _, text := range offsets {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, usagef("--offset %q: write a topic and a duration, such as '/odom=-7.65s'", text)
		}
		d, err := time.ParseDuration(text[i+1:])
		if err != nil {
			return nil, usagef("--offset %q: %q is no duration; write it like 250ms or -7.65s", text, text[i+1:])
		}
		rules = append(rules, ingest.TimeRule{Topic: text[:i], Offset: d})
	}
	return rules, nil
}

// tellClocks prints which topics' times do not fit the others'.
func tellClocks(cmd *cobra.Command, r *ingest.Report) {
	if len(r.Clocks) == 0 {
		return
	}
	cmd.PrintErrf("%s: some times do not fit the others; poses looked up for such data are those of another moment:\n", r.File)
	for i := range r.Clocks {
		cmd.PrintErrf("  %s\n", visible(clockText(&r.Clocks[i])))
	}
}

// otherZero is more than clocks of the same zero differ by.
const otherZero = 365 * 24 * time.Hour

func clockText(f *ingest.ClockFinding) string {
	by := words.Duration(f.By.Abs())
	side := "after"
	if f.By < 0 {
		side = "before"
	}
	var text string
	switch f.Fault {
	case ingest.ClockOff:
		switch text = by + " " + side + " the others"; {
		case f.LogTime:
			text += ", being log times"
		case f.By.Abs() > otherZero:
			text += ", in another clock, such as one that counts from the start of a computer"
		case f.By < 0 && f.By > -5*time.Second:
			text += ", if they were not recorded that late"
		}
	case ingest.ClockDrifts:
		text = "stamps move by " + by + " against the log times"
	case ingest.ClockScatters:
		text = "stamps of several clocks, up to " + by + " " + side + " the rest"
	case ingest.ClockZero:
		text = countOf(f.Count, "stamp") + " of zero, in whose place stand log times"
	case ingest.ClockBack:
		text = fmt.Sprintf("stamps go back by %s, from %v at the log time %v, ", by, f.From, f.At)
		if len(f.Shifts) == 0 {
			text += "and go on from there, as where a clock was set, or a short bag begins anew; so two moments have one time, and a pose there may lie between both"
			break
		}
		text += fmt.Sprintf("as where a simulation or a bag begins anew, or are of two clocks; so that the runs do not mix, %s from there on stand %s later than their stamps",
			countOf(f.Count, "update"), shiftsText(f.Shifts))
	case ingest.ClockLogBack:
		return "log times go back by up to " + by + ", as the recorder's clock does when it is set, or that of a simulation when it begins anew, whose runs are mixed then; messages are taken in their order"
	}
	topics, more := f.Topics, ""
	if n := len(topics); n > 6 {
		topics, more = topics[:5], fmt.Sprintf(" and %d more", n-5)
	}
	text += ": " + strings.Join(topics, ", ") + more
	if mend := mendOf(f); mend != "" {
		text += "; " + mend
	}
	return text
}

// shiftsText lists by how much the runs of a clock were shifted.
func shiftsText(shifts []time.Duration) string {
	var texts []string
	for _, d := range shifts[:min(len(shifts), 4)] {
		texts = append(texts, words.Duration(d))
	}
	if len(shifts) > 4 {
		texts = append(texts, "and so on")
	}
	return strings.Join(texts, ", then ")
}

// mendOf returns the flags that would make topics fit.
func mendOf(f *ingest.ClockFinding) string {
	if f.Fault == ingest.ClockZero {
		return ""
	}
	topic := "TOPIC"
	if len(f.Topics) == 1 {
		topic, _, _ = strings.Cut(f.Topics[0], " (")
	}
	var flags []string
	logs := f.Edges || f.Fault != ingest.ClockOff
	if logs {
		flags = append(flags, "--log-times '"+topic+"'")
	}
	if !logs || f.Mend.Abs() > ingest.ClockTolerance {
		flags = append(flags, fmt.Sprintf("--offset '%s=%v'", topic, f.Mend.Round(time.Millisecond)))
	}
	return "try " + strings.Join(flags, " ")
}

// clockJSON is what import prints of times that do not fit.
type clockJSON struct {
	Fault   string   `json:"fault"`
	Topics  []string `json:"topics,omitempty"`
	Seconds float64  `json:"seconds,omitempty"` // after the others; of drift in all
	Count   uint64   `json:"count,omitempty,string"`
	Text    string   `json:"text"`
}

func clocksJSON(r *ingest.Report) (out []clockJSON) {
	for i := range r.Clocks {
		f := &r.Clocks[i]
		out = append(out, clockJSON{f.Fault.String(), f.Topics, f.By.Seconds(), f.Count, clockText(f)})
	}
	return out
}
