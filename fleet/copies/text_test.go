package copies_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

func TestParse(t *testing.T) {
	got, err := copies.Parse(`robot1:Object/Instance/* rate=2 max-payload=64KB fields=pose,name.text where='confidence > 0.5' priority=5 spare since=1h30m gather=20ms max-bytes=200KB/s`)
	want := contract.Copy{Pattern: engram.MustPattern("robot1:Object/Instance/*"), Rules: contract.Rules{
		MaxRate: 2, MaxPayload: 64000, Fields: []string{"pose", "name.text"}, Where: "confidence > 0.5", Priority: 5, Spare: true, Since: 90 * time.Minute, Gather: 20 * time.Millisecond, MaxBytes: 200_000,
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v, %v; want %+v", got, err, want)
	}
	for _, many := range []string{"*:Object/Instance/*", "~robot[12]:Object", "robot1:*"} {
		if got, err = copies.Parse(many + " gather=0"); err != nil || !got.OfMany() || copies.Format(&got) != many+" gather=0" || got.Rules.Gather != contract.NoGather {
			t.Errorf("parsed %+v, %v", got, err)
		}
	}
	got, err = copies.Parse(`  "Vision/Image/Left Camera"   `)
	if err != nil || got.Pattern.String() != "Vision/Image/Left Camera" {
		t.Errorf("parsed %+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, say := range map[string]string{
		"":                           "begins with a pattern",
		"*":                          "one memory",
		"~Obj.*/Instance":            "with a colon",
		":Object":                    "robot:memory",
		"robot1:":                    "robot:memory",
		"A/b/c/d/e":                  "4 levels",
		"Object rate=fast":           "number of snapshots per second",
		"Object rate=-1":             "between 0",
		"Object rate=NaN":            "between 0",
		"Object rate=":               "value is missing",
		"Object spare=yes":           "takes no value",
		"Object rate=1 rate=2":       "said twice",
		"Object speed=3":             "there is no such rule",
		"Object where='1 +'":         "where",
		"Object where='x":            "not closed",
		"Object fields=a,,b":         "dotted paths",
		"Object fields=a..b":         "a..b",
		"Object fields=a,b.":         "b.",
		"Object max-payload=large":   "not a size",
		"Object since=yesterday":     "not a duration",
		"Object priority=1.5":        "whole number",
		"Object priority=9999999999": "out of range",
	} {
		if _, err := copies.Parse(text); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: the error is %v, want Invalid that says %q", text, err, say)
		}
	}
}

func TestFormatIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ -~äß]{1,12}`)
		level := rapid.Custom(func(t *rapid.T) engram.NameSelector {
			if rapid.Bool().Draw(t, "all") {
				return engram.AllNames()
			}
			return engram.OneOf(name.Draw(t, "name"))
		})
		c := contract.Copy{Pattern: engram.Pattern{Levels: append([]engram.NameSelector{rapid.SampledFrom([]engram.NameSelector{
			engram.OneOf("Object"), engram.OneOf("robot 1:Object"), engram.OneOf("it's"), engram.MatchRegex("robot[12]:Object"), engram.MatchRegex("(?:[^:]+:)?Object"),
		}).Draw(t, "memory")},
			rapid.SliceOfN(level, 0, 3).Draw(t, "levels")...)}}
		r := &c.Rules
		r.MaxRate = rapid.Float64Range(0, 1e9).Draw(t, "rate")
		r.MaxPayload, r.MaxBytes = rapid.Int64Range(0, 1<<50).Draw(t, "payload"), rapid.Int64Range(0, 1<<50).Draw(t, "bytes")
		r.Priority, r.Spare = int(rapid.Int32().Draw(t, "priority")), rapid.Bool().Draw(t, "spare")
		r.Since = time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "since"))
		r.Gather = rapid.SampledFrom([]time.Duration{0, contract.NoGather, time.Microsecond, contract.DefaultGather, contract.MaxGather}).Draw(t, "gather")
		r.Where = rapid.SampledFrom([]string{"", "confidence > 0.5", `confidence > 0.5 && "it's" == 'x'`}).Draw(t, "where")
		if rapid.Bool().Draw(t, "fields") {
			r.Fields = []string{"a", "b.c"}
		}
		text := copies.Format(&c)
		got, err := copies.Parse(text)
		if err != nil || !reflect.DeepEqual(got.Rules, c.Rules) || got.Pattern.String() != c.Pattern.String() {
			t.Fatalf("%q is read as %+v, %v; it was %+v", text, got, err, c)
		}
		// Some names have no text of their own, and are written as what matches just them.
		for i, level := range c.Pattern.Levels {
			before, err := level.Matcher()
			if err != nil {
				t.Fatal(err)
			}
			after, err := got.Pattern.Levels[i].Matcher()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range append([]string{"Object", "robot1:Object", "it", "x"}, level.Names...) {
				if before.Match(name) != after.Match(name) {
					t.Fatalf("%q does not match %q as it did", text, name)
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`robot1:Object/Instance/* rate=2 max-payload=64KB fields=pose,name where='confidence > 0.5' priority=5 spare since=1h`)
	f.Add(`"a b"/c rate=`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := copies.Parse(text)
		if err != nil {
			return
		}
		again, err := copies.Parse(copies.Format(&c))
		if err != nil || copies.Format(&again) != copies.Format(&c) {
			t.Fatalf("%q is written as %q, which is read as %+v, %v", text, copies.Format(&c), again, err)
		}
	})
}
