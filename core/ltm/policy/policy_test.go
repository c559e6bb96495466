package policy

import (
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
)

func TestDurationsAndSizesAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "10m": 10 * time.Minute, "1.5 h": 90 * time.Minute, "30 d": 720 * time.Hour, "1d 12h": 36 * time.Hour,
		"2 weeks": 336 * time.Hour, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "3 µs": 3 * time.Microsecond, "20 min": 20 * time.Minute,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "h", "10 m 5", "-5s", "1e3s", "10 parsecs", "999999999w", "1..5h", strings.Repeat("1h", 99)} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	for text, want := range map[string]int64{
		"5 GB": 5e9, "512 MiB": 512 << 20, "1.5TB": 15e11, "4096": 4096, "0": 0, "10 kb": 10_000, "7 B": 7,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1 GB", "5 Gb/s", "1e30", "nan"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "d"))
		if got, err := ParseDuration(PrintDuration(d)); err != nil || got != d {
			t.Fatalf("%v is printed as %q and read as %v, %v", d, PrintDuration(d), got, err)
		}
		n := rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "n")
		if got, err := ParseSize(PrintSize(n)); err != nil || got != n {
			t.Fatalf("%v is printed as %q and read as %v, %v", n, PrintSize(n), got, err)
		}
	})
}

// full has a value in every setting.
var full = map[string]string{
	"record": "change", "max_rate": "5 Hz", "similar.numbers": "0.01", "similar.distance": "5 mm", "similar.angle": "2 deg",
	"similar.image": "3", "similar.text": "20 %", "similar.exact": "true", "similar.at_least": "10s", "linked.within": "1m",
	"linked.max_bytes": "64 MiB", "codec": "lossless", "quality": "42 dB", "max_error": "0.0001", "durability": "logged",
	"keep.max_age": "30d", "keep.max_bytes": "5 GB", "keep.max_count": "100", "thin.after": "1d", "thin.every": "10",
	"thin.around": "30s", "priority": "-3", "recall": "yes", "publish": "data",
}

func TestSettingsAreReadAsTheyArePrinted(t *testing.T) {
	var p Policy
	for _, name := range SettingNames() {
		text, ok := full[name]
		if !ok {
			t.Fatalf("the test has no %s", name)
		}
		if err := p.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	want := Policy{
		Record: Change, MaxRate: 5, Codec: CodecLossless, Quality: 42, MaxError: 1e-4, Durability: "logged", Priority: -3, Recall: true, Publish: PublishData,
		Similar: Similarity{Numbers: 0.01, Distance: 0.005, Angle: 2 * math.Pi / 180, Image: 3, Text: 0.2, Exact: true, AtLeast: 10 * time.Second},
		Linking: Linking{Within: time.Minute, MaxBytes: 64 << 20},
		Keep:    Retention{MaxAge: 720 * time.Hour, MaxBytes: 5e9, MaxCount: 100},
		Thin:    Thinning{After: 24 * time.Hour, Every: 10, Around: 30 * time.Second},
	}
	if p != want {
		t.Errorf("the policy is\n%+v, want\n%+v", p, want)
	}
	if p.DurabilityOr(engram.Synced) != engram.Logged || (Policy{}).DurabilityOr(engram.Synced) != engram.Synced {
		t.Error("a policy's durability goes over the segment's own, where it has one")
	}
	var again Policy
	for _, name := range SettingNames() {
		text, err := p.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Set(name, text); err != nil {
			t.Errorf("%s is printed as %q: %v", name, text, err)
		}
	}
	if again != p {
		t.Errorf("printed and read it is\n%+v, not\n%+v", again, p)
	}
}

func TestErrorsNameTheSettingAndTheValue(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       engram.Code
	}{
		{"record", "sometimes", engram.OutOfRange}, {"max_rate", "-1", engram.OutOfRange}, {"max_rate", "NaN", engram.OutOfRange},
		{"max_rate", "5 dB", engram.Invalid}, {"similar.image", "256", engram.OutOfRange}, {"similar.angle", "200 deg", engram.OutOfRange},
		{"keep.max_age", "10", engram.Invalid}, {"keep.max_count", "1.5", engram.Invalid}, {"priority", "5000", engram.OutOfRange},
		{"recall", "perhaps", engram.Invalid}, {"codec", "h264", engram.OutOfRange}, {"durability", "eternal", engram.OutOfRange}, {"publish", "everything", engram.OutOfRange},
		{"quality", "101", engram.OutOfRange}, {"thin.every", "x", engram.Invalid}, {"keep.max_bytes", "many", engram.Invalid},
	} {
		var p Policy
		err := p.Set(c.name, c.text)
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %s: error %v (%v), want %v", c.name, c.text, err, engram.CodeOf(err), c.code)
		}
		if p != (Policy{}) {
			t.Errorf("%s: %s: the refused value was set", c.name, c.text)
		}
	}
	if err := new(Policy).Set("keep.max_weight", "1"); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("a setting that does not exist: %v", err)
	}
	for name, p := range map[string]Policy{
		"max_rate":     {Record: Rate},
		"thin.every":   {Thin: Thinning{After: time.Hour}},
		"thin.after":   {Thin: Thinning{Every: 3}},
		"keep.max_age": {Keep: Retention{MaxAge: -1}},
	} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v, want an error about %s", p, err, name)
		}
	}
	if err := (Policy{}).Validate(); err != nil {
		t.Errorf("the zero policy: %v", err)
	}
}

const file = `# what the robot keeps
version: 1
policies:
  Vision/*:
    record: rate
    max_rate: 5 Hz
    keep: {max_age: 30d, max_bytes: 50 GB}
  'Vision/ImageDepth':
    max_rate: 1
    codec: "lossless"
  "*": {priority: -1}
`

func TestFileGoesOverTheDefaults(t *testing.T) {
	overrides, err := ParseFile([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	rgb, depth, object := engram.MustID("Vision/ImageRGB"), engram.MustID("Vision/ImageDepth"), engram.MustID("Object/Instance")
	table, err := NewTable(map[engram.ID]Policy{depth: {MaxRate: 30, Priority: 7, Recall: true}, object: {Recall: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := table.SetOverrides(overrides); err != nil {
		t.Fatal(err)
	}
	keep := Retention{MaxAge: 30 * 24 * time.Hour, MaxBytes: 50e9}
	for id, want := range map[engram.ID]Policy{
		rgb:    {Record: Rate, MaxRate: 5, Keep: keep, Priority: -1},
		depth:  {Record: Rate, MaxRate: 1, Keep: keep, Priority: -1, Recall: true, Codec: CodecLossless},
		object: {Recall: true, Priority: -1},
		engram.MustID("Vision/ImageDepth/camera/left"): {Record: Rate, MaxRate: 1, Keep: keep, Priority: -1, Recall: true, Codec: CodecLossless},
	} {
		if got := table.Of(id); got != want {
			t.Errorf("%v has %+v, want %+v", id, got, want)
		}
	}
	// At run-time: on top, and taken back.
	if err := table.Override(Override{engram.MustPattern("Object"), map[string]string{"record": "never", "priority": "3"}}); err != nil {
		t.Fatal(err)
	}
	if err := table.Override(Override{engram.MustPattern("Object"), map[string]string{"record": ""}}); err != nil {
		t.Fatal(err)
	}
	if got, want := table.Of(object), (Policy{Recall: true, Priority: 3}); got != want {
		t.Errorf("after overriding it is %+v, want %+v", got, want)
	}
	// What cannot be followed changes nothing.
	before := table.Overrides()
	for _, o := range []Override{
		{engram.MustPattern("Object/*/Vision"), map[string]string{"priority": "1"}},
		{engram.MustPattern("Object"), map[string]string{"record": "rate"}},
		{engram.MustPattern("Object"), map[string]string{"thin.after": "1h"}},
		{engram.MustPattern("Object"), map[string]string{"no": "1"}},
	} {
		if err := table.Override(o); err == nil {
			t.Errorf("%v %v is taken", o.Pattern, o.Settings)
		}
	}
	if len(table.Overrides()) != len(before) || table.Of(object).Priority != 3 {
		t.Error("a refused override changed something")
	}
}

func TestFileIsReadAsItIsPrinted(t *testing.T) {
	same := func(a, b []Override) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i].Pattern.String() != b[i].Pattern.String() || !maps.Equal(a[i].Settings, b[i].Settings) {
				return false
			}
		}
		return true
	}
	rapid.Check(t, func(t *rapid.T) {
		var overrides []Override
		for _, p := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"*", "Vision/*", "~Obj.*", `\*odd`, "A: b/#c", "Ü/- x"}), rapid.ID).Draw(t, "patterns") {
			o := Override{engram.MustPattern(p), map[string]string{}}
			for _, name := range rapid.SliceOf(rapid.SampledFrom(SettingNames())).Draw(t, "names") {
				o.Settings[name] = full[name]
			}
			overrides = append(overrides, o)
		}
		text, err := PrintFile(overrides)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseFile(text); err != nil || !same(got, overrides) {
			t.Fatalf("%s is read as %v, %v", text, got, err)
		}
	})
}

func TestFileErrorsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"version: 1\npolicies:\n  Vision/*:\n    max_rate: fast\n":        `line 4`,
		"version: 1\npolicies:\n  Vision/*:\n    speed: 5\n":              `speed`,
		"version: 1\npolicies:\n  Vision/*:\n    keep: 5\n":               `line 4`,
		"version: 1\npolicies:\n  Vision/*:\n    keep: {max_age: [1]}\n":  `sequence`,
		"version: 1\npolicies:\n  Speech/Text:\n    codec: h265\n":        `line 4: Speech/Text: policy setting codec: "h265"`,
		"version: 1\npolicies:\n  A/B/C: {priority: 1}\n":                 `A/B/C`,
		"version: 1\npolicies:\n  '~(': {priority: 1}\n":                  `regex`,
		"version: 2\npolicies:\n  A: {priority: 1}\n":                     `version`,
		"policies:\n  A: {priority: 1}\n":                                 `version`,
		"version: 1\npolicy:\n  A: {priority: 1}\n":                       `policy`,
		"version: 1\npolicies:\n  A: {priority: 1}\n  A: {priority: 2}\n": `A`,
		"version: 1\npolicies:\n  A: &x {priority: 1}\n  B: *x\n":         `line 3`,
		"- 1\n": `line 1`,
		"a: [":  `YAML`,
	} {
		_, err := ParseFile([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one about %s", text, err, want)
		}
	}
	for _, text := range []string{"", "# nothing\n", "version: 1\n", "version: 1\npolicies:\n"} {
		if got, err := ParseFile([]byte(text)); err != nil || len(got) != 0 {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte("version: 1\npolicies:\n  A: &x {priority: 1}\n  B: *x\n"))
	f.Add([]byte("? [a, {b: c}]\n: |\n  text\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		overrides, err := ParseFile(text)
		if err != nil {
			return
		}
		printed, err := PrintFile(overrides)
		if err != nil {
			t.Fatalf("what was read cannot be printed: %v", err)
		}
		if again, err := ParseFile(printed); err != nil || len(again) != len(overrides) {
			t.Fatalf("%q is printed as %q and read as %v, %v", text, printed, again, err)
		}
	})
}

// A bound that is none says so, and what it says is read back.
func TestNoBound(t *testing.T) {
	names := []string{"max_rate", "keep.max_age", "keep.max_bytes", "keep.max_count"}
	for _, name := range names {
		p := Policy{Record: All, MaxRate: 5, Keep: Retention{MaxAge: 1, MaxBytes: 1, MaxCount: 1}}
		for _, text := range []string{"none", "0"} {
			if err := p.Set(name, text); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
			if got, err := p.Get(name); got != "none" || err != nil {
				t.Errorf("%s after %s is %s, %v", name, text, got, err)
			}
		}
	}
	var p Policy
	if err := p.Set("max_rate", "0 Hz"); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"quality", "linked.max_bytes"} { // 0 means a default
		if err := p.Set(name, "none"); err == nil {
			t.Errorf("%s is none", name)
		}
	}
}
