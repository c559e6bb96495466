package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
)

const ofOurOwn = `<AronTypeDefinition><GenerateTypes>
	<IntEnum name='lab::Color'><EnumValue key='None' value='0'/><EnumValue key='Red' value='1'/></IntEnum>
	<Object name='lab::Part'><ObjectChild key='drop_height'><Float optional='true'/></ObjectChild></Object>
	<Object name='lab::Cup'><ObjectChild key='fill_level'><Float /></ObjectChild><ObjectChild key='color'><lab::Color /></ObjectChild>
		<ObjectChild key='last_pose'><Pose /></ObjectChild><ObjectChild key='of_part'><Dict><lab::Part /></Dict></ObjectChild></Object>
</GenerateTypes></AronTypeDefinition>`

// Other libraries of protobuf read the types that a memory serves, and those that recordings have, with all they import: protoc,
// protobuf-es and that of Python see the same members by the same names in JSON as Go does.
func TestDescriptorsElsewhere(t *testing.T) {
	protoc, python, node := testkit.Program(t, "protoc"), testkit.Python(t, "import google.protobuf", "python3-protobuf"), testkit.Node(t, "../../clients/typescript", "@bufbuild/protobuf")
	s, dir := recordingServer(t), t.TempDir()
	own, err := idf.CompileXML(idf.Source{fstest.MapFS{"cup.xml": &fstest.MapFile{Data: []byte(ofOurOwn)}}}, "cup.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range own {
		if err := s.AddType(t.Context(), def); err != nil {
			t.Fatal(err)
		}
	}
	cup, err := idf.ParseType(own[slices.IndexFunc(own, func(d engram.TypeDef) bool { return d.Name == "lab.Cup" })])
	if err != nil {
		t.Fatal(err)
	}
	b, err := cup.Encode(map[string]any{"fill_level": 0.5, "color": "Red", "of_part": map[string]any{"handle": map[string]any{"drop_height": 0.25}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Cups"), Type: cup.Name()}); err != nil {
		t.Fatal(err)
	}
	testkit.Commit(t, s, engram.EntityUpdate{Entity: engram.MustID("GeneralPurpose/Cups/test/cup"), Time: engram.Now(),
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: cup.Name(), Bytes: b})}})
	robot, err := sim.New(sim.Config{Start: engram.Now().Add(-time.Minute)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := robot.RunTicks(t.Context(), s, 0, 50); err != nil {
		t.Fatal(err)
	}

	served, embedded := filepath.Join(dir, "served"), filepath.Join(dir, "embedded")
	for _, folder := range []string{served, embedded} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exported := filepath.Join(dir, "all.mcap")
	if _, err := ingest.Export(t.Context(), s, exported, ingest.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(exported)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	payloads := map[string][]byte{}
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		c := m.Channel
		if c.SchemaEncoding != "protobuf" || payloads[c.Type] != nil {
			continue
		}
		payloads[c.Type] = bytes.Clone(m.Data)
		write(filepath.Join(embedded, c.Type+".binpb"), c.Schema)
		write(filepath.Join(embedded, c.Type+".payload"), m.Data)
	}
	if len(payloads) < 10 || payloads["lab.Cup"] == nil {
		t.Fatalf("the recording has %d types", len(payloads))
	}

	names, err := s.TypeNames(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	var types []*idf.Type
	for _, name := range names {
		def, err := s.Type(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		typ, err := idf.ParseType(def)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, typ)
		path := filepath.Join(served, name+".binpb")
		write(path, def.Descriptors)
		if payloads[name] == nil {
			want[path] = nil
			continue
		}
		write(filepath.Join(served, name+".payload"), payloads[name])
		want[path] = keysOf(t, inJSON(t, typ.Descriptor(), payloads[name]))
		path = filepath.Join(embedded, name+".binpb")
		opened, err := os.ReadFile(path) // what lies in its own kind is bytes there
		if err != nil {
			t.Fatal(err)
		}
		want[path] = keysOf(t, inJSON(t, described(t, opened, name), payloads[name]))
	}

	read := func(program, where string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = where
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, said.String())
		}
		return out
	}
	folder, err := filepath.Abs("testdata/descriptors")
	if err != nil {
		t.Fatal(err)
	}
	for program, out := range map[string][]byte{
		"Python":      read(python, ".", folder+"/read.py", served, embedded),
		"protobuf-es": read(node, "../../clients/typescript", folder+"/read.cjs", served, embedded),
	} {
		var got map[string]json.RawMessage
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		for path, keys := range want {
			if have := keysOf(t, got[path]); !slices.Equal(have, keys) {
				t.Errorf("%s reads of %s\n%v, want\n%v", program, path, have, keys)
			}
		}
	}
	all, err := idf.DescriptorSet(types...)
	if err != nil {
		t.Fatal(err)
	}
	write(dir+"/all.binpb", all)
	for _, typ := range types {
		if payload := payloads[typ.Name()]; payload != nil {
			for _, set := range []string{dir + "/all.binpb", filepath.Join(embedded, typ.Name()+".binpb")} {
				cmd := exec.CommandContext(t.Context(), protoc, "--descriptor_set_in="+set, "--decode="+typ.Name(), string(typ.Descriptor().ParentFile().Path()))
				cmd.Stdin = bytes.NewReader(payload)
				if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 || bytes.Contains(out, []byte("\n1: ")) {
					t.Errorf("protoc with %s: %v\n%s", set, err, out)
				}
			}
		}
	}
}

// described returns a message of a descriptor set.
func described(t *testing.T, b []byte, name string) protoreflect.MessageDescriptor {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(b, set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MessageDescriptor)
}

// inJSON returns a payload as JSON.
func inJSON(t *testing.T, d protoreflect.MessageDescriptor, payload []byte) []byte {
	t.Helper()
	message := dynamicpb.NewMessage(d)
	if err := proto.Unmarshal(payload, message); err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keysOf returns the paths of all members of JSON, sorted.
func keysOf(t *testing.T, text []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	keys := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, member := range v {
				keys[path+"."+key] = true
				walk(path+"."+key, member)
			}
		case []any:
			for _, element := range v {
				walk(path+"[]", element)
			}
		}
	}
	walk("", v)
	return slices.Sorted(maps.Keys(keys))
}
