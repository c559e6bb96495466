// Package policy says what the long-term memory keeps of a core segment, in what
// form, and for how long, and holds the filters that decide it.
//
// It knows snapshots and types; it knows no files.
package policy

import (
	"time"
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

// Policy is what the long-term memory does with a core segment.
type Policy struct {
	Record Mode
	// MaxRate bounds the recorded snapshots per second of each entity, in every
	// mode; 0 means no bound.
	MaxRate float64
	// Similar says when two snapshots are too alike to record both, in mode Change.
	Similar Similarity
	// Codec names a codec of package ltm/codec; "" or "auto" picks one by the type.
	Codec    string
	Quality  float64 // dB, of images and video; 0 means 40
	MaxError float64 // of numbers, in their unit; 0 is lossless
	Keep     Retention
	Thin     Thinning
	// Priority decides what goes first when the disk fills: lower goes first.
	Priority int
	// Recall puts each entity's last recorded state back into the working memory
	// when the server starts.
	Recall bool
}

// Similarity bounds what counts as the same. Zero fields are not compared.
type Similarity struct {
	Numbers  float64       // the largest absolute difference of any number
	Distance float64       // metres, of positions
	Angle    float64       // radians, of orientations
	Image    float64       // mean absolute luminance difference of 64x64 pixels, of 255
	Exact    bool          // the same bytes
	AtLeast  time.Duration // record one after this time even if nothing changed
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
