package why

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// words splits a name as programs write it into words: "MoveTo" and "move_to" are move, to.
func words(name string) []string {
	var all []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			all = append(all, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return all
}

// spoken is a name as people say it.
func spoken(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || unicode.IsSpace(r) }), " ")
}

// Prepositions, each with the names of parameters that stand after it.
var prepositions = map[string][]string{
	"to": places, "at": places, "in": places, "into": places, "on": places, "onto": places, "from": append([]string{"from", "source"}, places...),
	"with": {"with", "tool", "hand", "arm"}, "for": {"for", "person", "whom"}, "of": {"of"}, "over": {"to", "receiver", "person"},
}

var (
	places  = []string{"location", "place", "destination", "target", "goal", "container", "surface", "room", "to", "at", "in", "into", "on"}
	objects = []string{"object", "objects", "item", "thing", "object_name", "object_id", "what", "obj"}
)

// phrase says a skill with its parameters as one says what one does: PutIn of object milk and
// location fridge is "put the milk in the fridge".
func phrase(skill string, parameters map[string]any) string {
	values := map[string]string{}
	for name, v := range parameters {
		if text := valueOf(v); text != "" {
			values[strings.ToLower(name)] = text
		}
	}
	take := func(names ...string) (string, bool) {
		for _, n := range names {
			if v, ok := values[n]; ok {
				delete(values, n)
				return v, true
			}
		}
		return "", false
	}
	var said []string
	all := words(skill)
	for i, w := range all {
		after, preposition := prepositions[w]
		last := i == len(all)-1
		switch v, ok := "", false; {
		case i == 0:
			said = append(said, w)
			if next := i + 1; last || prepositions[all[next]] != nil {
				if v, ok = take(objects...); ok {
					said = append(said, the(v))
				}
			}
		case preposition && last:
			if v, ok = take(after...); !ok {
				v, ok = only(values)
			}
			if ok {
				said = append(said, w, the(v))
			}
		case preposition:
			said = append(said, w)
		default:
			if v, ok = take(w); !ok {
				for _, name := range append(slices.Clone(objects), places...) { // "fridge door" for a door
					if full, there := values[name]; there && slices.Contains(strings.Fields(strings.ToLower(full)), w) {
						v, ok = take(name)
						break
					}
				}
			}
			switch {
			case ok:
				said = append(said, the(v))
			case slices.Contains(objects, w) || slices.Contains(places, w):
				if v, ok = take(append(slices.Clone(objects), places...)...); ok {
					said = append(said, the(v))
					continue
				}
				fallthrough
			default:
				if before := all[i-1]; i == 1 || prepositions[before] != nil {
					said = append(said, "the")
				}
				said = append(said, w)
			}
		}
	}
	return strings.Join(said, " ")
}

// only returns the value of a single parameter.
func only(values map[string]string) (string, bool) {
	if len(values) == 1 {
		for _, v := range values {
			return v, true
		}
	}
	return "", false
}

func the(name string) string {
	if strings.HasPrefix(strings.ToLower(name), "the ") {
		return name
	}
	return "the " + name
}

// valueOf returns a parameter as people say it; "" for what is no name.
func valueOf(v any) string {
	s, ok := v.(string)
	if !ok || len(s) > 100 {
		return ""
	}
	if id, err := engram.Parse(s); err == nil && id.Level() >= engram.LevelEntity {
		s = id.Entity()
	}
	return spoken(s)
}
