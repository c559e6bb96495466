package ltm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/query"
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

// unknownLoss is something lost of which nobody knows what it is.
type unknownLoss struct {
	memory  string          // whose it is …
	logged  bool            // … and only what was logged; else of any memory
	open    bool            // and nothing that was logged: of an episode that is not sealed the log has that
	arrived engram.Interval // in this span
}

// unknown returns what is lost of which nobody knows what it is: what logs have lost, and
// what episodes hold that cannot be read.
func (x *execution) unknown() []unknownLoss {
	if x.unknownLosses == nil {
		x.unknownLosses = []unknownLoss{}
		for i := range x.s.account.logLosses {
			l := &x.s.account.logLosses[i]
			x.unknownLosses = append(x.unknownLosses, unknownLoss{memory: l.Memory, logged: true, arrived: l.span()})
		}
		for _, name := range slices.Sorted(maps.Keys(x.version.unread)) {
			x.unknownLosses = append(x.unknownLosses, x.version.unread[name])
		}
	}
	return x.unknownLosses
}

// concerns reports whether something lost may be what was asked for.
func (l *unknownLoss) concerns(a query.Asked) bool {
	return a.First < l.arrived.End && a.Last >= l.arrived.Start
}

func (l *unknownLoss) isOf(memory string) bool { return !l.logged || l.memory == memory }

// missUnknown tells of what is lost and nobody knows what it is, if that may have been what
// was asked of an entity and not found.
func (x *execution) missUnknown(entity engram.ID) {
	for i := range x.unknown() {
		l := &x.unknown()[i]
		if l.isOf(entity.Memory()) && slices.ContainsFunc(x.found.Asked, l.concerns) {
			x.missLoss(entity, i)
		}
	}
}

// missUnknownBelow tells of it if a node asks by name for something below that is not
// there: it may have been lost.
func (x *execution) missUnknownBelow(id engram.ID, nodes []*query.Node) {
	if len(x.unknown()) == 0 {
		return
	}
	names := x.names(id)
	for _, n := range nodes {
		listed, _ := n.Names()
		for _, name := range listed {
			if _, there := names.Get(name); there {
				continue
			}
			for i := range x.unknown() {
				if l := &x.unknown()[i]; l.isOf(id.Memory()) && n.Asks(l.concerns) {
					x.missLoss(id, i)
				}
			}
		}
	}
}

// missLoss tells of a loss, once for each core segment, if that is one whose commits are
// logged or others may have been lost.
func (x *execution) missLoss(id engram.ID, loss int) {
	l := &x.unknown()[loss]
	told := toldLoss{id.Truncate(engram.LevelCoreSegment), loss}
	if x.told[told] || l.arrived.Start > x.admit.asOf || (l.logged || l.open) && x.s.isLogged(x.ctx, told.segment) != l.logged {
		return
	}
	x.tell(told, engram.Missing{ID: told.segment, Reason: engram.MissingDamaged, Interval: l.arrived})
}

// tell tells of something lost, once.
func (x *execution) tell(told toldLoss, m engram.Missing) {
	if x.told == nil {
		x.told = map[toldLoss]bool{}
	}
	x.told[told] = true
	x.answer.Miss(m)
}

// toldLoss is a loss that an answer tells of a segment.
type toldLoss struct {
	segment engram.ID
	loss    int // of execution.unknown; -1 is what was lost on its way to the disk
}

// isLogged reports whether the commits of a core segment are logged.
func (s *reader) isLogged(ctx context.Context, segment engram.ID) bool {
	d, err := s.wm.Describe(ctx, engram.PatternOf(segment))
	return err == nil && len(d) > 0 && d[0].Durability != engram.Volatile
}
