package episode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxLosses bounds the notes of loss that an episode tells apart.
const maxLosses = 100

// Losses are notes of what is not in an episode, and why. Equal ones are counted, and of
// those that come when [maxLosses] are told apart, their number and the last of them are
// told: so they take little, however much is lost. The zero Losses are none.
type Losses struct {
	texts []string // those before the ones beyond; replaced, not changed
	seen  map[string]*lossCount
	more  uint64 // beyond maxLosses …
	last  string // … of which this is the last one
}

// lossCount is how often a note came, and its place among the texts.
type lossCount struct {
	times uint64
	at    int
}

// Add adds a note. It returns how often it came by now or, of those that are not told
// apart any more, how many came.
func (l *Losses) Add(why string) (times uint64) {
	if n, last, ok := parseMore(why); ok { // of an episode that this one is made of
		l.more, l.last = l.more+n, last
		return l.more
	}
	if c := l.seen[why]; c != nil {
		c.times++
		l.texts = slices.Clone(l.texts)
		l.texts[c.at] = fmt.Sprintf("%s (%d times)", why, c.times)
		return c.times
	}
	if len(l.texts) == maxLosses {
		l.more, l.last = l.more+1, why
		return l.more
	}
	if l.seen == nil {
		l.seen = map[string]*lossCount{}
	}
	l.seen[why] = &lossCount{1, len(l.texts)}
	l.texts = append(slices.Clip(l.texts), why)
	return 1
}

// Texts returns the notes, in the order in which they came first. The slice is shared:
// not to be changed.
func (l *Losses) Texts() []string {
	if l.more == 0 {
		return l.texts
	}
	return append(slices.Clip(l.texts), fmt.Sprintf("and %d%s%s", l.more, moreLosses, l.last))
}

// moreLosses follows the number of the notes that are not told apart.
const moreLosses = " more, the last of them: "

// parseMore reads the note that tells of those that are not told apart.
func parseMore(text string) (n uint64, last string, ok bool) {
	number, last, _ := strings.Cut(text, moreLosses)
	if number, ok = strings.CutPrefix(number, "and "); !ok {
		return 0, "", false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	return n, last, err == nil && last != ""
}
