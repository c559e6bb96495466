package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"
)

var outputFormats = []string{"table", "json", "ndjson", "yaml", "csv"}

// streamFormats are those of commands that print what comes, one thing after the other.
var streamFormats = []string{"table", "json", "ndjson"}

// formatsOf is the annotation of the flag -o with the formats of its command.
const formatsOf = "engram_formats"

// addOutputFlag gives a command the flag -o and its completion.
func addOutputFlag(cmd *cobra.Command) { addOutputFormats(cmd, outputFormats) }

// addOutputFormats is addOutputFlag for a command that does not have all formats; the first is the default.
func addOutputFormats(cmd *cobra.Command, formats []string) {
	cmd.Flags().StringP("output", "o", formats[0], "how to print: "+strings.Join(formats, ", "))
	_ = cmd.Flags().SetAnnotation("output", formatsOf, formats)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// outputFormat returns the value of -o, checked; "" for a command without that flag.
func outputFormat(cmd *cobra.Command) (string, error) {
	flag := cmd.Flags().Lookup("output")
	if flag == nil {
		return "", nil
	}
	f, formats := flag.Value.String(), flag.Annotations[formatsOf]
	if !slices.Contains(formats, f) {
		return "", usagef("-o %s: %s prints %s", f, cmd.Name(), listed(formats, "or"))
	}
	return f, nil
}

// printing has run carry a command out, which is given the format of -o. The command gets
// that flag, if it has none with formats of its own.
func printing(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, format string) error) {
	if cmd.Flags().Lookup("output") == nil {
		addOutputFlag(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
		return run(cmd, args, format)
	}
}

// tabular reports whether print writes the table and needs no objects.
func tabular(format string) bool { return format == "table" || format == "csv" }

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
		y, err := jsonToYAML(j)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, y)
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
// HTML stands as it is, so that "a < b" can be read. What cannot be seen is escaped, as
// in visible: the value stays the same.
func marshalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return escapeJSON(b.Bytes()), nil
}

// escapeJSON escapes the characters of JSON on one line that cannot be seen, such as
// U+009B and U+202E. They stand only in strings, so every one may be escaped.
func escapeJSON(j []byte) []byte {
	if !bytes.ContainsFunc(j[:len(j)-1], unprintable) {
		return j
	}
	out := make([]byte, 0, len(j)+16)
	for _, r := range string(j[:len(j)-1]) {
		switch high, low := utf16.EncodeRune(r); {
		case !unprintable(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return append(out, '\n')
}

// jsonToYAML writes JSON as YAML. A string with characters that cannot be seen is quoted
// and has them as escapes; YAML does not allow most of them otherwise.
func jsonToYAML(j []byte) (string, error) {
	var v any
	if err := yaml.UnmarshalWithOptions(j, &v, yaml.UseOrderedMap()); err != nil {
		return "", err
	}
	node, err := yaml.ValueToNode(v)
	if err != nil {
		return "", err
	}
	ast.Walk(quoteUnprintable{}, node)
	return node.String() + "\n", nil
}

// quoteUnprintable quotes the strings of a YAML tree that need it.
type quoteUnprintable struct{}

func (q quoteUnprintable) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.MappingValueNode:
		if key, ok := n.Key.(*ast.StringNode); ok && strings.Contains(key.Value, "\n") {
			key.Token.Type = token.DoubleQuoteType
		}
	case *ast.StringNode:
		if strings.ContainsFunc(n.Value, func(r rune) bool { return r != '\n' && unprintable(r) }) || !literal(n.Value) || misread(n.Value) {
			n.Token.Type = token.DoubleQuoteType
		}
	}
	return q
}

// literal tells whether a text may stand line by line: one with an empty or indented
// line at its beginning, or with several line breaks at its end, is read as another.
func literal(s string) bool {
	return !strings.Contains(s, "\n") || !strings.ContainsAny(s[:1], " \n") && !strings.HasSuffix(s, "\n\n") && !strings.Contains(s, " \n")
}

// misread tells whether a text means something else in YAML without quotes, beyond what the
// encoder quotes by itself: "? a" is a key, .inf a number, << merges.
func misread(s string) bool {
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "", ".inf", ".nan", "<<":
		return true
	}
	return strings.ContainsRune("?-:", rune(s[0])) && (len(s) == 1 || strings.ContainsRune(" \t\n", rune(s[1])))
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
