package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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

// formatCount prints a count with separators, such as "12,345".
func formatCount[N int | int64 | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
