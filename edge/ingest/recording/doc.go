// Package recording reads the recordings of robots: MCAP, ROS 1 bags and rosbag2,
// whole or split, as one stream of messages in the order of their log times.
//
// [Open] tells formats apart by content. A damaged or cut recording is read as far
// as that is possible; what could not be read is told by [Reader.Loss].
//
// MCAP files and bags are read in two passes. The first walks the records from
// their lengths and finds the chunks; it needs no index, so that a file that was
// never closed reads like any other, and where a length is damaged it looks for
// the next record that makes sense. The second decompresses chunks, some ahead in
// goroutines, and merges those whose times overlap.
//
// The package knows no message definitions and no memory.
package recording
