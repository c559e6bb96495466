package main

import (
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/seed-301d4374/engram"
)

func TestTableCells(t *testing.T) {
	tab := &table{header: []string{"NAME", "COUNT"}, right: []bool{false, true}}
	tab.add("机器人", 1234567)
	tab.add("a\x1b[2J\tb\u202e", byteSize(1500))
	var shown, raw strings.Builder
	if err := tab.write(&shown); err != nil {
		t.Fatal(err)
	}
	if err := tab.writeCSV(&raw); err != nil {
		t.Fatal(err)
	}
	want := "NAME                   COUNT\n机器人             1,234,567\na\\x1b[2J\\tb\\u202e     1.5 kB\n"
	if shown.String() != want {
		t.Errorf("the table is\n%s, want\n%s", shown.String(), want)
	}
	if want := "name,count\n机器人,1234567\na\x1b[2J\tb\u202e,1500\n"; raw.String() != want {
		t.Errorf("the CSV is %q, want %q", raw.String(), want)
	}
}

// A long name makes no column wide; CSV has it as it is.
func TestNarrow(t *testing.T) {
	long := "/" + strings.Repeat("机a", 100) + "/image_raw"
	for _, c := range []struct{ name, begin, end string }{
		{"/camera", "/camera", "/camera"}, {long, "/机a", "…"}, {long, "/", "/image_raw"}, {"\x1b" + long, "\\x1b", "_raw"},
	} {
		got := narrow(c.name)
		if n := uniseg.StringWidth(got.shown); n > maxNarrow || got.raw != c.name || !strings.HasPrefix(got.shown, c.begin) || c.end != "…" && !strings.HasSuffix(got.shown, c.end) {
			t.Errorf("%q is shown as %q, %d cells wide, in CSV %q", c.name, got.shown, n, got.raw)
		}
	}
}

func TestCutLine(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"abcdef", 0, "abcdef"}, {"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"},
		{"机器人", 6, "机器人"}, {"机器人", 5, "机器…"}, {"机器人", 4, "机…"}, {"ab", 1, "…"},
	} {
		if got := cutLine(c.line, c.width); got != c.want {
			t.Errorf("cutLine(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestKeepMembers(t *testing.T) {
	j := `{"a":{"x":0,"y":"<"},"b":[{"x":1,"y":2}],"c":{"k":{"x":1,"y":3}},"d":null}`
	for fields, want := range map[string]string{
		"a":       `{"a":{"x":0,"y":"<"}}`,
		"a.x b.y": `{"a":{"x":0},"b":[{"y":2}]}`,
		"c.*.x d": `{"c":{"k":{"x":1}},"d":null}`,
		"nope":    `{}`,
	} {
		var paths [][]string
		for _, f := range strings.Fields(fields) {
			paths = append(paths, engram.SplitPath(f))
		}
		if got, err := keepMembers([]byte(j), paths); err != nil || string(got) != want {
			t.Errorf("keepMembers(%s) = %s, %v, want %s", fields, got, err, want)
		}
	}
}
