package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

var outputFormats = []string{"table", "json", "ndjson", "yaml", "csv"}

// addOutputFlag gives a command the flag -o and its completion.
func addOutputFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("output", "o", "table", "how to print: "+strings.Join(outputFormats, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputFormats, cobra.ShellCompDirectiveNoFileComp))
}

// outputFormat returns the value of -o, checked.
func outputFormat(cmd *cobra.Command) (string, error) {
	f, _ := cmd.Flags().GetString("output")
	if !slices.Contains(outputFormats, f) {
		return "", usagef("-o %s: there is %s", f, strings.Join(outputFormats, ", "))
	}
	return f, nil
}

// print writes objects in the format asked for; the table stands for them in
// "table" and "csv".
func print[T any](w io.Writer, format string, t *table, objects []T) error {
	switch format {
	case "table":
		return t.write(w)
	case "csv":
		return t.writeCSV(w)
	case "ndjson":
		for _, o := range objects {
			if err := writeJSONLine(w, o); err != nil {
				return err
			}
		}
		return nil
	}
	if objects == nil {
		objects = []T{}
	}
	return printObject(w, format, objects)
}

// printObject writes a value as JSON, on a line of its own as NDJSON, or as YAML.
func printObject(w io.Writer, format string, v any) error {
	if format == "ndjson" {
		return writeJSONLine(w, v)
	}
	j, err := marshalJSON(v)
	if err != nil {
		return err
	}
	if format == "yaml" {
		y, err := yaml.JSONToYAML(j)
		if err != nil {
			return err
		}
		_, err = w.Write(y)
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, j, "", "  "); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}

// marshalJSON returns v on one line that ends with a line break. What is special to
// HTML stands as it is, so that "a < b" can be read.
func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func writeJSONLine(w io.Writer, v any) error {
	j, err := marshalJSON(v)
	if err == nil {
		_, err = w.Write(j)
	}
	return err
}

// byteSize prints as people read it, such as "1.2 MB".
type byteSize int64

func (n byteSize) String() string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", int64(n))
	}
	f, u := float64(n), -1
	for f >= 999.95 && u < len(units)-1 {
		f /= 1000
		u++
	}
	return fmt.Sprintf("%.1f %cB", f, units[u])
}

// formatDuration writes a duration for people, with as much of it as matters: 9.633s,
// 42s, 6m35s, 35h12m, 5,419d 23h.
func formatDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + formatDuration(-max(d, -math.MaxInt64))
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d.Round(time.Hour) >= 48*time.Hour:
		hours := int64(d.Round(time.Hour) / time.Hour)
		text := formatCount(hours/24) + "d"
		if hours%24 != 0 {
			text += fmt.Sprintf(" %dh", hours%24)
		}
		return text
	case d.Round(time.Minute) >= time.Hour:
		d = d.Round(time.Minute)
	default:
		d = d.Round(time.Second)
	}
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// formatCount prints a count with separators, such as "12,345".
func formatCount[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
