package subject_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

func TestOfUpdates(t *testing.T) {
	for id, want := range map[string]string{
		"Object/Instance/Vision/cup": "engram.update.Object.Instance.Vision.cup",
		"Object/Instance":            "engram.update.Object.Instance.>",
		`A.B/c d/*/\/x`:              "engram.update.A=2EB.c=20d.=2A.=2Fx",
	} {
		if got := subject.OfUpdates(engram.MustID(id)); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "cup", "a.b", "=", "==", "Tür", ">", "*", strings.Repeat("ü", 300), strings.Repeat("x", 600)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		token := subject.Token(name)
		if token == "" || len(token) > 512 || strings.ContainsFunc(token, func(r rune) bool {
			return r > 127 || !strings.ContainsRune("-_=", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			t.Fatalf("%q becomes %q, which is no token", name, token)
		}
		back, ok := subject.NameOf(token)
		if strings.Contains(token, "==") {
			if ok {
				t.Fatalf("a cut token of %q decodes", name)
			}
			return
		}
		if !ok || back != name {
			t.Fatalf("%q becomes %q becomes %q", name, token, back)
		}
		subject.NameOf(name)
	})
}
