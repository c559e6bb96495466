// Package ingest brings recordings into a memory.
//
// [Import] reads a recording (package recording), finds for each message the rule
// of the [Mapping] that fits, rewrites the message as a payload of the target's
// type (package rosmsg for ROS) and commits it: provider = the recording's name,
// entity = the topic or what the rule says, time = the header's stamp or else the
// log time, sent = the log time. A message that no special rule takes arrives in
// GeneralPurpose as its own type, with named, typed members; one that cannot be
// understood arrives there as a dict that holds its bytes.
//
// A [Report] tells what became of each topic, and what of a damaged recording was
// lost. docs/ingest.md describes the mapping file.
//
// [Export] is the way out: it writes what a memory holds into a recording that stands
// alone, in the layout of episodes, and [ImportEpisode] makes the same memory of it.
//
// The package talks to memories through the domain interfaces only.
package ingest
