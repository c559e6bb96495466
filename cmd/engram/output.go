package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

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

// table is what a command prints for people, and as CSV.
type table struct {
	header []string
	right  []bool // columns aligned to the right
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table with aligned columns.
func (t *table) write(w io.Writer) error {
	width := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, c := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i < len(t.right) && t.right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(line.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
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
	j, err := json.Marshal(objects)
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
	out.WriteByte('\n')
	_, err = w.Write(out.Bytes())
	return err
}

func (t *table) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.WriteAll(append([][]string{t.header}, t.rows...)); err != nil {
		return err
	}
	return c.Error()
}

func writeJSONLine(w io.Writer, v any) error {
	j, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(j, '\n'))
	}
	return err
}

// formatBytes prints a size as people read it, such as "1.2 MB".
func formatBytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
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
