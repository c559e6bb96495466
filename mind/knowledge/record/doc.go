// Package record turns triples into entities of the memory Knowledge and back, imports
// documents into it and reads what holds at a time, as of a belief.
//
// A [Record] is what one provider says of one name: an ontology, a class, a property or an
// individual. [Records] spreads the triples of a document over records so that each triple is
// in one of them. A [Codec] turns records into payloads and back, exactly. [Codec.Import] commits
// what a document says now and its provider has not said before, and withdraws what it says no
// more.
//
// The package knows no transport: it writes and reads through the interfaces of the root.
package record
