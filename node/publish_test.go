package node

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// Notices tell data where a segment's policy says so, also from one moment to the next, and
// where it says nothing as PublishData says: by default nowhere.
func TestPublishedData(t *testing.T) {
	fabricOf := func(patterns ...string) *fabric {
		b := new(fabric)
		for _, p := range patterns {
			m, err := engram.MustPattern(p).Matcher()
			if err != nil {
				t.Fatal(err)
			}
			b.data = append(b.data, m)
		}
		return b
	}
	if fabricOf().withData(nil) != nil {
		t.Error("without a word data is published")
	}
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	cup, bowl, text := engram.MustID("Object/Instance/Vision/cup"), engram.MustID("Object/Class/prior/bowl"), engram.MustID("Speech/Text/me/shell")
	none, flagged := fabricOf().withData(store), fabricOf("Object/*/Vision", "Object/Class").withData(store)
	for _, step := range []struct {
		pattern, publish string
		none, flagged    string // of cup, bowl and text, those with data
	}{
		{"Object/*", "", "", "cup bowl "},
		{"Object/Instance", "ids", "", "bowl "},
		{"Speech/*", "data", "text ", "bowl text "},
		{"Object/Instance", "data", "cup text ", "cup bowl text "},
		{"Speech/*", "", "cup ", "cup bowl "},
	} {
		if err := store.SetPolicy(t.Context(), policy.Override{Pattern: engram.MustPattern(step.pattern), Settings: map[string]string{"publish": step.publish}}); err != nil {
			t.Fatal(err)
		}
		told := func(withData func(engram.ID) bool) (names string) {
			for _, x := range []struct {
				id   engram.ID
				name string
			}{{cup, "cup "}, {bowl, "bowl "}, {text, "text "}} {
				if withData(x.id) {
					names += x.name
				}
			}
			return names
		}
		if got := told(none); got != step.none {
			t.Errorf("%s publish=%s: data of %q, want %q", step.pattern, step.publish, got, step.none)
		}
		if got := told(flagged); got != step.flagged {
			t.Errorf("%s publish=%s, with flags: data of %q, want %q", step.pattern, step.publish, got, step.flagged)
		}
	}
}
