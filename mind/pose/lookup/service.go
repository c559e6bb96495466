// Package lookup is what a [pose.Store] offers to programs that do not hold it: an
// interface of plain questions and answers, and [Local], which answers them from a
// store in the same process.
//
// The memory RobotState keeps a store and serves it this way; package edge/transport/rpc
// carries the interface over a network. This package knows neither.
package lookup

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Service answers questions about poses and takes revisions. Safe for concurrent
// use.
//
// A frame's name may be given without its robot, such as "map" for "rover1/map",
// where that is clear: if no frame has the bare name, it is that of the robot of the
// other frame in the question, or of the only robot that has such a frame.
type Service interface {
	// LookUp answers each question at the same index. An answer that cannot be given
	// has its own error; the call's is for what concerns all of them.
	LookUp(ctx context.Context, questions []Question) ([]Answer, error)
	// Acquire answers where a sensor is at a time and remembers that somebody relies on
	// it; see [pose.Store.Acquire]. It is NotFound for a sensor without a base: one
	// above which there is neither a fixed edge nor a joint. A sensor is acquired once
	// at a time: a second acquisition is the first, answered anew.
	Acquire(ctx context.Context, a Acquire) (pose.Acquisition, error)
	// Release forgets an acquisition, for all who rely on it.
	Release(ctx context.Context, id pose.AcquisitionID) error
	// CommitRevision makes all of a transaction current under the next revision, or
	// nothing of it.
	CommitRevision(ctx context.Context, tx Transaction) (pose.Revision, error)
	// Revisions tells the store's life and the revisions that can be asked for,
	// oldest first.
	Revisions(ctx context.Context) (Revisions, error)
	// Diff lists when the pose of source in target differs between two revisions.
	Diff(ctx context.Context, target, source string, a, b pose.Revision, th pose.Threshold) ([]pose.Change, error)
	// Tree describes all edges, as of a revision unless that is nil.
	Tree(ctx context.Context, asOf *pose.Revision) ([]pose.EdgeInfo, error)
	// Path describes the edges between two frames at t.
	Path(ctx context.Context, target, source string, t engram.Time) ([]pose.EdgeInfo, error)
	// LeftOut tells what was committed about frames and is not among the poses,
	// sorted by entity.
	LeftOut(ctx context.Context) ([]LeftOut, error)
	// Watch reports what moved since the revision from, or from the current one on
	// if that is nil. ctx bounds only the call.
	Watch(ctx context.Context, ask pose.Changes, from *pose.Revision) (Stream, error)
}

// When says at which time a question is asked.
type When uint8

// The times of a question.
const (
	At           When = iota // Question.Time
	LatestCommon             // the newest time for which every edge has samples
	Between                  // the target at Time and the source at SourceTime
)

// Question asks for the pose of Source in Target.
type Question struct {
	Target, Source string
	When           When
	Time           engram.Time // with At; of the target with Between
	SourceTime     engram.Time // with Between
	Fixed          string      // with Between: the frame that did not move meanwhile
	// Wait lets a question with At wait until Time is known.
	Wait bool
	// Cov asks for the covariance as well.
	Cov bool
	// AsOf asks for what was believed in a revision; nil is the current one.
	AsOf *pose.Revision
}

// Answer is the pose target ← source.
type Answer struct {
	Target, Source string // their full names
	Pose           pose.Pose
	Cov            pose.Cov // unknown if it was not asked for
	Info           pose.Info
	Err            error
}

// Acquire asks for an acquisition.
type Acquire struct {
	Sensor string
	Time   engram.Time
	Wait   bool      // wait until Time is known
	Data   engram.ID // what the sensor acquired; the root if it is not said
}

// Revisions tells which revisions there are.
type Revisions struct {
	// Life identifies the store: one that was built anew from its memory has
	// another, and its revisions have other numbers.
	Life uint64
	List []pose.RevisionInfo
}

// Transaction is a revision of the past: corrections and calibrations.
type Transaction struct {
	Author       string
	Keys         []Key
	Replaced     []Replaced
	Calibrations []Calibration
}

// Key is a correction of the anchor edge Parent → Child at a time. If there is no
// such edge it is made.
type Key struct {
	Parent, Child string
	// Body says that Child is a frame somewhere below the anchor of Parent, and Pose
	// where that is in Parent; see [pose.Tx.Localize].
	Body bool
	Time engram.Time
	Pose pose.Pose // Parent ← Child
	Cov  pose.Cov
}

// Replaced is a span in which the anchor's present keys are removed.
type Replaced struct {
	Parent, Child string
	engram.Interval
}

// Calibration is a fixed edge's pose during a span.
type Calibration struct {
	Parent, Child string
	Valid         engram.Interval
	Pose          pose.Pose
	Cov           pose.Cov
}

// Event tells what moved between two revisions; see [pose.Event].
type Event struct {
	From, To pose.Revision
	Changes  []pose.Change
	Moved    []pose.Moved
}

// Stream delivers events. One Next should run at a time.
type Stream interface {
	// Next waits for the next event. Calling it says that the event before was dealt
	// with: movements are measured from there.
	Next(ctx context.Context) (Event, error)
	// Position returns the revision to resume from: that of the last event that was
	// dealt with.
	Position() pose.Revision
	// Close ends the stream.
	Close() error
}
