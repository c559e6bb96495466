package gen_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/idf/gen"
	"github.com/seed-301d4374/engram/memories"
)

// program is a program of a language with the classes of types. It reads requests line
// by line, "TYPE HEX" or "TYPE HEX SENDER DESCRIPTORS": a payload that it reads as an
// object of a type and writes again. Its answer is the payload, or "ERR message".
type program func(t *testing.T, types []*idf.Type) *exec.Cmd

var programs = map[string]program{"go": goProgram, "python": pythonProgram, "typescript": typeScriptProgram, "cpp": cppProgram}

// request is one line.
type request struct {
	to   string
	b    []byte
	from *idf.Type // nil: it is of the type itself
}

// ask returns what a program answers to requests: payloads, or errors.
func ask(t *testing.T, cmd *exec.Cmd, requests []request) (answers [][]byte, errs []string) {
	t.Helper()
	var in bytes.Buffer
	for _, r := range requests {
		fmt.Fprintf(&in, "%s %s", r.to, hexOf(r.b))
		if r.from != nil {
			fmt.Fprintf(&in, " %s %s", r.from.Name(), hexOf(r.from.Def().Descriptors))
		}
		in.WriteByte('\n')
	}
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text, failed := strings.CutPrefix(lines.Text(), "ERR ")
		if failed {
			answers, errs = append(answers, nil), append(errs, text)
			continue
		}
		b, err := hex.DecodeString(strings.TrimPrefix(text, "-"))
		if err != nil {
			t.Fatalf("answer %q: %v", text, err)
		}
		answers, errs = append(answers, b), append(errs, "")
	}
	if len(answers) != len(requests) {
		t.Fatalf("%d answers to %d requests\n%s", len(answers), len(requests), stderr.String())
	}
	return answers, errs
}

func hexOf(b []byte) string {
	if len(b) == 0 {
		return "-"
	}
	return hex.EncodeToString(b)
}

// compileXML returns the types of a file of idf/testdata/xml.
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

// fullPayload returns a payload with every member set.
func fullPayload(t *testing.T, ty *idf.Type) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(ty.Descriptor())
	f := filler{rnd: rand.New(rand.NewPCG(1, 2)), full: true}
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
// empty ones, ones with every member set, and random ones.
func TestGoldenPayloads(t *testing.T) {
	types := allTypes(t)
	var requests []request
	for i, ty := range types {
		rnd := rand.New(rand.NewPCG(1, uint64(i)))
		requests = append(requests, request{to: ty.Name()})
		for n := range 8 {
			f := filler{rnd: rnd, full: n == 0}
			m := dynamicpb.NewMessage(ty.Descriptor())
			f.message(m, 0)
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			requests = append(requests, request{to: ty.Name(), b: encode(t, ty, b)})
		}
	}
	for lang, program := range programs {
		t.Run(lang, func(t *testing.T) {
			answers, errs := ask(t, program(t, types), requests)
			for i, r := range requests {
				ty := typeNamed(types, r.to)
				if errs[i] != "" {
					t.Errorf("%s: %s", r.to, errs[i])
					continue
				}
				if want, got := decode(t, ty, r.b), decode(t, ty, answers[i]); !reflect.DeepEqual(want, got) {
					t.Fatalf("%s is not what it was:\n%v\n%v", r.to, want, got)
				}
			}
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

// filler fills messages of any type with what is valid.
type filler struct {
	rnd  *rand.Rand
	full bool // every member is set, to something that is not zero
}

func (f *filler) number() uint64 {
	switch n := f.rnd.Uint64(); {
	case f.full:
		return n%50 + 1
	case n%4 == 0:
		return 0
	case n%4 == 1:
		return n
	default:
		return n >> 40
	}
}

func (f *filler) message(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	set := func(name string, v any) {
		m.Set(md.Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOf(v))
	}
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		set("seconds", int64(1645188992)-int64(f.rnd.IntN(2))*1645188999)
		set("nanos", int32(f.rnd.IntN(1e9)))
		return
	case "google.protobuf.Duration":
		sign := int64(f.rnd.IntN(2)*2 - 1)
		set("seconds", sign*int64(f.rnd.IntN(1000)))
		set("nanos", int32(sign)*int32(f.rnd.IntN(1e9)))
		return
	case "engram.idf.v1.Link":
		set("id", fmt.Sprintf("Object/Instance/prior/cup%d", f.number()))
		return
	case "engram.idf.v1.Matrix", "engram.idf.v1.NDArray":
		f.array(m, set)
		return
	}
	chosen := map[string]bool{}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if chosen[string(o.FullName())] || !f.full && f.rnd.IntN(o.Fields().Len()) > 0 {
				continue
			}
			if f.full && md.FullName() == "engram.idf.v1.Value" && f.rnd.IntN(3) > 0 && i < 11 {
				continue
			}
			chosen[string(o.FullName())] = true
		} else if !f.full && f.rnd.IntN(3) == 0 {
			continue
		}
		if depth > 2 && fd.Message() != nil && (!f.full || depth > 3) {
			continue
		}
		switch {
		case fd.IsList():
			for range f.rnd.IntN(3) + 1 {
				m.Mutable(fd).List().Append(f.value(fd, depth, m.NewField(fd).List().NewElement))
			}
		case fd.IsMap():
			for range f.rnd.IntN(3) + 1 {
				key := f.value(fd.MapKey(), depth, nil).MapKey()
				m.Mutable(fd).Map().Set(key, f.value(fd.MapValue(), depth, m.NewField(fd).Map().NewValue))
			}
		default:
			m.Set(fd, f.value(fd, depth, func() protoreflect.Value { return m.NewField(fd) }))
		}
	}
}

func (f *filler) array(m protoreflect.Message, set func(string, any)) {
	dtype := f.rnd.IntN(10) + 1
	size := idf.DType(dtype).Size()
	rows, cols := f.rnd.IntN(3), f.rnd.IntN(3)+1
	if m.Descriptor().Name() == "Matrix" {
		set("rows", int64(rows))
		set("cols", int64(cols))
	} else {
		shape := m.Mutable(m.Descriptor().Fields().ByName("shape")).List()
		for _, n := range []int{rows, cols} {
			shape.Append(protoreflect.ValueOfInt64(int64(n)))
		}
	}
	set("dtype", protoreflect.EnumNumber(dtype))
	data := make([]byte, rows*cols*size)
	for i := range data {
		data[i] = byte(f.rnd.IntN(60)) // no NaN
	}
	set("data", data)
}

func (f *filler) value(fd protoreflect.FieldDescriptor, depth int, make func() protoreflect.Value) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(f.full || f.rnd.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if !f.full && f.rnd.IntN(5) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(f.rnd.IntN(2000) - 1000)) // of a newer version
		}
		return protoreflect.ValueOfEnum(values.Get(f.rnd.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(f.number()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(f.number()))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(f.number()))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(f.number())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(int32(f.number())) / 8)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(int64(f.number())) / 3)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat("größe-", f.rnd.IntN(3)) + fmt.Sprint(f.number()))
	case protoreflect.BytesKind:
		b := []byte{1, 2, 3}[:f.rnd.IntN(4)]
		return protoreflect.ValueOfBytes(b)
	}
	v := make()
	f.message(v.Message(), depth+1)
	return v
}

// write writes the classes of types to a folder.
func write(t *testing.T, lang gen.Language, types []*idf.Type, folder string) {
	t.Helper()
	files, err := gen.Files(lang, types, gen.Options{Package: filepath.Base(folder)})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		writeFile(t, filepath.Join(folder, name), string(b))
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// must runs a command that has to work.
func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
