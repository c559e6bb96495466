package condition

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

// A term is read as it is written.
func TestTermsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Term{
		"some M/A":              {Of: engram.MustPattern("M/A")},
		"no M/A/*/cup":          {Of: engram.MustPattern("M/A/*/cup"), None: true},
		"some M/A where a == 1": {Of: engram.MustPattern("M/A"), Where: "a == 1"},
		`no M/A/p/~x|y where text == "no within 5s" within 1m0s`: {Of: engram.MustPattern("M/A/p/~x|y"), Where: `text == "no within 5s"`, None: true, Within: time.Minute},
		"no M/A/*/~p.* near 1 m":                                 {Of: engram.MustPattern("M/A/*/~p.*"), None: true, Near: 1},
		"no M/A where b near 0.25 m of base_link within 5s":      {Of: engram.MustPattern("M/A"), Where: "b", None: true, Near: 0.25, NearTo: "base_link", Within: 5 * time.Second},
		`some M/A where text == "a near 1 m" near 2 m`:           {Of: engram.MustPattern("M/A"), Where: `text == "a near 1 m"`, Near: 2},
		`some M/A where text == " within 5s "`:                   {Of: engram.MustPattern("M/A"), Where: `text == " within 5s "`},
	} {
		got, err := ParseTerm(text)
		if err != nil || got.String() != want.String() || got.String() != text || got.None != want.None || got.Near != want.Near || got.NearTo != want.NearTo || got.Within != want.Within || got.Where != want.Where {
			t.Errorf("%q is read as %+v, %v; written it is %q", text, got, err, got.String())
		}
	}
	if got, err := ParseTerm("M/A where x"); err != nil || got.None || got.Where != "x" {
		t.Errorf("without a quantity: %+v %v", got, err)
	}
	for _, text := range []string{"", "no", "M", "M/A where ==", "M/A within -5s", "M/A near 0 m", "M/A near home", "M/A near 1 m of", "M/A near 1 km"} {
		if got, err := ParseTerm(text); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%q is read as %+v: %v", text, got, err)
		}
	}
	if got, err := ParseTerm("no M/A near 1"); err != nil || got.Near != 1 {
		t.Errorf("metres without a unit: %+v %v", got, err)
	}
	for want, all := range map[string][]Term{
		"near to what": {{Of: engram.MustPattern("M/A"), Near: 1}}, "how near": {{Of: engram.MustPattern("M/A"), NearTo: "x"}},
		"in metres": {{Of: engram.MustPattern("M/A"), Near: math.NaN(), NearTo: "x"}},
	} {
		if err := CheckTerms(all); engram.CodeOf(err) != engram.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, which does not tell %q", all, err, want)
		}
	}
	for text, want := range map[string]Trigger{"edge": Edge, "each-update": EachUpdate, "Level": Level} {
		if got, err := ParseTrigger(text); err != nil || got != want {
			t.Errorf("%s is %v: %v", text, got, err)
		}
	}
	if _, err := ParseTrigger("often"); engram.CodeOf(err) != engram.Invalid {
		t.Error(err)
	}
}
