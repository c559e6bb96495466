package idf

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestCheckExtends(t *testing.T) {
	const head = `syntax = "proto3"; package test; import "foxglove/Pose.proto"; import "foxglove/Vector3.proto";
		import "engram/idf/v1/options.proto"; import "engram/idf/v1/value.proto";
		enum E { ZERO = 0; ONE = 1; }
		enum More { MZERO = 0; }
		message In { int32 a = 1; M m = 2; }
		`
	core := compiled(t, "test.M", head+`message M {
		int32 n = 1; optional string s = 2; repeated double l = 3; map<string, foxglove.Pose> d = 4; foxglove.Vector3 p = 5;
		In in = 6; E e = 7; engram.idf.v1.Matrix x = 8 [(engram.idf.v1.shape) = { rows: 3 }]; W w = 9; oneof o { int32 o1 = 10; } }
		message W { option (engram.idf.v1.wrapper) = WRAPPER_LIST; repeated int32 items = 1; }`)
	const (
		n, s, l, d = "int32 n = 1;", "optional string s = 2;", "repeated double l = 3;", "map<string, foxglove.Pose> d = 4;"
		p, in, e   = "foxglove.Vector3 p = 5;", "In in = 6;", "E e = 7;"
		x          = "engram.idf.v1.Matrix x = 8 [(engram.idf.v1.shape) = { rows: 3 }];"
		w, o       = "W w = 9;", "oneof o { int32 o1 = 10; }"
		wrapper    = "message W { option (engram.idf.v1.wrapper) = WRAPPER_LIST; repeated int32 items = 1; }"
		all        = n + s + l + d + p + in + e + x + w + o
	)
	for name, c := range map[string]struct {
		members string // of M
		rest    string // of the file; wrapper if empty
		want    string // why M does not extend the core's; "" if it does
		same    bool   // whether it is the same type
	}{
		"same":             {all, "", "", true},
		"other order":      {o + w + x + e + in + p + d + l + s + n, "", "", true},
		"more":             {all + "bool more = 11;", "", "", false},
		"missing":          {s + l + d + p + in + e + x + w + o, "", "member n is missing", false},
		"renamed":          {"int32 m = 1;" + s + l + d + p + in + e + x + w + o, "", "member n is missing: its number 1 is that of m", false},
		"number":           {"int32 n = 11;" + s + l + d + p + in + e + x + w + o, "", "member n has number 11, not 1", false},
		"scalar":           {"int64 n = 1;" + s + l + d + p + in + e + x + w + o, "", "member n is int64, not int32", false},
		"not optional":     {n + "string s = 2;" + l + d + p + in + e + x + w + o, "", "member s is string, not optional string", false},
		"not repeated":     {n + s + "double l = 3;" + d + p + in + e + x + w + o, "", "member l is double, not repeated double", false},
		"no map":           {n + s + l + "repeated foxglove.Pose d = 4;" + p + in + e + x + w + o, "", "member d is repeated foxglove.Pose, not map<string, foxglove.Pose>", false},
		"map's key":        {n + s + l + "map<int32, foxglove.Pose> d = 4;" + p + in + e + x + w + o, "", "member d is map<int32, foxglove.Pose>", false},
		"map's value":      {n + s + l + "map<string, foxglove.Vector3> d = 4;" + p + in + e + x + w + o, "", "foxglove.Vector3, not foxglove.Pose", false},
		"known message":    {n + s + l + d + "foxglove.Pose p = 5;" + in + e + x + w + o, "", "member p is foxglove.Pose, not foxglove.Vector3", false},
		"like a known one": {n + s + l + d + "V p = 5;" + in + e + x + w + o, wrapper + "message V { double x = 1; double y = 2; double z = 3; }", "member p is test.V, not foxglove.Vector3", false},
		"message extends":  {n + s + l + d + p + "In2 in = 6;" + e + x + w + o, wrapper + "message In2 { int32 a = 1; M m = 2; string more = 3; }", "", false},
		"message differs":  {n + s + l + d + p + "In2 in = 6;" + e + x + w + o, wrapper + "message In2 { uint32 a = 1; M m = 2; }", "member in.a is uint32, not int32", false},
		"enum":             {n + s + l + d + p + in + "More e = 7;" + x + w + o, "", "member e is enum test.More, not enum test.E", false},
		"shape":            {n + s + l + d + p + in + e + "engram.idf.v1.Matrix x = 8 [(engram.idf.v1.shape) = { rows: 4 }];" + w + o, "", "member x is of shape (rows 4), not (rows 3)", false},
		"wider shape":      {n + s + l + d + p + in + e + "engram.idf.v1.Matrix x = 8;" + w + o, "", "member x is of shape (any), not (rows 3)", false},
		"narrower shape":   {n + s + l + d + p + in + e + "engram.idf.v1.Matrix x = 8 [(engram.idf.v1.shape) = { rows: 3, cols: 1 }];" + w + o, "", "", false},
		"no wrapper":       {all, "message W { repeated int32 items = 1; }", "member w is a plain message, not a list", false},
		"no oneof":         {n + s + l + d + p + in + e + x + w + "optional int32 o1 = 10;", "", "member o1 is optional int32, not int32", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.rest == "" {
				c.rest = wrapper
			}
			ty := compiled(t, "test.M", head+"message M {"+c.members+"}"+c.rest)
			err := ty.CheckExtends(core)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.Is(err, engram.TypeMismatch) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want TypeMismatch with %q", err, c.want)
			}
			if ty.Same(core) != c.same || core.Same(ty) != c.same {
				t.Errorf("Same is %v and %v, want %v", ty.Same(core), core.Same(ty), c.same)
			}
			if err := ty.CheckExtends(known(t, engram.ValueType)); err != nil {
				t.Errorf("does not extend any data: %v", err)
			}
		})
	}
}

// Enumerations may grow, and what their keys mean must stay.
func TestCheckExtendsEnums(t *testing.T) {
	const head = `syntax = "proto3"; package test; message M { E e = 1; } enum E { `
	core := compiled(t, "test.M", head+"ZERO = 0; ONE = 1; }")
	for name, c := range map[string]struct{ values, want string }{
		"same":       {"ZERO = 0; ONE = 1;", ""},
		"more":       {"ZERO = 0; ONE = 1; TWO = 2;", ""},
		"fewer":      {"ZERO = 0;", "member e has no value ONE"},
		"renumbered": {"ZERO = 0; ONE = 2;", "member e has the value ONE = 2, not 1"},
	} {
		ty := compiled(t, "test.M", head+c.values+"}")
		err := ty.CheckExtends(core)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if same := ty.Same(core); same != (name == "same") {
			t.Errorf("%s: Same is %v", name, same)
		}
	}
}

// A type of another name is not the same, whatever its members.
func TestSameNames(t *testing.T) {
	text := `syntax = "proto3"; package test; message A { int32 n = 1; A a = 2; } message B { int32 n = 1; B a = 2; }`
	a, b := compiled(t, "test.A", text), compiled(t, "test.B", text)
	if a.Same(b) {
		t.Error("test.A is the same as test.B")
	}
	if err := a.CheckExtends(b); err != nil {
		t.Errorf("equal members under another name: %v", err)
	}
}
