package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// rosVersion returns the generation of ROS that is exported for; 0 for none.
func rosVersion(cmd *cobra.Command) (rosmsg.Version, error) {
	ros1, _ := cmd.Flags().GetBool("ros1")
	ros2, _ := cmd.Flags().GetBool("ros2")
	if (ros1 || ros2) && cmd.Flags().Changed("robot") {
		return 0, usagef("messages of ROS have no place for --robot")
	}
	switch {
	case ros1 && ros2:
		return 0, usagef("--ros1 writes a bag, --ros2 an MCAP file; give one of them")
	case ros1:
		return rosmsg.ROS1, nil
	case ros2:
		return rosmsg.ROS2, nil
	}
	return 0, nil
}

type exportROSJSON struct {
	File     string         `json:"file"`
	Messages uint64         `json:"messages,string"`
	Bytes    int64          `json:"bytes,string"`
	Start    *engram.Time   `json:"start,omitempty"`
	End      *engram.Time   `json:"end,omitempty"`
	Seconds  float64        `json:"seconds"`
	Missing  int            `json:"missing"`
	Topics   []rosTopicJSON `json:"topics"`
}

type rosTopicJSON struct {
	Topic     string   `json:"topic"`
	Type      string   `json:"type,omitempty"`
	Messages  uint64   `json:"messages,string"`
	Recorded  uint64   `json:"recorded,string"`  // byte by byte
	Converted uint64   `json:"converted,string"` // for the other generation of ROS
	Changed   uint64   `json:"changed,string"`   // stored with loss
	Gone      uint64   `json:"gone,string"`
	LeftOut   uint64   `json:"left_out,string"`
	Notes     []string `json:"notes,omitempty"`
}

// exportROS exports messages of ROS, and tells of each topic what became of it.
func exportROS(cmd *cobra.Command, m *client.Client, args []string, v rosmsg.Version, o ingest.ExportOptions, format string) error {
	file := args[len(args)-1]
	bar := newProgress(cmd, file, true)
	o.Progress = bar.set
	report, err := ingest.ExportROS(cmd.Context(), m, file, v, o)
	bar.finish()
	sayWhyNothing(cmd, m, args[:len(args)-1])
	if err != nil {
		return err
	}
	lost := tellMissing(cmd, file, report.Missing)
	object := exportROSJSON{
		File: file, Messages: report.Messages, Bytes: report.Bytes, Seconds: report.Took.Seconds(), Missing: len(report.Missing), Topics: []rosTopicJSON{},
	}
	if !report.Span.Empty() {
		object.Start, object.End = new(report.Span.Start), new(report.Span.End)
	}
	t := &table{header: []string{"TOPIC", "TYPE", "MESSAGES", "AS RECORDED", "LEFT OUT", "WHY"}, right: []bool{2: true, 3: true, 4: true}}
	var gone uint64
	for _, topic := range report.Topics {
		object.Topics = append(object.Topics, rosTopicJSON(topic))
		gone += topic.Gone
		t.add(topic.Topic, topic.Type, topic.Messages, topic.Recorded, topic.LeftOut+topic.Gone, strings.Join(whyROS(&topic), "; "))
	}
	if err := print(cmd.OutOrStdout(), format, t, []exportROSJSON{object}); err != nil {
		return err
	}
	if format == "table" {
		cmd.PrintErrf("%s: %s, %s, exported in %v\n", file, countOf(report.Messages, "message"), byteSize(report.Bytes), report.Took.Round(10*time.Millisecond))
	}
	if gone > 0 && !slices.ContainsFunc(report.Missing, byRule) { // else it was told
		return &lossError{fmt.Sprintf("%s lacks %s that were imported and are not in the memory any more; 'engram import --all' has the disk keep them", file, countOf(gone, "message"))}
	}
	if len(lost) > 0 {
		return &lossError{fmt.Sprintf("%s lacks what should be in the memory, see above", file)}
	}
	return nil
}

// whyROS says what is not as it was recorded.
func whyROS(t *ingest.ROSTopic) (why []string) {
	if t.Converted > 0 {
		why = append(why, formatCount(t.Converted)+" rewritten for this generation of ROS")
	}
	if t.Changed > 0 {
		why = append(why, formatCount(t.Changed)+" differ from the recorded ones, since they are stored with loss (policy)")
	}
	if t.Gone > 0 {
		why = append(why, formatCount(t.Gone)+" not in the memory any more")
	}
	return append(why, t.Notes...)
}
