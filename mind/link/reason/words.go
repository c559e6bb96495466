package reason

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// words are a sentence as it grows.
type words struct {
	b     strings.Builder
	links []engram.ID
}

// add adds words.
func (w *words) add(format string, args ...any) { fmt.Fprintf(&w.b, format, args...) }

// rests notes what the words rest on.
func (w *words) rests(on ...*thing) {
	for _, t := range on {
		if t != nil && !slices.Contains(w.links, t.id) {
			w.links = append(w.links, t.id)
		}
	}
}

// at returns a time of day, with the date if that is another one than was told last.
func (s *story) at(t engram.Time) string {
	const date, tenths = len("2006-01-02 "), len("2006-01-02 15:04:05.0")
	text := strings.TrimSuffix(t.String()[:tenths], ".0")
	if text[:date] == s.date {
		return text[date:]
	}
	s.date = text[:date]
	return text
}

// name returns what a thing is called: an execution by its skill, with what that was called with; all else by its entity.
func (t *thing) name() string {
	if t.id.Level() < engram.LevelEntity {
		return t.id.String()
	}
	if t.typ != execution {
		if label := t.text("name"); label != "" && t.typ == activity {
			return label
		}
		return t.id.Entity()
	}
	name := cmp.Or(t.linked("skill"), t.id.Entity())
	parameters, _ := t.value["parameters"].(map[string]any)
	var all []string
	for key, v := range parameters {
		switch v := v.(type) {
		case string, bool, int64, float64:
			all = append(all, fmt.Sprintf("%s: %v", key, v))
		case engram.ID:
			all = append(all, fmt.Sprintf("%s: %s", key, cmp.Or(v.Entity(), v.Name())))
		}
	}
	if slices.Sort(all); len(all) > 0 && len(all) <= mostNamed {
		return name + " (" + strings.Join(all, ", ") + ")"
	}
	return name
}

// kind returns what a thing is, in words, such as ImageRGB head_camera.
func (t *thing) kind() string {
	if t.id.Level() < engram.LevelEntity {
		return t.id.String()
	}
	return t.id.CoreSegment() + " " + t.id.Entity()
}

// number returns a member that is a number.
func (t *thing) number(member string) (v float64, ok bool) {
	v, ok = t.value[member].(float64)
	return v, ok
}

// key returns a member that is a value of an enumeration.
func (t *thing) key(member string) string {
	e, _ := t.value[member].(idf.Enum)
	return e.Key
}
