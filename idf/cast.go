package idf

// Cast returns a payload of type from as a payload of type to: members are matched
// by name, numbers converted where the value fits, the rest stays unset. A member
// of the same name and an unfit kind gives TypeMismatch with its path.
func Cast(from *Type, b []byte, to *Type) ([]byte, error) { panic("to be built") }

// Change is one difference between two payloads.
type Change struct {
	Path string
	A, B any // plain Go values; nil where the member is absent
}

// Diff lists the differences between two payloads of one type, for display.
func Diff(t *Type, a, b []byte) ([]Change, error) { panic("to be built") }
