package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
)

func newInfo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info RECORDING…",
		Short: "Print what is in recordings: MCAP, ROS 1 bag, rosbag2",
		Long: `Reads recordings from their first to their last message and prints their topics: how many
messages of which type each has, how often and how large they are, and from when to when.
No server is needed. Of a damaged recording it prints what can be read, names the loss,
and the exit code is 3.`,
		Example: `  engram info run7.mcap
  engram info bags/run7 -o json`,
		Args: cobra.MinimumNArgs(1),
	}
	printing(cmd, info)
	return cmd
}

// recordingJSON is what is in a recording, as info prints it.
type recordingJSON struct {
	File     string               `json:"file"`
	Bytes    int64                `json:"bytes"`
	Messages uint64               `json:"messages,string"`
	First    engram.Time          `json:"first,omitzero"` // of the log times
	Last     engram.Time          `json:"last,omitzero"`
	Topics   []*recordedTopicJSON `json:"topics"`
	Asides   []string             `json:"attachments,omitempty"`
	Loss     []string             `json:"loss,omitempty"`
}

type recordedTopicJSON struct {
	Topic    string      `json:"topic"`
	Type     string      `json:"type"`
	Encoding string      `json:"encoding"`
	Messages uint64      `json:"messages,string"`
	Bytes    int64       `json:"bytes"`
	Hz       float64     `json:"hz"`
	First    engram.Time `json:"first,omitzero"`
	Last     engram.Time `json:"last,omitzero"`
}

func info(cmd *cobra.Command, args []string, format string) error {
	names, err := recordingsOf(args)
	if err != nil {
		return err
	}
	var all []*recordingJSON
	var loss []string
	t := table{header: []string{"TOPIC", "TYPE", "ENCODING", "MESSAGES", "HZ", "BYTES", "FIRST", "LAST"}, right: []bool{false, false, false, true, true, true}}
	if len(names) > 1 {
		t.header, t.right = append([]string{"FILE"}, t.header...), append([]bool{false}, t.right...)
	}
	for _, name := range names {
		bar := newProgress(cmd, name, false)
		r, err := readInfo(cmd.Context(), name, bar.set)
		bar.finish()
		if err != nil {
			if len(names) == 1 || cmd.Context().Err() != nil {
				return err
			}
			loss = append(loss, err.Error())
			continue
		}
		all = append(all, r)
		for _, l := range r.Loss {
			loss = append(loss, "lost: "+l)
		}
		for _, o := range r.Topics {
			row := []any{o.Topic, cmp.Or(o.Type, "—"), o.Encoding, o.Messages, figure(o.Hz), byteSize(o.Bytes), o.First, o.Last}
			if o.Messages == 0 {
				row[6], row[7] = "", ""
			}
			if len(names) > 1 {
				row = append([]any{filepath.Base(r.File)}, row...)
			}
			t.add(row...)
		}
		if format == "table" {
			cmd.PrintErrf("%s: %s, %s of %s in %s", visible(r.File), byteSize(r.Bytes), countOf(r.Messages, "message"), countOf(uint64(len(r.Topics)), "topic"), formatDuration(r.Last.Sub(r.First)))
			if len(r.Asides) > 0 {
				cmd.PrintErrf("; beside them %s", visible(strings.Join(r.Asides, ", ")))
			}
			cmd.PrintErrln()
		}
	}
	if len(all) > 0 {
		if err := print(cmd.OutOrStdout(), format, &t, all); err != nil {
			return err
		}
	}
	switch text := strings.Join(loss, "\nengram: "); {
	case len(loss) == 0:
		return nil
	case len(all) == 0:
		return errors.New(text)
	default:
		return &lossError{text}
	}
}

// readInfo reads a recording to its end.
func readInfo(ctx context.Context, name string, progress func(done, total int64)) (*recordingJSON, error) {
	r, err := recording.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	out := &recordingJSON{File: name, Topics: []*recordedTopicJSON{}}
	topics := map[string]*recordedTopicJSON{}
	of := func(c *recording.Channel) *recordedTopicJSON {
		key := c.Topic + "\x00" + c.Type
		if topics[key] == nil {
			topics[key] = &recordedTopicJSON{Topic: c.Topic, Type: c.Type, Encoding: c.Encoding}
		}
		return topics[key]
	}
	for _, c := range recording.Channels(r) {
		of(c) // which may have no messages
	}
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		t := of(m.Channel)
		if t.Messages == 0 {
			t.First = m.LogTime
		}
		if out.Messages == 0 {
			out.First = m.LogTime
		}
		t.First, t.Last = min(t.First, m.LogTime), max(t.Last, m.LogTime)
		out.First, out.Last = min(out.First, m.LogTime), max(out.Last, m.LogTime)
		t.Messages++
		out.Messages++
		t.Bytes += int64(len(m.Data))
		if out.Messages%1000 == 0 {
			progress(r.Progress())
		}
	}
	_, out.Bytes = r.Progress()
	for _, key := range slices.Sorted(maps.Keys(topics)) {
		t := topics[key]
		if took := t.Last.Sub(t.First).Seconds(); t.Messages > 1 && took > 0 {
			t.Hz = float64(t.Messages-1) / took
		}
		out.Topics = append(out.Topics, t)
	}
	for _, a := range recording.Asides(r) {
		out.Asides = append(out.Asides, a.Name)
	}
	for _, l := range r.Loss() {
		out.Loss = append(out.Loss, l.String())
	}
	return out, nil
}
