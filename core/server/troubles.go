package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/wm"
)

// trouble is something that is wrong with what was committed.
type trouble struct {
	of   []string // what tells it from others as long as it lasts
	text string   // a sentence
}

// Troubles returns what is wrong with what was committed, a sentence each: what is stamped
// ahead of the clock, and what the memories say of late.
func (s *Server) Troubles() (all []string) {
	for _, t := range troublesOf(s) {
		all = append(all, t.text)
	}
	return all
}

func troublesOf(s *Server) (all []trouble) {
	ahead := s.wm.Ahead()
	if s.ltm != nil {
		ahead = s.ltm.Ahead(s.ctx, ahead)
	}
	if len(ahead) > 0 {
		t := trouble{text: aheadText(s, ahead)}
		for i := range ahead {
			t.of = append(t.of, ahead[i].Segment.String())
		}
		all = append(all, t)
	}
	memories := s.hosted.Load()
	for _, name := range memories.names {
		if h := memories.hooks[name]; h.Troubles != nil {
			for _, text := range h.Troubles() {
				all = append(all, trouble{[]string{text}, text})
			}
		}
	}
	return all
}

// lookAhead looks for what the long-term memory has beyond the present. Who asks for the
// troubles does not wait for it.
func lookAhead(s *Server) {
	if s.ltm != nil {
		s.ltm.LookAhead(s.ctx)
	}
}

// troublesEvery is how often tellTroubles looks for new troubles.
const troublesEvery = 10 * time.Second

// tellTroubles logs the troubles that were not there the last time, until the server ends.
func tellTroubles(s *Server) {
	tick := time.NewTicker(troublesEvery)
	defer tick.Stop()
	told := map[string]bool{}
	for {
		var news []string
		now := map[string]bool{}
		for _, t := range troublesOf(s) {
			if slices.ContainsFunc(t.of, func(of string) bool { return !told[of] }) {
				news = append(news, t.text)
			}
			for _, of := range t.of {
				now[of] = true
			}
		}
		if len(news) > 0 {
			s.log.Warn("something is wrong with what was committed", "what", news)
		}
		told = now
		select {
		case <-tick.C:
			lookAhead(s)
		case <-s.ctx.Done():
			return
		}
	}
}

// aheadText says what is stamped beyond the present, and what to do. What forgets it takes
// along all that is stamped later in these segments, and nothing of others.
func aheadText(s *Server, ahead []wm.Ahead) string {
	n, last := 0, engram.MinTime
	since := map[string][]string{} // patterns, by the beginning of the time to be forgotten
	for i := range ahead {
		a := &ahead[i]
		n, last = n+a.Entities, max(last, a.Last)
		from := a.Present.Std().Truncate(time.Second).Add(time.Second).Format("2006-01-02 15:04:05")
		since[from] = append(since[from], fmt.Sprintf("%q", engram.PatternOf(a.Segment)))
	}
	of := "of 1 entity, " + ahead[0].Example.String() + ","
	if n > 1 {
		of = fmt.Sprintf("of %d entities, such as %v,", n, ahead[0].Example)
	}
	right := "they are gone when the server is started anew"
	switch {
	case s.ltm == nil && s.journal != nil:
		right = "they stay as long as the log has them"
	case s.ltm != nil:
		var commands []string
		for _, from := range slices.Sorted(maps.Keys(since)) {
			commands = append(commands, fmt.Sprintf("'engram ltm forget %s --range \"%s..\" --reason clock'", strings.Join(since[from], " "), from))
		}
		right = strings.Join(commands, " and ") + " forgets them, and whatever else is of that time there, such as a recording of it (--dry-run says how much)"
	}
	return fmt.Sprintf("there are snapshots %s stamped up to %v ahead of the clock, the last at %v: they do not count as newest where there is anything of the present. If a clock was wrong, %s; of a simulation, have the segment take any time (max ahead)",
		of, last.Sub(s.wm.Now()).Truncate(time.Second), last, right)
}
