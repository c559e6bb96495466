package why

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// Deed is an execution of a skill that a question may be about.
type Deed struct {
	ID         engram.ID // of the execution's entity
	Parent     engram.ID // of the execution that called it; the root if none did
	Skill      string
	Status     string
	Parameters map[string]any
	Began      engram.Time
}

// IsQuestion reports whether somebody asks why something was done or failed.
func IsQuestion(text string) bool {
	asked := tokens(text)
	if len(asked) < 2 && !strings.HasSuffix(strings.TrimSpace(text), "?") {
		return len(asked) == 1 && asked[0] == "why"
	}
	return slices.Contains(asked[:min(3, len(asked))], "why") ||
		len(asked) > 2 && slices.Contains([]string{"what was the reason", "for what reason", "how come"}, strings.Join(asked[:min(4, len(asked))], " ")) ||
		strings.HasPrefix(strings.Join(asked, " "), "how come ") || strings.HasPrefix(strings.Join(asked, " "), "for what reason ")
}

func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// About returns which of the deeds a question is about: the newest of those that have the
// most of its words, as names or values of parameters. A question without words of its own, such
// as "Why did you do that?", is about the newest; one about failing about the newest that
// failed. ok is false if it is about none of them.
func About(question string, deeds []Deed) (about Deed, ok bool) {
	var content []string
	failed := false
	for _, w := range tokens(question) {
		switch w = stem(w); {
		case w == "fail":
			failed = true
		case !slices.Contains(empty, w):
			content = append(content, w)
		}
	}
	best := 0
	for _, d := range deeds {
		if failed && len(content) == 0 && d.Status != "Failed" {
			continue
		}
		score, fits := d.fits(content)
		if fits && (!ok || score > best || score == best && d.Began >= about.Began) {
			about, best, ok = d, score, true
		}
	}
	if !ok || len(content) > 0 {
		return about, ok
	}
	// All of it was asked about, not a part.
	for range maxChain {
		i := slices.IndexFunc(deeds, func(d Deed) bool {
			return !about.Parent.IsRoot() && d.ID == about.Parent && (!failed || d.Status == "Failed")
		})
		if i < 0 {
			break
		}
		about = deeds[i]
	}
	return about, ok
}

// fits counts which of a question's words a deed has. It does not fit if none is that of what
// is done, or if the deed is known to be about something else.
func (d *Deed) fits(content []string) (score int, fits bool) {
	if len(content) == 0 {
		return 0, true
	}
	var names, values []string
	for _, w := range words(d.Skill) {
		if w = stem(w); !slices.Contains(empty, w) {
			names = append(names, w)
		}
	}
	for _, v := range d.Parameters {
		for _, w := range words(valueOf(v)) {
			values = append(values, stem(w))
		}
	}
	does, other, of := false, 0, 0
	for _, w := range content {
		switch {
		case slices.ContainsFunc(names, func(n string) bool { return same(n, w) }):
			score++
			does = does || len(names) > 0 && same(names[0], w)
		case slices.Contains(values, w):
			score++
			of++
		default:
			other++
		}
	}
	if other > 0 && of == 0 && len(values) > 0 {
		return score, false // of another thing or place
	}
	return score, does || of > 0 && score > 1
}

// empty are words, as stems, that say nothing of what was done.
var empty = func() (all []string) {
	for _, w := range strings.Fields(`why did do does you your i we it that this these those there the a an to in on at into onto from with for of by and or not was were are is be been being have has had just now then again
		what how come reason robot please me my him her them will would can could tell explain so earlier before after yesterday today`) {
		all = append(all, stem(w))
	}
	return all
}()

// groups are verbs that stand for each other in questions.
var groups = [][]string{
	strings.Fields("move go went drove drive navigate travel walk"), strings.Fields("bring brought fetch get got deliver carry"),
	strings.Fields("grasp pick picked grab take took"), strings.Fields("put place set drop"), strings.Fields("find search look explore"),
	strings.Fields("close shut"), strings.Fields("stop abort halt"), strings.Fields("say speak tell told said"),
}

// same reports whether two stems are of one verb.
func same(a, b string) bool {
	return a == b || slices.ContainsFunc(groups, func(g []string) bool {
		in := func(w string) bool { return slices.ContainsFunc(g, func(m string) bool { return stem(m) == w }) }
		return in(a) && in(b)
	})
}

// stem takes endings from a word, so that "moved" and "moving" are "mov".
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s", "e"} {
		if s, ok := strings.CutSuffix(w, end); ok && len(s) >= 3 && !strings.HasSuffix(w, "ss") {
			if n := len(s); n > 3 && s[n-1] == s[n-2] && !strings.ContainsRune("aeiouls", rune(s[n-1])) {
				s = s[:n-1] // "grabbed"
			}
			return s
		}
	}
	return w
}
