package gen

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram/core/idf"
)

func TestUnits(t *testing.T) {
	for doc, want := range map[string]string{
		"How high it is filled, m.":                               "m",
		"Position of the joint, rad or m.":                        "rad or m",
		"The speed of the\nwheel in m/s; positive is forward.":    "m/s",
		"How long it took, seconds; how far it went, in meters":   "s or m",
		"[kg] of the load":                                        "kg",
		"The temperature in °C for the log":                       "°C",
		"A thing of no unit: m":                                   "m",
		"mm is no unit of ours, and so are words that end with m": "",
	} {
		if got := unitOf(doc); got != want {
			t.Errorf("%q is in %q, want %q", doc, got, want)
		}
	}
}

func TestWrapped(t *testing.T) {
	got := wrapped("aa bb cc\ndd\n\neeeeeeee f", 5)
	if want := []string{"aa bb", "cc dd", "", "eeeeeeee", "f"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := wrapped(" \n ", 5); got != nil {
		t.Errorf("%q of nothing", got)
	}
}

func TestPythonDoc(t *testing.T) {
	for doc, want := range map[string]string{
		`plain`:     `"""plain"""`,
		`a \"`:      `"""a \\\""""`,
		`say """ x`: `"""say \"\"\" x"""`,
		`"a" """`:   `""" "a" ""\""""`,
		`"`:         `"""\""""`,
	} {
		var p pythonWriter
		if p.doc(doc); p.String() != want+"\n" {
			t.Errorf("%q becomes %s", doc, p.String())
		}
	}
}

// Comments cannot end where a reader does not see it, nor look like code that is none.
func TestHiddenCharacters(t *testing.T) {
	const text = "syntax = \"proto3\"; package lab;\n// A\ufeff cup\u202e of\u2066\u0085tea.\nmessage Cup {}\n"
	for _, lang := range []Language{Go, Python} {
		defs, err := idf.CompileProto(idf.Source{fstest.MapFS{"cup.proto": {Data: []byte(text)}}}, "cup.proto")
		if err != nil {
			t.Fatal(err)
		}
		cup, err := idf.ParseType(defs[0])
		if err != nil {
			t.Fatal(err)
		}
		files, err := Files(lang, []*idf.Type{cup}, Options{Package: "cups"})
		if source := string(files["lab.go"]) + string(files["lab.py"]); err != nil || !strings.Contains(source, "A cup of tea.") {
			t.Errorf("%s: %v\n%s", lang, err, source)
		}
	}
}

func TestPythonClasses(t *testing.T) {
	for name, want := range map[string]string{"Cup": "Cup", "_Cup": "_Cup", "__name__": "M__name__"} {
		if got := pythonClass(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestGoNames(t *testing.T) {
	for name, want := range map[string]string{"joint_values": "JointValues", "3d_map": "X3dMap", "_": "X", "Outer_Inner": "OuterInner"} {
		if got := camel(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
