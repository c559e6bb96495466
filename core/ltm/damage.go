package ltm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
)

// tellProblem says what is wrong with an episode's file at the start.
func (rep *repairer) tellProblem(problem catalogue.Problem) {
	what := "an episode cannot be read; 'engram ltm repair' may save what is in it"
	switch {
	case engram.CodeOf(problem.Err) == engram.NotFound:
		what = "an episode's file is missing"
	case problem.Served:
		what = "an episode is damaged; what can be read of it is served"
	}
	rep.options.Log.Warn(what, "episode", problem.Name, "error", problem.Err)
}

// noteDamaged notes what was lost of episodes, at the start: all that those held that
// cannot be read; of those that can be read in part, what they held before, or at least one
// version of each entity where that is not known.
func (rep *repairer) noteDamaged(problems []catalogue.Problem, infos []episode.Info) {
	for _, problem := range problems {
		held := heldBy(problem.Held, rep.options.Now())
		if !problem.Served {
			rep.folder.disk.episodes.publish(func(next *version) { rep.account.lost(next, problem.Name, held) })
			continue
		}
		now := rep.folder.heldIn(problem.Name)
		if now == nil {
			continue // it is damaged more by now; readers say so
		}
		if problem.Replaced {
			now = nil
		}
		if problem.Held == nil {
			held = rep.perhapsHeld(problem.Name, infos, now)
		}
		rep.folder.disk.episodes.publish(func(next *version) { rep.account.found(next, problem.Name, held, now) })
	}
}

// perhapsHeld returns what a damaged episode may have held that holds something now: of
// each entity one version more, between its last one and the next episode, unless it is
// known that nothing was lost.
func (rep *repairer) perhapsHeld(name string, infos []episode.Info, now map[engram.ID]forgottenOf) map[engram.ID]forgottenOf {
	end := rep.options.Now()
	known := rep.folder.disk.episodes.current().damaged[name+putAside] != nil // since an earlier epoch
	for i := range infos {
		switch info := &infos[i]; {
		case info.Name == name:
			known = known || info.Damage == nil || info.Damage.Known && info.Damage.Lost == 0
		case strings.Compare(info.Name, name) > 0 && info.Snapshots > 0:
			end = min(end, info.Arrived.Start)
		}
	}
	if known {
		return nil
	}
	perhaps := map[engram.ID]forgottenOf{}
	for id, of := range now {
		of.Versions++
		of.First, of.Last = of.Last, max(of.Last+1, end)
		perhaps[id] = of
	}
	return perhaps
}

// damages says what of the disk is damaged, in words: the episodes whose damage was met,
// and those of which nothing can be read.
func (rep *repairer) damages() (list []string) {
	v := rep.folder.disk.episodes.current()
	told := map[string]bool{}
	tell := func(name, text string) {
		told[repairedName(name)] = true
		list = append(list, fmt.Sprintf("the episode %s is damaged: %s", name, text))
	}
	for name, h := range v.sealed {
		if err := h.damage.Load(); err != nil {
			tell(name, (*err).Error()+"; what can be read of it is served, 'engram ltm repair' writes it anew")
		}
	}
	if names, err := rep.folder.unreadable(); err == nil {
		for _, name := range names {
			tell(name, "nothing of it can be read; 'engram ltm repair' may save something, 'engram episode drop' lets go of it")
		}
	}
	for name, of := range v.damaged {
		if _, aside := strings.CutSuffix(name, putAside); !told[name] && !aside {
			tell(name, fmt.Sprintf("its file is missing, with what it held of %d entities; put it back, or let go of it with 'engram episode drop'", len(of)))
		}
	}
	slices.Sort(list)
	return list[:min(len(list), maxDamages)]
}

// maxDamages bounds the damaged episodes that are told of at once.
const maxDamages = 100
