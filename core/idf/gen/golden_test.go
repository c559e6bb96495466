package gen_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// compileXML returns the types of a file of core/idf/testdata/xml.
func compileXML(t *testing.T, path string) (types []*idf.Type) {
	t.Helper()
	defs, err := idf.CompileXML(idf.Source{os.DirFS("../testdata/xml"), os.DirFS("testdata")}, path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, defs)
}

// compileFolder returns the types of an XML file on disk.
func compileFolder(t *testing.T, folder, path string) []*idf.Type {
	t.Helper()
	defs, err := idf.CompileXML(idf.Source{os.DirFS(folder)}, path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, defs)
}

// payload returns a payload of a type as the filler fills it.
func payload(t *testing.T, ty *idf.Type, f filler) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(ty.Descriptor())
	f.message(m, 0)
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, ty, b)
}

func compileProto(t *testing.T, path string) []*idf.Type {
	t.Helper()
	defs, err := idf.CompileProto(idf.Source{os.DirFS("testdata")}, path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, defs)
}

func parse(t *testing.T, defs []engram.TypeDef) (types []*idf.Type) {
	t.Helper()
	for _, def := range defs {
		ty, err := idf.ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ty)
	}
	return types
}

// allTypes are the types of the memories, and those of the tests.
func allTypes(t *testing.T) (types []*idf.Type) {
	t.Helper()
	for _, name := range memories.TypeNames() {
		ty, _ := memories.Type(name)
		types = append(types, ty)
	}
	for _, file := range []string{"example/ExampleData.xml", "grasping/GraspCandidate.xml", "object/ObjectInstance.xml", "robot/Proprioception.xml", "Odd.xml"} {
		types = append(types, compileXML(t, file)...)
	}
	types = append(types, compileProto(t, "odd.proto")...)
	types = append(types, compileProto(t, "names.proto")...)
	types = append(types, castTypes(t, "lab", castTarget)...)
	return slices.DeleteFunc(types, func(ty *idf.Type) bool { return special(ty.Name()) })
}

// special reports whether a type has no class of its own.
func special(name string) bool {
	return slices.Contains([]string{
		"google.protobuf.Timestamp", "google.protobuf.Duration", "engram.idf.v1.Value", "engram.idf.v1.Link",
		"engram.idf.v1.Matrix", "engram.idf.v1.NDArray",
	}, name)
}

// TestGoldenPayloads has each language read payloads of every type and write them again:
// empty ones, ones with every member set, and random ones. What they write is equal byte
// for byte.
func TestGoldenPayloads(t *testing.T) {
	types, seed := allTypes(t), testkit.Seed(t)
	var requests []request
	for i, ty := range types {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		requests = append(requests, request{to: ty.Name()})
		for n := range testkit.Repeats(6, 100) {
			requests = append(requests, request{to: ty.Name(), b: payload(t, ty, filler{rnd: rnd, full: n == 0})})
		}
	}
	var first [][]byte
	for lang, program := range programs {
		t.Run(string(lang), func(t *testing.T) {
			answers, errs := ask(t, program(t), requests)
			for i, r := range requests {
				ty := typeNamed(types, r.to)
				if errs[i] != "" {
					t.Errorf("%s: %s", r.to, errs[i])
					continue
				}
				if want, got := decode(t, ty, r.b), decode(t, ty, answers[i]); !reflect.DeepEqual(want, got) {
					t.Fatalf("%s is not what it was:\n%v\n%v", r.to, want, got)
				}
				if first != nil && !bytes.Equal(first[i], answers[i]) {
					t.Errorf("%s is written in two ways:\n% x\n% x", r.to, first[i], answers[i])
				}
			}
			first = answers
		})
	}
}

// encode has the idf codec write what protobuf-go wrote.
func encode(t *testing.T, ty *idf.Type, b []byte) []byte {
	t.Helper()
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", ty.Name(), err)
	}
	out, err := ty.Encode(v)
	if err != nil {
		t.Fatalf("%s: %v", ty.Name(), err)
	}
	return out
}

func decode(t *testing.T, ty *idf.Type, b []byte) any {
	t.Helper()
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatalf("%s: %v\n% x", ty.Name(), err, b)
	}
	return withoutNulls(v)
}

// withoutNulls leaves out members that are a null Value, which classes take for unset.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if v[k] = withoutNulls(item); v[k] == nil {
				delete(v, k)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

func typeNamed(types []*idf.Type, name string) *idf.Type {
	return types[slices.IndexFunc(types, func(t *idf.Type) bool { return t.Name() == name })]
}
