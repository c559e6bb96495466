package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

// However a text is cut into writes, a terminal gets all of it that can be seen, and
// nothing that cannot.
func TestScreen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "screen")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + "\x1b[2J\u009b\u202e\xff\n\tend"
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s := &screen{File: f}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if _, err := io.WriteString(s, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if want := appendVisible(nil, text, "\n\t"); !bytes.Equal(got, want) {
			t.Errorf("the terminal got %q, want %q", got, want)
		}
		for _, r := range string(got) {
			if r != '\n' && r != '\t' && unprintable(r) {
				t.Errorf("the terminal got %q", r)
			}
		}
	})
}

// YAML carries what would mean something else, were it not in quotes.
func TestPrintIndicators(t *testing.T) {
	for _, text := range []string{"?", "? A", "-", "- a", ":", ": b", "a: b", "a #b", "# c", "'x", "\"", "{", "[", "]", ",", "@x", "`x", "%x", "&a", "*a", "!t", "|", ">",
		"null", "~", "yes", "true", "1", "0x1", "1.5", ".inf", "+.inf", "-.INF", ".NaN", "+", "--", "2026-11-29", " lead", "trail ", "", "---", "...", "<<", "=", "?\tA", "-\tA", "? A\nb", "- a\nb", "a\n? b"} {
		var out bytes.Buffer
		if err := printObject(&out, "yaml", map[string]any{"list": []any{text, "x"}, "in": map[string]any{text: text}}); err != nil {
			t.Fatal(err)
		}
		var back struct {
			List []string
			In   map[string]string
		}
		if err := yaml.Unmarshal(out.Bytes(), &back); err != nil || len(back.List) != 2 || back.List[0] != text || back.In[text] != text {
			t.Errorf("%q is read as %q, %v", out.Bytes(), back, err)
		}
	}
}

// JSON and YAML carry every text, and nothing of it that steers a terminal.
func TestPrintUnprintable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "") + rapid.SampledFrom([]string{"", "\x1b[2J", "\u009b", "\u202e", "\U000e0001", "\n\x07", "a\nb\u202e", "\x7f"}).Draw(t, "end")
		object := map[string]any{"plain": []any{text, "x"}, "key" + text: map[string]any{"a": text}}
		for _, format := range []string{"json", "ndjson", "yaml"} {
			var out bytes.Buffer
			if err := printObject(&out, format, object); err != nil {
				t.Fatal(err)
			}
			if bytes.ContainsFunc(out.Bytes(), func(r rune) bool { return r != '\n' && unprintable(r) }) || !utf8.Valid(out.Bytes()) {
				t.Fatalf("%s is %q", format, out.Bytes())
			}
			var back struct{ Plain []string }
			var err error
			if format == "yaml" {
				err = yaml.Unmarshal(out.Bytes(), &back)
			} else {
				err = json.Unmarshal(out.Bytes(), &back)
			}
			if err != nil || len(back.Plain) != 2 || back.Plain[0] != text {
				t.Fatalf("%s %q is read as %q, %v; want %q", format, out.Bytes(), back.Plain, err, text)
			}
		}
	})
}
