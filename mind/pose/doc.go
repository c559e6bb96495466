// Package pose remembers where everything was: frames, the transforms between
// them over time, how uncertain those are, and what was believed about them at
// which revision.
//
// A [Store] holds frames with absolute names such as "rover1/base". An edge joins
// a frame to its one parent and is fixed (a calibration), a joint (a URDF joint
// with a history of its value), free (a history of poses) or an anchor (a world
// frame over an odometry frame, corrected at key times); see [Kind]. A [Path] between two
// frames is resolved once and then asked: [Path.At] a time, [Path.LatestCommon],
// [Path.Latest], [Path.Between] two times through a fixed frame, or [Path.Wait].
// [Path.AtCov], [Path.LatestCommonCov] and [Path.BetweenCov] answer the covariance
// as well. A question that has no answer gets a [Failure], a value that names the
// guilty edge.
//
// A transaction ([Store.Begin]) revises the past: it moves the keys of anchors and
// the calibrations of fixed edges, all of it or none, under a new [Revision].
// [Store.View] shows an earlier revision, [Store.Diff] says what moved between two,
// and [Store.Subscribe] tells a consumer, down to those of its own acquisitions
// ([Store.Acquire]) that moved.
//
// Units are metres, radians, seconds and [engram.Time]. A [Pose] named
// targetFromSource, or written target←source, maps coordinates in the source frame
// to coordinates in the target frame; it is the pose of the source frame in the
// target frame.
//
// Readers take no lock and never wait for writers. The package starts no
// goroutine, knows no memory and no transport, and imports only the root package,
// mind/pose/urdf and the standard library. docs/pose.md explains the ideas with
// drawings and lists the differences from tf2.
package pose
