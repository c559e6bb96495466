package gen

import (
	"slices"
	"testing"
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

func TestGoNames(t *testing.T) {
	for name, want := range map[string]string{"joint_values": "JointValues", "3d_map": "X3dMap", "_": "X", "Outer_Inner": "OuterInner"} {
		if got := camel(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
