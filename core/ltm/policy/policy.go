// Package policy says what the long-term memory keeps of a core segment, in what
// form, and for how long, and holds what follows from it for what is recorded: thinning,
// and what goes when something has to go. Package record chooses what is recorded. Two
// settings are about what else becomes of commits: Durability and Publish.
//
// It knows neither types nor codecs nor episodes, so that clients can name a policy.
// docs/ltm.md is the guide to the settings.
package policy

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// Mode says which snapshots are recorded.
type Mode string

// The modes of recording.
const (
	All    Mode = "all"    // every one, superseded versions too
	Rate   Mode = "rate"   // at most MaxRate per second and entity
	Change Mode = "change" // when it differs enough from what was recorded last
	Linked Mode = "linked" // only when something that is kept links to it
	Never  Mode = "never"
)

// The names that stand for a codec of package core/ltm/codec that fits.
const (
	CodecAuto     = names.Auto     // picked by the payloads' type, as good as Quality and MaxError ask for
	CodecLossless = names.Lossless // picked by the payloads' type, of those that lose nothing
)

// What notices of updates on the backbone can tell.
const (
	PublishIDs  = "ids"
	PublishData = "data" // the snapshots as well
)

// Policy is what the long-term memory does with a core segment. The zero Policy
// records everything and keeps it for ever.
type Policy struct {
	Record Mode // "" means All
	// MaxRate bounds the recorded snapshots per second of each entity, in every
	// mode; 0 means no bound, which mode Rate does not allow.
	MaxRate float64
	// Similar says when two snapshots are too alike to record both, in mode Change.
	Similar Similarity
	// Linking bounds what waits for a link, in mode Linked.
	Linking Linking
	// Codec is CodecAuto, CodecLossless or the name of a codec of package core/ltm/codec;
	// "" means CodecAuto.
	Codec    string
	Quality  float64 // dB, of images and video; 0 means 40
	MaxError float64 // of numbers, in their unit; 0 is lossless
	// Durability is "volatile", "logged" or "synced"; "" means that of the segment's
	// definition.
	Durability string
	Keep       Retention
	Thin       Thinning
	// Priority decides what goes first when the disk fills: lower goes first.
	Priority int
	// Recall puts each entity's last recorded state back into the working memory
	// when the server starts.
	Recall bool
	// Publish is what notices of updates on the backbone tell: PublishIDs or PublishData;
	// "" means what the server is told otherwise.
	Publish string
}

// Similarity bounds what counts as the same in mode Change. A snapshot is recorded
// if anything that is compared differs by more than its bound. Zero bounds are
// not compared, and with all of them zero any difference counts. With a bound on
// numbers, poses or texts, these are compared exactly: the payloads' types, how
// many instances and elements there are, texts, flags, and which entities links
// lead to. Times never are.
type Similarity struct {
	Numbers  float64       // the largest absolute difference of any number outside of poses
	Distance float64       // metres, of positions
	Angle    float64       // radians, of orientations
	Image    float64       // mean absolute luminance difference of 64x64 pixels, of 255
	Text     float64       // share of a text that differs, in (0, 1]; 0 compares exactly
	Exact    bool          // any difference of the bytes counts
	AtLeast  time.Duration // record one after this time even if nothing changed
}

// Linking bounds the snapshots of an entity that wait for a link to them.
type Linking struct {
	Within   time.Duration // how long after its arrival a link may come; 0 means 30 s
	MaxBytes int64         // payload bytes that wait, per entity; 0 means 16 MiB
}

// Retention bounds what is kept. Zero fields mean no bound.
type Retention struct {
	MaxAge   time.Duration // from now back
	MaxBytes int64         // of the core segment on disk
	MaxCount int           // snapshots of each entity
}

// Thinning keeps less of what is old instead of dropping it all.
type Thinning struct {
	After time.Duration // age from which it is thinned; 0 means never
	Every int           // keep every Every-th snapshot of each entity …
	// … and these: the first and the last, extremes of numbers, and what lies this
	// near to a mark.
	Around time.Duration
}

// Validate returns an OutOfRange or Invalid error that names the setting and its
// value if the policy is not one that can be followed.
func (p Policy) Validate() error {
	for i := range settings {
		if err := settings[i].check(&p); err != nil {
			return err
		}
	}
	switch {
	case p.Record == Rate && p.MaxRate == 0:
		return fail(engram.Invalid, "max_rate", "0", "record: rate needs a rate above 0, such as 5 Hz")
	case p.Thin.After > 0 && p.Thin.Every < 2:
		return fail(engram.Invalid, "thin.every", textOf(&p, "thin.every"), "thinning needs to know which to keep: 2 or more")
	case p.Thin.After == 0 && (p.Thin.Every > 1 || p.Thin.Around > 0):
		return fail(engram.Invalid, "thin.after", "0s", "thinning needs an age to begin at, such as 1d")
	}
	return nil
}

// Lossless reports whether what is recorded can be read back to the bit, as far as
// the policy says.
func (p Policy) Lossless() bool { return p.Codec == CodecLossless }

// DurabilityOr returns the policy's durability, or own if it has none.
func (p Policy) DurabilityOr(own engram.Durability) engram.Durability {
	for d := engram.Volatile; d <= engram.Synced; d++ {
		if p.Durability == d.String() {
			return d
		}
	}
	return own
}

// Mode returns which snapshots are recorded: [Policy.Record], or [All].
func (p Policy) Mode() Mode {
	if p.Record == "" {
		return All
	}
	return p.Record
}
