// Package semmap takes the world model as triples, and triples as parts of the
// world model: semantic maps as KnowRob and RoboEarth write them.
//
// [Triples] says what is known of one item under KnowRob's and RoboEarth's
// names, and where they have none under those of a small ontology of ours,
// engram.ttl ([Ontology]). [Write] makes a semantic map of a part of the world,
// and [Read] makes items, joints and maps of one: a map that was written and is
// read again gives the same.
//
// # Names
//
// An item has an IRI, and an IRI that is one of an item has its name: [Names]
// keeps both ways. An item of this world is
// https://engram.dev/world#NAME, of a robot with a name
// https://engram.dev/world/ROBOT#NAME; characters other than letters, digits, "-", ".",
// "_" and "~" are percent-encoded. What belongs to it, or is no item, has "@" in its name, such as
// #perception@NAME. An item that was imported keeps its IRI in the
// property [PropertyIRI] of its description, so that it has it again when it is
// exported. Its name is what comes after the last "#" or "/" of the IRI, "bed1".
// If that name is taken, that of the document comes first,
// "ias_hospital_room_octomap.Room7635", and a number last. No two IRIs have one
// name, but for those of things that are the same, and no two names one IRI. What
// has a name keeps it, whatever is imported later.
//
// # Poses
//
// A bounding box is depthOfObject along x, widthOfObject along y and
// heightOfObject along z of the item, in metres, and KnowRob's poses are of its
// centre. Each pose is an event (SemanticMapPerception, or another perception)
// with objectActedOn, eventOccursAt and startTime; the newest counts. A matrix is
// in the frame of the map, unless relativeTo names another one.
//
// Nothing here reads or writes a memory, or has a clock.
package semmap
