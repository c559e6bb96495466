package rosmsg

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	idfv1 "github.com/seed-301d4374/engram/gen/engram/idf/v1"
)

const separator = "================================================================================\n"

func TestParseROS1(t *testing.T) {
	text := `# A comment
Header header   # with one behind
uint8 OK=0
uint8 WARN = 1 # careful
string GREETING= say "#hi" # all of it
time[] stamps
duration d
char c
byte b
Point32[3] corners
other/Thing thing
` + separator + `MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
` + separator + `MSG: pkg/Point32
float32 x
` + separator + `MSG: other/Thing
int64 n
`
	d, err := Parse(ROS1, "pkg/Status", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{
		{Name: "header", Type: Type{Kind: Struct, Message: "std_msgs/Header"}},
		{Name: "stamps", Type: Type{Kind: Time, Array: Unbounded}},
		{Name: "d", Type: Type{Kind: Duration}},
		{Name: "c", Type: Type{Kind: Uint8}},
		{Name: "b", Type: Type{Kind: Int8}},
		{Name: "corners", Type: Type{Kind: Struct, Message: "pkg/Point32", Array: Fixed, Len: 3}},
		{Name: "thing", Type: Type{Kind: Struct, Message: "other/Thing"}},
	}
	if !reflect.DeepEqual(d.Root.Fields, want) {
		t.Errorf("fields\n%v\nwant\n%v", d.Root.Fields, want)
	}
	constants := []Constant{{"OK", Uint8, "0"}, {"WARN", Uint8, "1"}, {"GREETING", String, `say "#hi" # all of it`}}
	if !reflect.DeepEqual(d.Root.Constants, constants) {
		t.Errorf("constants %q", d.Root.Constants)
	}
	if d.Text != text {
		t.Error("the text was not kept")
	}
}

func TestParseROS2(t *testing.T) {
	d, err := Parse(ROS2, "pkg/msg/Thing", `builtin_interfaces/Time stamp
builtin_interfaces/msg/Duration[<=2] waits
std_msgs/Header header
string<=10 name "a # b" # shown
wstring<=5[] wide
string[<=4] few
int32[] values [1, 2]
byte b
float64 x 1.5
int32 X=-5
string S='it # is'
Empty e
`+separator+"MSG: pkg/Empty\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Field{
		{Name: "stamp", Type: Type{Kind: Time}},
		{Name: "waits", Type: Type{Kind: Duration, Array: Bounded, Len: 2}},
		{Name: "header", Type: Type{Kind: Struct, Message: "std_msgs/Header"}}, // built in
		{Name: "name", Type: Type{Kind: String, MaxChars: 10}, Default: `"a # b"`},
		{Name: "wide", Type: Type{Kind: WString, MaxChars: 5, Array: Unbounded}},
		{Name: "few", Type: Type{Kind: String, Array: Bounded, Len: 4}},
		{Name: "values", Type: Type{Kind: Int32, Array: Unbounded}, Default: "[1, 2]"},
		{Name: "b", Type: Type{Kind: Uint8}},
		{Name: "x", Type: Type{Kind: Float64}, Default: "1.5"},
		{Name: "e", Type: Type{Kind: Struct, Message: "pkg/Empty"}},
	}
	if !reflect.DeepEqual(d.Root.Fields, want) {
		t.Errorf("fields\n%v\nwant\n%v", d.Root.Fields, want)
	}
	if c := d.Root.Constants; !reflect.DeepEqual(c, []Constant{{"X", Int32, "-5"}, {"S", String, "'it # is'"}}) {
		t.Errorf("constants %q", c)
	}
}

func TestParseErrors(t *testing.T) {
	deep := "M1 m\n"
	for i := 1; i < 100; i++ {
		deep += fmt.Sprintf("%sMSG: p/M%d\nM%d m\n", separator, i, i+1)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"p/A", "int32", "line 1: expected a field name"},
		{"p/A", "int32 ok\nint32 1x", "line 2: expected a field name"},
		{"p/A", "int32[ x", "no closing bracket"},
		{"p/A", "int32[-1] x", "not an array length"},
		{"p/A", "int32[99999999999] x", "not an array length"},
		{"p/A", "int32<=5 x", "only strings have a bound"},
		{"p/A", "B b", "which is not defined"},
		{"p/A", "A a", "contains itself"},
		{"p/A", "B b\n" + separator + "MSG: p/B\nA a", "contains itself"},
		{"p/A", "int32 a\n" + separator + "B b", "expected \"MSG: pkg/Name\""},
		{"p/A", "B X=5", "only numbers and strings"},
		{"p/A", "X x\n" + separator + "MSG: q/X\nint8 a\n" + separator + "MSG: r/X\nint8 a", "may be q/X or r/X"},
		{"p/A", deep, "deeper than"},
		{"a b", "", "not a message name"},
		{"", "", "not a message name"},
		{"p/" + strings.Repeat("x", 600), "", "bytes long"},
		{"p/A", strings.Repeat("int8 x\n", maxFields+1), "more than"},
		{"p/A", strings.Repeat(" ", maxText+1), "at most"},
	} {
		_, err := Parse(ROS1, tt.name, tt.text)
		if !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.20q, %.40q): %v, want Invalid with %q", tt.name, tt.text, err, tt.want)
		}
	}
}

func TestDescriptor(t *testing.T) {
	d, err := Parse(ROS1, "pkg/Odd", `uint8 UP=1
uint8 TOP=1
int32 FAR=0x10
uint32 mode=7
float64 PI=3.14
uint8 mode
uint8[] raw
uint8[4] four
int8[] cells
time when
int32 a_b
int32 aB
`)
	if err != nil {
		t.Fatal(err)
	}
	md, err := d.Descriptor("_1234abcd")
	if err != nil {
		t.Fatal(err)
	}
	if md.FullName() != "ros1.pkg.Odd_1234abcd" {
		t.Errorf("name %s", md.FullName())
	}
	for _, tt := range []struct {
		name   string
		number protoreflect.FieldNumber
		kind   protoreflect.Kind
		list   bool
	}{
		{"mode", 1, protoreflect.Uint32Kind, false},
		{"raw", 2, protoreflect.BytesKind, false},
		{"four", 3, protoreflect.BytesKind, false},
		{"cells", 4, protoreflect.Sint32Kind, true},
		{"when", 5, protoreflect.MessageKind, false},
		{"a_b", 6, protoreflect.Sint32Kind, false},
		{"aB_2", 7, protoreflect.Sint32Kind, false},
	} {
		fd := md.Fields().ByName(protoreflect.Name(tt.name))
		if fd == nil || fd.Number() != tt.number || fd.Kind() != tt.kind || fd.IsList() != tt.list {
			t.Errorf("%s: got %v", tt.name, fd)
		}
	}
	values := md.Enums().ByName("Constant").Values()
	if values.Get(0).Number() != 0 || values.ByName("UP").Number() != 1 || values.ByName("TOP").Number() != 1 || values.ByName("FAR").Number() != 16 {
		t.Errorf("constants %v", values)
	}
	renamed := values.ByName("mode_CONSTANT")
	if renamed == nil || proto.GetExtension(renamed.Options(), idfv1.E_Key) != "mode" {
		t.Errorf("the constant that shares a field's name: %v", renamed)
	}
}

func TestProtoNamesKeepVersionsApart(t *testing.T) {
	for _, tt := range []struct {
		v          Version
		name, want string
	}{
		{ROS1, "sensor_msgs/Imu", "ros1.sensor_msgs.Imu"},
		{ROS2, "sensor_msgs/Imu", "ros2.sensor_msgs.Imu"},
		{ROS2, "sensor_msgs/msg/Imu", "ros2.sensor_msgs.Imu"},
		{ROS2, "pkg/srv/Do_Request", "ros2.pkg.srv.Do_Request"},
	} {
		if got := ProtoName(tt.v, tt.name); got != tt.want {
			t.Errorf("ProtoName(%d, %s) = %s, want %s", tt.v, tt.name, got, tt.want)
		}
	}
}

// TestBuiltins compiles every built-in definition.
func TestBuiltins(t *testing.T) {
	if len(builtinIndex()) < 100 {
		t.Fatalf("only %d built-in definitions", len(builtinIndex()))
	}
	for name := range builtinIndex() {
		d, ok := Builtin(name)
		if !ok {
			t.Errorf("%s does not parse", name)
			continue
		}
		md, err := d.Descriptor("")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if md.Enums().Len() == 0 && len(d.Root.Constants) > 0 && d.Root.Constants[len(d.Root.Constants)-1].Kind.integer() {
			t.Errorf("%s lost its constants", name)
		}
		if _, err := Compile(d, md, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	d, _ := Builtin("sensor_msgs/JointState")
	md, err := d.Descriptor("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    Options
		code engram.Code
	}{
		{Options{Members: []Member{{From: "nowhere", To: "name"}}}, engram.Invalid},
		{Options{Members: []Member{{From: "position", To: "nowhere"}}}, engram.TypeMismatch},
		{Options{Members: []Member{{From: "position", To: "name"}}}, engram.TypeMismatch},
		{Options{Split: "header"}, engram.Invalid},
		{Options{Split: "nowhere"}, engram.Invalid},
		{Options{Taps: []string{"position"}}, engram.Invalid},
	} {
		if _, err := Compile(d, md, tt.o); engram.CodeOf(err) != tt.code {
			t.Errorf("%+v: %v, want %v", tt.o, err, tt.code)
		}
	}
	empty, err := Parse(ROS1, "p/A", "E[] e\n"+separator+"MSG: p/E\n")
	if err != nil {
		t.Fatal(err)
	}
	md, err = empty.Descriptor("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(empty, md, Options{}); !errors.Is(err, engram.Unsupported) {
		t.Errorf("an array that costs without bytes: %v, want unsupported", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("p/A", "int32 x\nB[<=3] b\n"+separator+"MSG: p/B\nuint8 OK=0\nstring<=3 s \"x\"\n", true)
	f.Add("std_msgs/String", "string data", false)
	f.Add("p/A", "A1[67108864] a\n"+separator+"MSG: p/A1\nA2[67108864] a\n"+separator+"MSG: p/A2\nint8 a", false)
	f.Add("p/A", "float64 K\nfloat64 k\nint32 K=3", true)
	f.Fuzz(func(t *testing.T, name, text string, ros2 bool) {
		v := ROS1
		if ros2 {
			v = ROS2
		}
		d, err := Parse(v, name, text)
		if err != nil {
			if !errors.Is(err, engram.Invalid) {
				t.Fatal(err)
			}
			return
		}
		md, err := d.Descriptor("")
		if err != nil {
			if !errors.Is(err, engram.Invalid) {
				t.Fatal(err)
			}
			return
		}
		if _, err := Compile(d, md, Options{}); err != nil && !errors.Is(err, engram.Unsupported) {
			t.Fatal(err)
		}
		p, err := Compile(d, md, Options{})
		if err == nil {
			var tr Transcoder
			tr.Transcode(p, WireROS1, []byte(text)) //nolint:errcheck // must only not crash
		}
	})
}

// A message that is defined several times is one where the fields are the same; where they differ, nothing
// tells by which ones the messages were written.
func TestMessagesDefinedTwice(t *testing.T) {
	const text = "Point a\n===\nMSG: lab/Point\nfloat64 x\nfloat64 y 1.5 # a default\n===\nMSG: lab/Point\n# the same\n%s\n"
	for fields, want := range map[string]string{
		"float64 x\nint32 K=7\nfloat64 y":                        "",
		"float64 x\nfloat64 y\n===\nMSG: lab/A\nlab/msg/Point a": "",
		"float64 x\nfloat64 y\n===\nMSG: lab/A\nother/Point a":   "with other fields",
		"float64 y\nfloat64 x":                                   "lab/Point is defined for the second time, with other fields",
		"float64 x\nfloat32 y":                                   "line 7: ",
		"float64 x\nfloat64 y\nfloat64 z":                        "with other fields",
		"float64 x\nfloat64 y\n===\nMSG: lab/A\nPoint a":         "",
		"float64 x\nfloat64 y\n===\nMSG: lab/A\nPoint b":         "with other fields",
	} {
		d, err := Parse(ROS2, "lab/msg/A", strings.Replace(text, "%s", fields, 1))
		if want == "" && (err != nil || len(d.Messages["lab/Point"].Fields) != 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", fields, err, want)
		}
	}
}
