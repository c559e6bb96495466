package wm

import (
	"fmt"

	"github.com/seed-301d4374/engram"
)

// wanted is what the patterns of a subscription select: each is kept once, and of those that
// list one name at each level only the text.
type wanted struct {
	exact map[string]struct{} // texts of IDs
	other []*engram.PatternMatcher
	size  int64 // bytes that it takes, about
}

// exactBytes is what an exact pattern takes beside its text, about.
const exactBytes = 64

func newWanted(patterns []engram.Pattern) (w wanted, err error) {
	w.exact = make(map[string]struct{})
	if len(patterns) == 0 {
		patterns = []engram.Pattern{{}}
	}
	seen := make(map[string]struct{})
	for _, p := range patterns {
		// Not its text: names that no entity can have do not show there.
		key := fmt.Sprintf("%q", p.Levels)
		if _, ok := seen[key]; ok {
			continue
		}
		seen[key] = struct{}{}
		m, err := p.Matcher()
		if err != nil {
			return wanted{}, err
		}
		if id, ok := m.Exact(); ok {
			text := id.String()
			w.exact[text] = struct{}{}
			w.size += exactBytes + int64(len(text))
			continue
		}
		w.other = append(w.other, m)
		w.size += int64(m.Size())
	}
	return w, nil
}

// match reports whether an entity is wanted.
func (w *wanted) match(entity engram.ID) bool {
	if len(w.exact) > 0 {
		var room [256]byte
		for level := engram.LevelRoot; level <= engram.LevelEntity; level++ {
			if _, ok := w.exact[string(entity.Truncate(level).Append(room[:0]))]; ok {
				return true
			}
		}
	}
	for _, m := range w.other {
		if m.Match(entity) {
			return true
		}
	}
	return false
}

// What a subscription asks for takes, in bytes, about.
const (
	filterBytes = 128 // for each byte of the filter's text, at most
	fieldBytes  = 512 // a field, beside its text
	freeBytes   = 16 << 10
)

// asks returns how many bytes count of what the subscription asks for: those beyond what
// each may have.
func (s *subscription) asks(sub *engram.Subscription) int64 {
	n := s.wanted.size + filterBytes*int64(len(sub.Where))
	for _, f := range sub.Fields {
		n += fieldBytes + int64(len(f))
	}
	return max(0, n-freeBytes)
}

// checkRoomLocked returns an Exhausted error if there is no room for what the subscription
// asks for.
func (w *writer) checkRoomLocked(s *subscription) error {
	f := &w.mu.feed
	if s.asked == 0 || f.asked+s.asked <= w.limits.MaxAskedBytes {
		return nil
	}
	return engram.Errorf(engram.Exhausted, "subscription", "its patterns, filter and fields take about %d KiB more than each may have, and those of the %d open subscriptions %d KiB; all may take %d KiB together; end others, or ask for less: a segment or a regex instead of many names, a shorter filter",
		s.asked>>10, len(f.subscriptions), f.asked>>10, w.limits.MaxAskedBytes>>10)
}
