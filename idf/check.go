package idf

import "google.golang.org/protobuf/reflect/protoreflect"

// Check scans b and returns a Corrupt error with the member's path and the offset
// if it is not the wire form of the type: bad tags, cut values, wrong wire types,
// strings that are not UTF-8, nesting beyond 100. Unknown fields pass. It does not
// allocate on success.
func (t *Type) Check(b []byte) error { panic("to be built") }

type checkPlan struct{}

func compileCheck(protoreflect.MessageDescriptor) *checkPlan { return &checkPlan{} }
