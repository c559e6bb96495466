package server

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Troubles returns what is wrong with what was committed, a sentence each: what is stamped
// ahead of the clock, and what the memories say of late.
func (s *Server) Troubles() (all []string) {
	if text := aheadText(s); text != "" {
		all = append(all, text)
	}
	for _, name := range slices.Sorted(maps.Keys(s.hooks)) {
		if h := s.hooks[name]; h.Troubles != nil {
			all = append(all, h.Troubles()...)
		}
	}
	return all
}

// troublesEvery is how often it is looked for troubles that the log does not have.
const troublesEvery = time.Minute

// tellTroubles logs the troubles when there are more than the last time, until the server
// ends.
func tellTroubles(s *Server) {
	tick := time.NewTicker(troublesEvery)
	defer tick.Stop()
	for told := 0; ; {
		all := s.Troubles()
		if len(all) > told {
			s.log.Warn("something is wrong with what was committed", "what", all)
		}
		told = len(all)
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// aheadText says what is stamped beyond the present, and what to do; "" if nothing is.
func aheadText(s *Server) string {
	a := s.wm.Ahead()
	if a.Entities == 0 {
		return ""
	}
	of := "of 1 entity, " + a.Example.String() + ","
	if a.Entities > 1 {
		of = fmt.Sprintf("of %d entities, such as %v,", a.Entities, a.Example)
	}
	right := "they are gone when the server is started anew"
	switch {
	case s.ltm == nil && s.journal != nil:
		right = "they stay as long as the log has them"
	case s.ltm != nil:
		since := engram.TimeOf(a.Since.Std().Truncate(time.Second).Add(time.Second))
		right = fmt.Sprintf("'engram ltm forget \"*\" --range \"%s..\" --reason clock' forgets them, of all entities", since.Std().Format("2006-01-02 15:04:05"))
	}
	return fmt.Sprintf("there are snapshots %s stamped up to %v ahead of the clock, the last at %v: they do not count as newest where there is anything of the present. If a clock was wrong, %s; of a simulation, have the segment take any time (max ahead)",
		of, a.Last.Sub(s.wm.Now()).Truncate(time.Second), a.Last, right)
}
