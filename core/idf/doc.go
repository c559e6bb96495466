// Package idf is the Interpretable Data Format: the types of payloads and what
// can be done with payloads by knowing their type.
//
// A [Type] is a protobuf message descriptor with the plans that are compiled from
// it once. It is written as ArmarX XML ([CompileXML]) or as .proto
// ([CompileProto]), or made from another system's definition ([TypeOf]). A
// [Registry] knows types by name; every registry knows the variant Value, the
// special types of IDF, the Foxglove schemas and protobuf's well-known types.
//
// With a type, encoded bytes can be checked ([Type.Check]), shown and read as
// JSON ([Type.JSON], [Type.FromJSON]), decoded to plain Go values and encoded from
// them ([Type.Decode], [Type.Encode]), walked without decoding ([Type.Walk]), cut
// down to some members ([Type.Project]), cast to another type ([Cast]) and
// filtered ([Filter]).
//
// The package knows no memory and no transport; it imports the root package, the
// generated special types and protobuf.
package idf
