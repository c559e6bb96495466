package memories

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// The table of docs/recording.md says what the code does.
func TestRecordingGuideHasTheDefaults(t *testing.T) {
	b, err := os.ReadFile("../docs/recording.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	begin := strings.Index(doc, "|---|---|---|---|---|\n")
	table, _, ok := strings.Cut(doc[max(begin, 0):], "\n\n")
	if begin < 0 || !ok {
		t.Fatal("docs/recording.md has no table of defaults")
	}
	want := "|---|---|---|---|---|\n" + strings.Join(defaultRows(), "\n")
	if table != want {
		t.Errorf("docs/recording.md has\n%s\nand the code's defaults are\n%s", table, want)
	}
}

// defaultRows are the defaults of all segments; neighbours that are alike share a row.
func defaultRows() (rows []string) {
	var names, last, memory string
	add := func(name, cells string) {
		of, _, _ := strings.Cut(name, "/")
		same := of == memory && cells == last
		memory = of
		if same {
			names += ", `" + name[strings.LastIndexByte(name, '/')+1:] + "`"
			return
		}
		if names != "" {
			rows = append(rows, "| "+names+" | "+last+" |")
		}
		names, last = "`"+name+"`", cells
	}
	for _, m := range All() {
		for _, s := range m.Segments {
			p := m.Policies[s.ID.CoreSegment()]
			add(s.ID.String(), strings.Join([]string{boundsText(s.History), recordText(p), p.DurabilityOr(s.Durability).String(), fmt.Sprint(p.Priority)}, " | "))
		}
	}
	return append(rows, "| "+names+" | "+last+" |")
}

func boundsText(b engram.Bounds) string {
	var parts []string
	if b.MaxCount > 0 {
		parts = append(parts, fmt.Sprintf("%d snapshots", b.MaxCount))
	}
	if b.MaxAge > 0 {
		parts = append(parts, spanText(b.MaxAge))
	}
	if b.MaxBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB", b.MaxBytes/mib))
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}

func recordText(p policy.Policy) string {
	text := map[policy.Mode]string{policy.All: "all", policy.Rate: "", policy.Change: "changes", policy.Linked: "what is linked to", policy.Never: "nothing"}[p.Mode()]
	if p.MaxRate > 0 {
		text = strings.TrimPrefix(text+fmt.Sprintf(", %g Hz", p.MaxRate), ", ")
	}
	if p.Quality > 0 {
		text += fmt.Sprintf(", %g dB", p.Quality)
	}
	if p.Keep.MaxAge > 0 {
		text += ", for " + spanText(p.Keep.MaxAge)
	}
	return text
}

func spanText(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.of && d%unit.of == 0 {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
