package gen_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/idf/gen"
)

var languages = []gen.Language{gen.Go, gen.Python}

// compileText returns the types of the text of a .proto file.
func compileText(t *testing.T, path, text string) []*idf.Type {
	t.Helper()
	defs, err := idf.CompileProto(idf.Source{fstest.MapFS{path: {Data: []byte(text)}}}, path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, defs)
}

// Equal types give equal files, in whatever order and how often they are given.
func TestFilesAreEqual(t *testing.T) {
	types := allTypes(t)
	other := slices.Clone(types)
	slices.Reverse(other)
	other = append(other, types[:3]...)
	for _, lang := range languages {
		a, err := gen.Files(lang, types, gen.Options{Package: "robot"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := gen.Files(lang, other, gen.Options{Package: "robot"})
		if err != nil || !maps.EqualFunc(a, b, bytes.Equal) {
			t.Errorf("%s: the files differ: %v", lang, err)
		}
	}
}

func TestGoPackageNames(t *testing.T) {
	types := cups(t)
	for name, want := range map[string]string{"my-cups_2": "mycups2", "2cups": "types2cups", "Map": "typesmap", "größe": "gre", "": "types"} {
		files, err := gen.Files(gen.Go, types, gen.Options{Package: name})
		if err != nil || !strings.Contains(string(files["lab.go"]), "\npackage "+want+"\n") {
			t.Errorf("%q: %v\n%.100s", name, err, files["lab.go"])
		}
	}
}

// Namespaces whose files would have one name, or one that Go leaves out, have files of their own.
func TestFileNames(t *testing.T) {
	var types []*idf.Type
	for i, name := range []string{"a.b", "a_b", "_c", "robot.linux", "robot.test", "types", "__init__"} {
		types = append(types, compileText(t, fmt.Sprintf("f%d.proto", i), fmt.Sprintf(`syntax = "proto3"; package %s; message M%d {}`, name, i))...)
	}
	types = append(types, compileText(t, "none.proto", `syntax = "proto3"; message M {}`)...)
	for lang, want := range map[gen.Language][]string{
		gen.Go:     {"a_b.go", "a_b_.go", "c.go", "init.go", "messages.go", "robot_linux_.go", "robot_test_.go", "types.binpb", "types.go", "types_.go"},
		gen.Python: {"__init__.py", "__init___.py", "_c.py", "a_b.py", "a_b_.py", "messages.py", "py.typed", "robot_linux.py", "robot_test.py", "types.py"},
	} {
		files, err := gen.Files(lang, types, gen.Options{Package: "cups"})
		if got := slices.Sorted(maps.Keys(files)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", lang, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	group := compileText(t, "group.proto", `syntax = "proto2"; package lab; message Old { optional group Part = 1 { optional int32 a = 1; } }`)
	tuples := "message T16 { int32 a = 1; }\n"
	for i := range 16 {
		tuples += fmt.Sprintf("message T%d { option (engram.idf.v1.wrapper) = WRAPPER_TUPLE; T%d a = 1; T%d b = 2; }\n", i, i+1, i+1)
	}
	bomb := compileText(t, "bomb.proto", `syntax = "proto3"; package lab; import "engram/idf/v1/options.proto"; message Bomb { T0 t = 1; } `+tuples)
	pose, _ := idf.NewRegistry().Get("foxglove.Pose")
	var many []*idf.Type
	for i := range 1030 {
		many = append(many, compileText(t, fmt.Sprintf("f%d.proto", i), fmt.Sprintf(`syntax = "proto3"; package lab; message M%d {}`, i))...)
	}
	twice := append(compileText(t, "cup.proto", `syntax = "proto3"; package a; message Cup { int32 a = 1; }`), compileText(t, "cup.proto", `syntax = "proto3"; package b; message Cup {}`)...)
	for name, c := range map[string]struct {
		lang  gen.Language
		types []*idf.Type
		says  string
	}{
		"a language":                  {"cobol", cups(t), "go and python"},
		"a group":                     {gen.Python, group[:1], "lab.Old.part"},
		"tuples of tuples":            {gen.Python, bomb, "is made of over 1000"},
		"no types":                    {gen.Go, nil, "nothing to write"},
		"a class of the library":      {gen.Python, []*idf.Type{pose}, "foxglove.Pose: there is nothing to write"},
		"more files than a type has":  {gen.Go, many, "write them in parts"},
		"two definitions of one path": {gen.Go, twice, "cup.proto"},
	} {
		if _, err := gen.Files(c.lang, c.types, gen.Options{Package: "cups"}); !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
