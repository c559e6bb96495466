package contract

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
)

// Source is a memory server as the owner of what others hold copies of. The names of
// memories are its own, without a robot's: translating them is the holder's matter.
type Source interface {
	// Pull tells what the shares of r match, from their positions on: first what is
	// still kept, in the working memory or on disk, then what comes, without gap or
	// duplicate within a share, until ctx ends (Canceled) or the source goes away
	// (Unavailable). It reads as fast as f returns, which is called by one goroutine
	// at a time: a slow f slows only its own Pull down, and loses nothing that is
	// still kept.
	//
	// Of the shares that have something to tell, the one of the highest priority comes
	// first, and spare ones only when no other has any. A position that is not the
	// source's (its epoch is over, or its number has not been reached) is continued
	// by [Position.Arrived].
	//
	// An error of f ends the Pull and is returned. A request that makes no sense is
	// Invalid, one that goes beyond a limit Exhausted.
	Pull(ctx context.Context, r Request, f func(*Batch) error) error
}

// MaxShares bounds the shares of a request.
const MaxShares = 1024

// Request says what a holder pulls from one owner.
type Request struct {
	Holder string // the name of the server that holds the copies, for status and logs
	Shares []Share
}

// Share is one copy's part of a [Request].
type Share struct {
	Patterns []engram.Pattern // a union, by the owner's names; at least one
	After    Position         // what the holder has already
	Had      Had              // how new that is
	Rules    Rules
}

// Had is when the newest arrived of what a holder has of a share, by the owner's clock: in
// the owner's epoch that its position is of, and in those before it; 0 is nothing.
// Where the owner's clock was set back between its epochs, what is removed in one is told
// to have arrived until then; without a Had what arrived by the earlier clock stays.
type Had struct {
	Latest, Before engram.Time
}

// Took notes a batch that follows a position.
func (h *Had) Took(after Position, b *Batch) {
	if b.Position.Epoch != after.Epoch {
		h.Before, h.Latest = max(h.Before, h.Latest), 0
	}
	if b.Position.Epoch != 0 { // what rules left out may have been fetched
		h.Latest = max(h.Latest, b.Position.Arrived)
	}
	for i := range b.Items {
		h.Latest = max(h.Latest, b.Items[i].Snapshot.Arrived)
	}
}

// Position is how far a share has come in its owner's updates. The zero Position is
// before everything.
type Position struct {
	// Epoch is the owner's epoch that Number belongs to. 0 is none: of no epoch anything
	// was told, only removals, and of what was lost before the holder came so much as
	// Number says to the owner.
	Epoch  uint64
	Number uint64 // of the last update told or left out
	// Arrived is the owner's clock: everything that arrived before it was told or
	// left out, of what arrived at it some may not have been. It continues a share in
	// another epoch of its owner, whose numbers begin again: then comes, of earlier
	// epochs, everything that arrived at or after it, and everything that was committed
	// in the present one, whatever its clock said; the holder drops what it has.
	Arrived engram.Time
}

// IsZero reports whether the position is before everything.
func (p Position) IsZero() bool { return p == Position{} }

// Rules say what of a share travels. The zero Rules let everything through. What a
// rule leaves out is told as [LeftOut], but for Fields, which a holder knows itself.
type Rules struct {
	// MaxRate bounds the snapshots of each entity per second of snapshot time: one is
	// left out if it lies closer than 1/MaxRate to the last one told in the same pull, and
	// does not correct one of those told last. 0 is no bound.
	MaxRate float64
	// Fields are the members (dotted paths) that travel; the payloads hold no others.
	// None means all.
	Fields []string
	// Where is a CEL expression over an instance (see package idf); what has no
	// instance that satisfies it is left out, and of the others only such instances
	// travel. Empty means all.
	Where string
	// MaxPayload is the size in bytes above which a payload keeps its snapshot from
	// travelling: never half a snapshot. It counts before Fields. 0 is no bound.
	MaxPayload int64
	// MaxBytes bounds the payload bytes per second of wall-clock time, averaged over a
	// second; what is beyond it comes later. 0 is no bound.
	MaxBytes int64
	// Spare shares travel only while no other share has anything to tell.
	Spare bool
	// Priority orders shares: higher ones first. It counts among spare ones as well.
	Priority int
	// Since bounds how far back a pull from the zero Position reaches, in time of
	// arrival by the owner's clock. 0 is all there is.
	Since time.Duration
	// Gather is how long updates may wait for others of the share to travel with: fewer
	// bytes on the link, for time. 0 has those of fast streams wait, some hundred per
	// second, until they are worth a message, no longer than DefaultGather; NoGather has
	// none wait. Anything else holds for every steady stream; what comes alone does not
	// wait.
	Gather time.Duration
}

// Check returns an Invalid error about of, which has the rules, if a number in them is
// out of its range.
func (r *Rules) Check(of string) error {
	fail := func(format string, args ...any) error { return engram.Errorf(engram.Invalid, of, format, args...) }
	switch {
	case !(r.MaxRate >= 0 && r.MaxRate <= 1e9):
		return fail("rate=%v: it lies between 0 (no bound) and 1e9 snapshots per second", r.MaxRate)
	case r.MaxPayload < 0 || r.MaxBytes < 0:
		return fail("max-payload=%d max-bytes=%d: 0 (no bound) or more", r.MaxPayload, r.MaxBytes)
	case r.Since < 0:
		return fail("since=%v: it is negative", r.Since)
	case r.Gather < 0 || r.Gather > MaxGather:
		return fail("gather=%v: it lies between 0 and %v", r.Gather, MaxGather)
	case r.Priority < math.MinInt32 || r.Priority > math.MaxInt32:
		return fail("priority=%d is out of range", r.Priority)
	}
	return nil
}

// Bounds of [Rules].Gather.
const (
	NoGather      = time.Nanosecond
	DefaultGather = 10 * time.Millisecond
	MaxGather     = time.Second // a pull is not silent for long
)

// Batch is the next part of a pull: what became of one share. It and its slices
// are the source's again when the function that it was given to returns; snapshots,
// their payloads and type definitions never change and may be kept.
//
// Applied in the order of its fields it is right: what is removed was removed before
// the segments were as they are described, and the items written.
type Batch struct {
	Share   int // index in [Request].Shares
	Removed []Removal
	// Segments describe the segments of the items, before the first of each in this
	// pull, and again when they changed or were removed.
	Segments []Segment
	// Items are the versions told, by number, but for what the owner's disk got late.
	Items   []Version
	LeftOut []LeftOut
	// Lost is what matched and was gone before it could be told: evicted with no disk
	// that has it, forgotten, or damaged.
	Lost []engram.Missing
	// Position of the share after this batch. A batch may be empty but for it: it
	// then says that nothing matches up to there, and that nothing is to come of the
	// shares that had nothing to come when they were told of last.
	Position Position
	Behind   Behind
	// Wire is how many bytes the batch took on the link, as far as the holder's
	// transport can tell; sources leave it 0.
	Wire int64
}

// Empty reports whether the batch tells of nothing but positions.
func (b *Batch) Empty() bool {
	return len(b.Segments)+len(b.Removed)+len(b.Items)+len(b.LeftOut)+len(b.Lost) == 0
}

// BatchBytes is how many payload bytes a batch has at most, about; one version may
// be larger. BatchItems bounds its items. Both keep what is more urgent from waiting
// behind a large batch on a slow link.
const (
	BatchBytes = 64 << 10
	BatchItems = 1024
)

// Heartbeat is how often a source calls with an empty batch, of any share, at least,
// so that holders know that it is there and how far behind they are.
const Heartbeat = 2 * time.Second

// Segment describes a core segment and one of its provider segments, with the types
// that their payloads may have.
type Segment struct {
	Core     engram.CoreSegment
	Provider engram.ProviderSegment
	Types    []engram.TypeDef
}

// SegmentOf returns what descriptions tell of a provider segment, without types; false
// if it is not among them. Its type is there only if it is another one than its core
// segment's.
func SegmentOf(provider engram.ID, list []engram.Description) (s Segment, ok bool) {
	var core, own *engram.Description
	for i := range list {
		switch list[i].ID {
		case provider:
			own = &list[i]
		case provider.Parent():
			core = &list[i]
		}
	}
	if core == nil || own == nil {
		return s, false
	}
	s.Core = engram.CoreSegment{ID: core.ID, Type: core.Type, History: core.History, Durability: core.Durability, FixedProviders: core.FixedProviders}
	s.Provider.ID = own.ID
	if own.Type != core.Type {
		s.Provider.Type = own.Type
	}
	return s, true
}

// Version is one version of an entity at one time. Its snapshot is as its owner has
// it: Time, Arrived (by the owner's clock), Number (the owner's), Sent, Confidence.
// Entity, Time and Arrived tell all versions apart.
type Version struct {
	Entity   engram.ID
	Snapshot *engram.Snapshot
}

// Removal says that something is gone at its owner because somebody wanted that, not
// for its age or a bound: a segment that was removed, or what was forgotten on
// request. Carried out twice it does nothing the second time.
type Removal struct {
	// Pattern of what is gone; the pattern of a core or provider segment's ID if Segment
	// is set.
	Pattern engram.Pattern
	// Segment says that the segment itself was removed, not only what it held.
	Segment bool
	// Compared is set, beside Segment, where so much was removed since that the owner
	// does not know each removal any more: then all provider segments that the pattern
	// matches are gone but those in Besides.
	Compared bool
	Besides  []engram.ID
	// Span of the times of the snapshots that are gone, for what was forgotten;
	// engram.Always() for segments.
	Span engram.Interval
	// Except are times whose snapshots stay though they lie in Span: something keeps
	// them at the owner.
	Except []engram.Interval
	// Until is the owner's clock when that happened, or a later one by which something
	// arrived in an earlier epoch ([Had]): versions that arrived after it stay.
	Until engram.Time
}

// Covers reports whether a version is gone of what the pattern matches.
func (r *Removal) Covers(s *engram.Snapshot) bool {
	return s.Arrived <= r.Until && r.Span.Contains(s.Time) &&
		!slices.ContainsFunc(r.Except, func(iv engram.Interval) bool { return iv.Contains(s.Time) })
}

// Why a rule left something out.
const (
	LeftOutRate   = "rate"
	LeftOutFilter = "filter"
	LeftOutSize   = "size"
	LeftOutFailed = "filter failed" // evaluating the rule's where failed
)

// LeftOut tells of versions of one entity that a rule left out.
type LeftOut struct {
	Entity   engram.ID
	Reason   string // one of the LeftOut… constants
	Count    uint64
	Bytes    int64           // of their payloads
	Interval engram.Interval // of their times
}

// Behind tells what of a share matches and is still to come, when a batch was made.
// Rules are not applied yet: some of it may be left out.
type Behind struct {
	Updates uint64 // an estimate while it is read from disk, but 0 only if nothing is to come
	Bytes   int64  // payload bytes; as Updates
	// Now is the owner's clock. Now less the position's Arrived is the age of what the
	// holder has, while something is still to come.
	Now engram.Time
}
