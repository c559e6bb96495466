package idf

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// xmlFiles returns the paths of the type files in testdata/xml.
func xmlFiles(t testing.TB) (Source, []string) {
	t.Helper()
	fsys := os.DirFS("testdata/xml")
	var paths []string
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".xml") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 5 {
		t.Fatalf("testdata/xml: %d type files, %v", len(paths), err)
	}
	return Source{fsys}, paths
}

// parseAll returns the types of definitions, by name.
func parseAll(t testing.TB, defs []engram.TypeDef) map[string]*Type {
	t.Helper()
	types := map[string]*Type{}
	for _, def := range defs {
		ty, err := ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		types[ty.Name()] = ty
	}
	return types
}

// The .proto text of each type file is that of the golden file beside it, and
// compiles to the same types.
func TestXMLGolden(t *testing.T) {
	src, paths := xmlFiles(t)
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			defs, err := CompileXML(src, path)
			if err != nil {
				t.Fatal(err)
			}
			own, err := fs.ReadFile(src[0], path)
			if err != nil {
				t.Fatal(err)
			}
			types := parseAll(t, defs)
			printsSame(t, slices.Collect(maps.Values(types))...)
			texts := map[string]string{}
			for _, def := range defs {
				if def.Format != "xml" || def.Source != string(own) {
					t.Errorf("%s does not keep its source", def.Name)
				}
				ty := types[def.Name]
				text := PrintProto(ty)
				texts[ty.Descriptor().ParentFile().Path()] = text
			}
			for name, text := range texts {
				golden := filepath.Join("testdata/xml", name)
				if *update {
					if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if text != string(want) {
					t.Errorf("%s differs from the golden file; look at the difference, then run with -update:\n%s", name, text)
				}
			}
		})
	}
}

// printsSame checks that the .proto texts of types compile to the same types. Types
// of one file are compiled together.
func printsSame(t *testing.T, types ...*Type) {
	t.Helper()
	compiled := map[string]map[string]*Type{}
	for _, ty := range types {
		path := ty.Descriptor().ParentFile().Path()
		if compiled[path] == nil {
			texts := PrintFiles(ty)
			defs, err := CompileProto(memSource(texts), path)
			if err != nil {
				t.Fatalf("%s: its .proto text: %v\n%s", ty.Name(), err, texts[path])
			}
			compiled[path] = parseAll(t, defs)
		}
		if back := compiled[path][ty.Name()]; back == nil {
			t.Errorf("%s is not in its own .proto text", ty.Name())
		} else if s := typeDiff(back, ty); s != "" {
			t.Errorf("%s differs after printing: %s", ty.Name(), s)
		}
	}
}

const xmlHead = "<AronTypeDefinition><GenerateTypes>\n"
const xmlTail = "\n</GenerateTypes></AronTypeDefinition>"

// object returns the file of one object "n::O" with one member "m".
func objectXML(typ string) string {
	return xmlHead + "<Object name='n::O'><ObjectChild key='m'>" + typ + "</ObjectChild></Object>" + xmlTail
}

// Each construct and what it is in protobuf: the fields of the object, then its
// nested messages.
func TestXMLConstructs(t *testing.T) {
	for _, c := range []struct{ typ, want string }{
		{"<Bool/>", "bool m"},
		{"<bool/>", "bool m"},
		{"<Int/>", "int32 m"},
		{"<int32/>", "int32 m"},
		{"<Long/>", "int64 m"},
		{"<int64/>", "int64 m"},
		{"<Float/>", "float m"},
		{"<float32/>", "float m"},
		{"<Double/>", "double m"},
		{"<float64/>", "double m"},
		{"<String/>", "string m"},
		{"<string></string>", "string m"},
		{"<Time/>", "google.protobuf.Timestamp m"},
		{"<Duration/>", "google.protobuf.Duration m"},
		{"<Position/>", "foxglove.Vector3 m"},
		{"<Pose/>", "foxglove.Pose m"},
		{"<Orientation/>", "foxglove.Quaternion m"},
		{"<Quaternion type='float32'/>", "foxglove.Quaternion m"},
		{"<AnyObject/>", "engram.idf.v1.Value m"},
		{"<armarx::armem::arondto::MemoryID/>", "engram.idf.v1.Link m"},
		{"<engram::Link/>", "engram.idf.v1.Link m"},
		{"<foxglove::LaserScan/>", "foxglove.LaserScan m"},
		{"<n::O/>", "n.O m"},
		{"<Image pixelType='rgb24'/>", "foxglove.RawImage m (rgb8)"},
		{"<Image pixeltype='depth32'/>", "foxglove.RawImage m (32FC1)"},
		{"<PointCloud voxelType='PointXYZHSV'/>", "foxglove.PointCloud m (PointXYZHSV)"},
		{"<NDArray ndim='2' type='uint16'/>", "engram.idf.v1.NDArray m (ndim 2, UINT16)"},
		{"<Matrix rows='2' cols='3' type='int64'/>", "engram.idf.v1.Matrix m (rows 2, cols 3, INT64)"},
		{"<Matrix rows='Dynamic' cols='-1' type='float32'/>", "engram.idf.v1.Matrix m (FLOAT32)"},
		{"<Int optional='true'/>", "optional int32 m"},
		{"<Int optional='false'/>", "int32 m"},
		{"<Int raw_ptr='true'/>", "optional int32 m"},
		{"<String shared_ptr='1'/>", "optional string m"},
		{"<Pose unique_ptr='true'/>", "foxglove.Pose m ?"},
		{"<List><Int/></List>", "repeated int32 m"},
		{"<List><Pose/></List>", "repeated foxglove.Pose m"},
		{"<List><Matrix rows='1' cols='1' type='float32'/></List>", "repeated engram.idf.v1.Matrix m (rows 1, cols 1, FLOAT32)"},
		{"<Dict><Float/></Dict>", "map<string, float> m"},
		{"<Dict><Image pixelType='rgb24'/></Dict>", "map<string, foxglove.RawImage> m (rgb8)"},
		{"<List><List><Int/></List></List>", "repeated n.O.MItemList m; MItemList list: repeated int32 items"},
		{"<List><List><List><Int/></List></List></List>",
			"repeated n.O.MItemList m; MItemItemList list: repeated int32 items; MItemList list: repeated n.O.MItemItemList items"},
		{"<List><Dict><Int/></Dict></List>", "repeated n.O.MItemDict m; MItemDict dict: map<string, int32> items"},
		{"<Dict><List><Int/></List></Dict>", "map<string, n.O.MValueList> m; MValueList list: repeated int32 items"},
		{"<Pair><Pair><Int/><Int/></Pair><Int/></Pair>", "n.O.MPair m; MItem0Pair tuple: int32 item0, int32 item1; MPair tuple: n.O.MItem0Pair item0, int32 item1"},
		{"<Dict><Dict><Pose/></Dict></Dict>", "map<string, n.O.MValueDict> m; MValueDict dict: map<string, foxglove.Pose> items"},
		{"<List optional='true'><Int/></List>", "n.O.MList m ?; MList list: repeated int32 items"},
		{"<Dict optional='true'><Int/></Dict>", "n.O.MDict m ?; MDict dict: map<string, int32> items"},
		{"<List><Int optional='true'/></List>", "repeated n.O.MItemOptional m; MItemOptional optional: optional int32 item"},
		{"<List><List optional='true'><Int/></List></List>",
			"repeated n.O.MItemOptional m; MItemList list: repeated int32 items; MItemOptional optional: n.O.MItemList item ?"},
		{"<List optional='true'><List><Int/></List></List>",
			"n.O.MList m ?; MItemList list: repeated int32 items; MList list: repeated n.O.MItemList items"},
		{"<Pair><Int/><String/></Pair>", "n.O.MPair m; MPair tuple: int32 item0, string item1"},
		{"<Tuple><Int optional='true'/></Tuple>", "n.O.MTuple m; MTuple tuple: optional int32 item0"},
		{"<Tuple><List><Int/></List><Dict><Int/></Dict></Tuple>", "n.O.MTuple m; MTuple tuple: repeated int32 item0, map<string, int32> item1"},
		{"<Tuple optional='true'><Pair><Int/><Int/></Pair></Tuple>",
			"n.O.MTuple m ?; MItem0Pair tuple: int32 item0, int32 item1; MTuple tuple: n.O.MItem0Pair item0"},
		{"<Pair><List optional='true'><Int/></List><Int/></Pair>",
			"n.O.MPair m; MItem0List list: repeated int32 items; MPair tuple: n.O.MItem0List item0 ?, int32 item1"},
	} {
		t.Run(c.typ, func(t *testing.T) {
			defs, err := CompileXML(memSource(map[string]string{"o.xml": objectXML(c.typ)}), "o.xml")
			if err != nil {
				t.Fatal(err)
			}
			ty := parseAll(t, defs)["n.O"]
			if got := describe(ty.Descriptor()); got != c.want {
				t.Errorf("is  %s\nnot %s", got, c.want)
			}
			printsSame(t, ty)
		})
	}
}

// describe writes the fields of a message and of the wrappers in it.
func describe(md protoreflect.MessageDescriptor) string {
	var fields, nested []string
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		s := fieldWords(fd) + " " + string(fd.Name())
		if fd.Message() != nil && fd.HasOptionalKeyword() {
			s += " ?"
		}
		if shape := shapeOf(fd); shape != nil {
			s += " " + shapeWords(shape)
		}
		fields = append(fields, s)
	}
	eachMessage(md.Messages(), func(m protoreflect.MessageDescriptor) {
		nested = append(nested, "; "+string(m.Name())+" "+wrapperWords(wrapperOf(m))+": "+describe(m))
	})
	slices.Sort(nested)
	return strings.Join(fields, ", ") + strings.Join(nested, "")
}

func TestXMLEnums(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"<EnumValue key='A' value='0'/><EnumValue key='B' value='1'/>", "E_A=0(A) E_B=1(B)"},
		{"<EnumValue key='b' value='-3'/><EnumValue key='a' value='0'/>", "E_a=0(a) E_b=-3(b)"},
		{"<EnumValue key='A' value='7'/>", "E_UNSPECIFIED=0(UNSPECIFIED) E_A=7(A)"},
		{"<EnumValue key='UNSPECIFIED' value='7'/>", "E_UNSPECIFIED__2=0(UNSPECIFIED_) E_UNSPECIFIED=7(UNSPECIFIED)"},
		{"<EnumValue key='A' value='1'/><EnumValue key='B' value='0'/><EnumValue key='C' value='1'/>", "E_B=0(B) E_A=1(A) E_C=1(C)"},
		{"<EnumValue key='red' value='0x10'/><EnumValue key='RED' value='0'/>", "E_RED_2=0(RED) E_red=16(red)"},
		{"<EnumValue key='1st' value='0'/>", "E_1st=0(1st)"},
	} {
		text := xmlHead + "<IntEnum name='n::E'>" + c.values + "</IntEnum><Object name='n::O'><ObjectChild key='e'><n::E/></ObjectChild></Object>" + xmlTail
		defs, err := CompileXML(memSource(map[string]string{"e.xml": text}), "e.xml")
		if err != nil {
			t.Errorf("%s: %v", c.values, err)
			continue
		}
		ty := parseAll(t, defs)["n.O"]
		values := ty.Descriptor().Fields().ByName("e").Enum().Values()
		var got []string
		for i := range values.Len() {
			v := values.Get(i)
			got = append(got, fmt.Sprintf("%s=%d(%s)", v.Name(), v.Number(), enumKey(v)))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s, want %s", c.values, strings.Join(got, " "), c.want)
		}
		printsSame(t, ty)
	}
}

func TestXMLExtends(t *testing.T) {
	src, _ := xmlFiles(t)
	defs, err := CompileXML(src, "example/ExampleData.xml")
	if err != nil {
		t.Fatal(err)
	}
	types := parseAll(t, defs)
	core, extended := types["armarx.example.ExampleData"], types["armarx.example.ExtendedData"]
	if err := extended.CheckExtends(core); err != nil {
		t.Error(err)
	}
	if got := proto.GetExtension(extended.Descriptor().Options(), idfv1.E_Extends); got != core.Name() {
		t.Errorf("extends %q", got)
	}
	n := core.Descriptor().Fields().Len()
	for i := range n {
		a, b := core.Descriptor().Fields().Get(i), extended.Descriptor().Fields().Get(i)
		if a.Number() != protoreflect.FieldNumber(i+1) || b.Number() != a.Number() || b.Name() != a.Name() {
			t.Errorf("member %d is %s = %d, in the extended type %s = %d", i, a.Name(), a.Number(), b.Name(), b.Number())
		}
	}
	if w := extended.Descriptor().Fields().ByName("the_weight"); int(w.Number()) != n+2 {
		t.Errorf("the extended type's second own member has number %d, want %d", w.Number(), n+2)
	}
	err = core.CheckExtends(extended)
	if !errors.Is(err, engram.TypeMismatch) || !strings.Contains(err.Error(), "the_extra_pairs") {
		t.Errorf("the core type extends the extended: %v", err)
	}
}

// A base type may stand after the type that extends it, or in another namespace
// before it, or in another file, and bring maps and wrappers.
func TestXMLExtendsAcross(t *testing.T) {
	const base = "<Object name='%s'><ObjectChild key='a'><Dict><List><Pose/></List></Dict></ObjectChild><ObjectChild key='b'><Int optional='1'/></ObjectChild></Object>"
	const derived = "<Object name='n::D' extends='%s'><ObjectChild key='c'><Dict><Int/></Dict></ObjectChild></Object>"
	for name, files := range map[string]map[string]string{
		"after":     {"o.xml": xmlHead + fmt.Sprintf(derived, "n::B") + fmt.Sprintf(base, "n::B") + xmlTail},
		"namespace": {"o.xml": xmlHead + fmt.Sprintf(base, "b::B") + fmt.Sprintf(derived, "b::B") + xmlTail},
		"file": {
			"b.xml": xmlHead + fmt.Sprintf(base, "n::B") + xmlTail,
			"o.xml": "<AronTypeDefinition><AronIncludes><Include include='b.xml'/></AronIncludes><GenerateTypes>" + fmt.Sprintf(derived, "n::B") + xmlTail,
		},
	} {
		t.Run(name, func(t *testing.T) {
			defs, err := CompileXML(memSource(files), "o.xml")
			if err != nil {
				t.Fatal(err)
			}
			d := parseAll(t, defs)["n.D"]
			if c := d.Descriptor().Fields().ByName("c"); c.Number() != 3 {
				t.Errorf("c has number %d", c.Number())
			}
			printsSame(t, d)
		})
	}
}

// Mutually recursive types, and namespaces that come again.
func TestXMLOrder(t *testing.T) {
	for name, body := range map[string]string{
		"each other": "<Object name='n::A'><ObjectChild key='b'><n::B/></ObjectChild></Object><Object name='n::B'><ObjectChild key='a'><List><n::A/></List></ObjectChild></Object>",
		"again": "<Object name='n::A'/><Object name='m::B'><ObjectChild key='a'><n::A/></ObjectChild></Object>" +
			"<Object name='n::C'><ObjectChild key='a'><n::A/></ObjectChild><ObjectChild key='b'><m::B/></ObjectChild></Object>",
		"without namespace":         "<Object name='A'/><Object name='B' extends='A'><ObjectChild key='a'><A/></ObjectChild></Object>",
		"namespace of another type": "<Object name='n::engram::X'><ObjectChild key='a'><Matrix rows='1' cols='1' type='float32'/></ObjectChild></Object>",
		"key of a package's name":   "<Object name='n::A'><ObjectChild key='foxglove'><Pose/></ObjectChild><ObjectChild key='engram'><Matrix rows='1' cols='1' type='int16'/></ObjectChild></Object>",
		"key of a wrapper's name":   "<Object name='n::A'><ObjectChild key='m'><List optional='true'><Int/></List></ObjectChild><ObjectChild key='MList'><Int optional='1'/></ObjectChild><ObjectChild key='_m'><Int/></ObjectChild></Object>",
	} {
		t.Run(name, func(t *testing.T) {
			defs, err := CompileXML(memSource(map[string]string{"o.xml": xmlHead + body + xmlTail}), "o.xml")
			if err != nil {
				t.Fatal(err)
			}
			printsSame(t, slices.Collect(maps.Values(parseAll(t, defs)))...)
		})
	}
}
