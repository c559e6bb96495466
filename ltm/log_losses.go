package ltm

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/wal"
	"github.com/seed-301d4374/engram/query"
)

// LogLoss is something that was on the disk of a memory's log and is lost: its file is
// gone, or it is damaged there.
type LogLoss struct {
	Memory string      `json:"memory"` // "" of types and segments
	File   string      `json:"file"`
	Offset int64       `json:"offset,omitempty"`
	Bytes  int64       `json:"bytes"`
	From   engram.Time `json:"from"`  // it arrived between these; 0 is not known
	Until  engram.Time `json:"until"` // both inclusive
	Found  engram.Time `json:"found"` // when it was found to be lost
	Why    string      `json:"why"`
}

// maxLogLosses bounds what is noted; of more, the oldest are let go of.
const maxLogLosses = 1000

func (l *LogLoss) String() string {
	return fmt.Sprintf("%d bytes of %s at %d are lost: %s; it arrived between %v and %v, and queries say that it is damaged", l.Bytes, l.File, l.Offset, l.Why, l.From, l.Until)
}

// span returns the times of arrival of what is lost.
func (l *LogLoss) span() engram.Interval { return engram.Interval{Start: l.From, End: l.Until + 1} }

// noteLogLosses notes what a log has lost, for queries in this epoch and later ones, and
// has health tell it in this one. What was never acknowledged as being on the disk is no
// loss. Nobody reads meanwhile.
func (a *account) noteLogLosses(losses []wal.Loss) {
	now := a.now()
	for _, l := range losses {
		switch {
		case l.File == manifestFile:
			a.files.health.set(manifestFile, engram.Errorf(engram.Corrupt, manifestFile, "%s; of a log that was cut before this start it may not have told", l.Reason))
			continue
		case l.Torn || l.Unread || l.Bytes == 0:
			continue
		case l.Copy != "":
			a.files.health.set("the log of types and segments, "+l.File, engram.Errorf(engram.Corrupt, l.File, "%d bytes at %d were damaged: %s; nothing is lost: log/%s has the same, and it was written anew from there", l.Bytes, l.Offset, l.Reason, l.Copy))
			continue
		}
		loss := LogLoss{Memory: l.Memory, File: l.File, Offset: l.Offset, Bytes: l.Bytes, From: l.From, Until: l.Until, Found: now, Why: l.Reason}
		if loss.Until < loss.From || loss.Until == 0 {
			loss.Until = now
		}
		known := slices.IndexFunc(a.logLosses, func(o LogLoss) bool { return o.File == loss.File && o.Offset == loss.Offset })
		if known >= 0 {
			loss = a.logLosses[known]
		} else {
			a.logLosses = append(a.logLosses, loss)
			a.change()
		}
		a.files.health.set("the log of "+cmp.Or(l.Memory, "types and segments")+", "+l.File, engram.Errorf(engram.Corrupt, l.File, "%v", &loss))
	}
	a.logLosses = a.logLosses[max(0, len(a.logLosses)-maxLogLosses):]
}

// LogLosses returns what logs have lost, in this epoch and earlier ones.
func (s *reader) LogLosses() []LogLoss { return slices.Clone(s.account.logLosses) }

// missLogs tells of what logs have lost of an entity's segment, if that may have been
// what was asked of it and not found.
func (x *execution) missLogs(entity engram.ID) {
	for i := range x.s.account.logLosses {
		l := &x.s.account.logLosses[i]
		if l.Memory == entity.Memory() && slices.ContainsFunc(x.found.Asked, l.concerns) {
			x.missLog(entity, i)
		}
	}
}

// missLogsBelow tells of what logs have lost if a node asks by name for something below
// that is not there: it may have been lost.
func (x *execution) missLogsBelow(id engram.ID, nodes []*query.Node) {
	if len(x.s.account.logLosses) == 0 {
		return
	}
	names := x.names(id)
	for _, n := range nodes {
		listed, _ := n.Names()
		for _, name := range listed {
			if _, there := names.Get(name); there {
				continue
			}
			for i := range x.s.account.logLosses {
				if l := &x.s.account.logLosses[i]; l.Memory == id.Memory() && n.Asks(l.concerns) {
					x.missLog(id, i)
				}
			}
		}
	}
}

// concerns reports whether something lost may be what was asked for.
func (l *LogLoss) concerns(a query.Asked) bool { return a.First <= l.Until && a.Last >= l.From }

// missLog tells of a loss, once for each core segment whose commits are logged.
func (x *execution) missLog(id engram.ID, loss int) {
	l := &x.s.account.logLosses[loss]
	told := toldLoss{id.Truncate(engram.LevelCoreSegment), loss}
	if x.told[told] || l.From > x.admit.asOf || !x.s.isLogged(x.ctx, told.segment) {
		return
	}
	if x.told == nil {
		x.told = map[toldLoss]bool{}
	}
	x.told[told] = true
	x.answer.Miss(engram.Missing{ID: told.segment, Reason: engram.MissingDamaged, Interval: l.span()})
}

// toldLoss is a loss of a log that an answer tells of a segment.
type toldLoss struct {
	segment engram.ID
	loss    int
}

// isLogged reports whether the commits of a core segment are logged.
func (s *reader) isLogged(ctx context.Context, segment engram.ID) bool {
	d, err := s.wm.Describe(ctx, engram.PatternOf(segment))
	return err == nil && len(d) > 0 && d[0].Durability != engram.Volatile
}
