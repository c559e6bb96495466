package rosmsg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// writer serialises values as ROS does; it is the test's own, written from the
// formats and not from the transcoder.
type writer struct {
	b    []byte
	cdr  bool
	big  bool
	wide wideForm
}

func newWriter(cdr, big bool) *writer {
	w := &writer{cdr: cdr, big: big}
	if cdr {
		w.b = []byte{0, 1, 0, 0}
		if big {
			w.b[1] = 0
		}
	}
	return w
}

func (w *writer) num(size int, v uint64) {
	for w.cdr && (len(w.b)-4)%size != 0 {
		w.b = append(w.b, 0xEE) // padding may hold anything
	}
	var tmp [8]byte
	binary.LittleEndian.PutUint64(tmp[:], v)
	for i := range size {
		if w.big {
			w.b = append(w.b, tmp[size-1-i])
		} else {
			w.b = append(w.b, tmp[i])
		}
	}
}

func (w *writer) str(s string) {
	n := len(s)
	if w.cdr {
		n++
	}
	w.num(4, uint64(n))
	w.b = append(w.b, s...)
	if w.cdr {
		w.b = append(w.b, 0)
	}
}

func (w *writer) wstr(s string) {
	units := utf16.Encode([]rune(s))
	if w.wide == wideBytes {
		w.num(4, uint64(2*len(units)))
	} else {
		w.num(4, uint64(len(units)))
	}
	for _, u := range units {
		if w.wide == wideBytes {
			w.num(2, uint64(u))
		} else {
			w.num(4, uint64(u))
		}
	}
}

// value draws a random value of field f, writes it with every writer and sets it
// in msg.
func drawField(t *rapid.T, d *Definition, ws []*writer, f *Field, msg protoreflect.Message, fd protoreflect.FieldDescriptor) {
	n := 1
	switch f.Type.Array {
	case Fixed:
		n = f.Type.Len
	case Bounded, Unbounded:
		n = rapid.IntRange(0, 40).Draw(t, "n")
		if f.Type.Array == Bounded {
			n = min(n, f.Type.Len)
		}
		for _, w := range ws {
			w.num(4, uint64(n))
		}
	}
	var octets []byte
	for range n {
		v := drawOne(t, d, ws, f, msg, fd)
		switch {
		case fd.Kind() == protoreflect.BytesKind:
			octets = append(octets, byte(v.Uint()))
		case fd.IsList():
			msg.Mutable(fd).List().Append(v)
		default:
			msg.Set(fd, v) // which a zero number leaves unset, but not -0
		}
	}
	if len(octets) > 0 {
		msg.Set(fd, protoreflect.ValueOfBytes(octets))
	}
}

func drawOne(t *rapid.T, d *Definition, ws []*writer, f *Field, msg protoreflect.Message, fd protoreflect.FieldDescriptor) protoreflect.Value {
	num := func(size int, v uint64) {
		for _, w := range ws {
			w.num(size, v)
		}
	}
	sub := func() protoreflect.Message {
		if fd.IsList() {
			return msg.Mutable(fd).List().NewElement().Message()
		}
		return msg.NewField(fd).Message()
	}
	switch k := f.Type.Kind; k {
	case Bool:
		v := rapid.Bool().Draw(t, "v")
		if v {
			num(1, 1)
		} else {
			num(1, 0)
		}
		return protoreflect.ValueOfBool(v)
	case Int8, Int16, Int32:
		v := rapid.Int32().Draw(t, "v") >> (32 - 8*k.size())
		num(k.size(), uint64(v))
		return protoreflect.ValueOfInt32(v)
	case Uint8, Uint16, Uint32:
		v := rapid.Uint32().Draw(t, "v") >> (32 - 8*k.size())
		num(k.size(), uint64(v))
		return protoreflect.ValueOfUint32(v)
	case Int64:
		v := rapid.Int64().Draw(t, "v")
		num(8, uint64(v))
		return protoreflect.ValueOfInt64(v)
	case Uint64:
		v := rapid.Uint64().Draw(t, "v")
		num(8, v)
		return protoreflect.ValueOfUint64(v)
	case Float32:
		v := rapid.Float32().Draw(t, "v")
		num(4, uint64(math.Float32bits(v)))
		return protoreflect.ValueOfFloat32(v)
	case Float64:
		v := rapid.Float64().Draw(t, "v")
		num(8, math.Float64bits(v))
		return protoreflect.ValueOfFloat64(v)
	case String:
		v := rapid.StringN(0, 20, -1).Draw(t, "v")
		v = strings.TrimRight(v, "\x00")
		for _, w := range ws {
			w.str(v)
		}
		return protoreflect.ValueOfString(v)
	case Time, Duration:
		sec := rapid.Int32Range(-5, math.MaxInt32).Draw(t, "sec")
		nsec := rapid.Int32Range(0, 999999999).Draw(t, "nsec")
		if k == Time && d.Version == ROS1 {
			sec = max(sec, 0)
		}
		num(4, uint64(uint32(sec)))
		num(4, uint64(uint32(nsec)))
		s, n := int64(sec), nsec
		if k == Duration && s < 0 && n > 0 {
			s, n = s+1, n-1e9 // protobuf wants one sign
		}
		m := sub()
		if s != 0 {
			m.Set(m.Descriptor().Fields().ByNumber(1), protoreflect.ValueOfInt64(s))
		}
		if n != 0 {
			m.Set(m.Descriptor().Fields().ByNumber(2), protoreflect.ValueOfInt32(n))
		}
		return protoreflect.ValueOfMessage(m)
	case Struct:
		m := sub()
		drawMessage(t, d, ws, d.Messages[f.Type.Message], m)
		return protoreflect.ValueOfMessage(m)
	}
	panic("no such kind")
}

func drawMessage(t *rapid.T, d *Definition, ws []*writer, m *Message, msg protoreflect.Message) {
	for i := range m.Fields {
		drawField(t, d, ws, &m.Fields[i], msg, msg.Descriptor().Fields().Get(i))
	}
	if len(m.Fields) == 0 {
		for _, w := range ws {
			if w.cdr {
				w.num(1, 0)
			}
		}
	}
}

var drawnTypes = []string{
	"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "string", "Inner", "Deep",
}

// TestTranscodeMirrors draws definitions and values and compares what comes out
// with the values that went in, for both ROS 1 and CDR in either endianness.
func TestTranscodeMirrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom([]Version{ROS1, ROS2}).Draw(t, "version")
		times := []string{"time", "duration"}
		if v == ROS2 {
			times = []string{"builtin_interfaces/Time", "builtin_interfaces/msg/Duration"}
		}
		fields := func(types []string) string {
			var b strings.Builder
			for i := range rapid.IntRange(1, 6).Draw(t, "fields") {
				typ := rapid.SampledFrom(types).Draw(t, "type")
				switch rapid.IntRange(0, 5).Draw(t, "array") {
				case 0:
					typ += "[]"
				case 1:
					typ += fmt.Sprintf("[%d]", rapid.IntRange(1, 5).Draw(t, "len"))
				case 2:
					if v == ROS2 {
						typ += "[<=7]"
					}
				}
				fmt.Fprintf(&b, "%s f%d\n", typ, i)
			}
			return b.String()
		}
		plain := append(times, drawnTypes[:12]...)
		sep := strings.Repeat("=", 80)
		text := fields(append(times, drawnTypes...)) + sep + "\nMSG: my_msgs/Inner\n" + fields(plain) +
			sep + "\nMSG: my_msgs/Deep\n" + fields(append(plain, "Inner"))
		d, err := Parse(v, "my_msgs/Outer", text)
		if err != nil {
			t.Fatalf("Parse: %v\n%s", err, text)
		}
		md, err := d.Descriptor("")
		if err != nil {
			t.Fatalf("Descriptor: %v\n%s", err, text)
		}
		plan, err := Compile(d, md, Options{})
		if err != nil {
			t.Fatalf("Compile: %v\n%s", err, text)
		}
		ws, wire := []*writer{newWriter(false, false)}, WireROS1
		if v == ROS2 {
			ws, wire = []*writer{newWriter(true, false), newWriter(true, true)}, WireCDR
		}
		want := dynamicpb.NewMessage(md)
		drawMessage(t, d, ws, d.Root, want)
		wantBytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var tr Transcoder
		for _, w := range ws {
			out, err := tr.Transcode(plan, wire, w.b)
			if err != nil {
				t.Fatalf("Transcode (big %v): %v\n%s", w.big, err, text)
			}
			if !bytes.Equal(out[0].Bytes, wantBytes) {
				t.Fatalf("big %v: got %x\nwant %x\n%s", w.big, out[0].Bytes, wantBytes, text)
			}
			cut := rapid.IntRange(0, len(w.b)).Draw(t, "cut")
			if out, err := tr.Transcode(plan, wire, w.b[:cut]); cut+8 <= len(w.b) && err == nil {
				t.Fatalf("a message cut to %d of %d bytes gave %x", cut, len(w.b), out[0].Bytes)
			} else if err != nil && !errors.Is(err, engram.Corrupt) {
				t.Fatalf("cut message: %v", err)
			}
		}
	})
}

func compile(t *testing.T, name string, target protoreflect.MessageDescriptor, o Options) *Plan {
	t.Helper()
	d, ok := Builtin(name)
	if !ok {
		t.Fatalf("no built-in definition of %s", name)
	}
	if target == nil {
		var err error
		if target, err = d.Descriptor(""); err != nil {
			t.Fatal(err)
		}
	}
	p, err := Compile(d, target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *writer) header(sec, nsec uint64, frame string) {
	w.num(4, sec)
	w.num(4, nsec)
	w.str(frame)
}

func TestTranscodeRenamesAndTaps(t *testing.T) {
	w := newWriter(true, false)
	w.header(1700000000, 5, "camera")
	w.num(4, 2)  // height
	w.num(4, 3)  // width
	w.num(4, 2)  // fields
	w.str("x")   // name
	w.num(4, 8)  // offset
	w.num(1, 7)  // FLOAT32
	w.num(4, 1)  // count
	w.str("i")   // name
	w.num(4, 12) // offset
	w.num(1, 1)  // INT8
	w.num(4, 1)  // count
	w.num(1, 0)  // is_bigendian
	w.num(4, 16) // point_step
	w.num(4, 48) // row_step
	w.num(4, 3)  // data
	w.b = append(w.b, 9, 8, 7)
	w.num(1, 1) // is_dense

	p := compile(t, "sensor_msgs/msg/PointCloud2", (&foxglove.PointCloud{}).ProtoReflect().Descriptor(), Options{
		Members: []Member{
			{From: "point_step", To: "point_stride"},
			{From: "fields.datatype", To: "fields.type", Values: []uint32{0, 2, 1, 4, 3, 6, 5, 7, 8}},
			{From: "row_step", To: "nowhere", Optional: true},
		},
		Taps: []string{"header.frame_id", "row_step"},
	})
	var tr Transcoder
	out, err := tr.Transcode(p, WireCDR, w.b)
	if err != nil {
		t.Fatal(err)
	}
	var got foxglove.PointCloud
	if err := proto.Unmarshal(out[0].Bytes, &got); err != nil {
		t.Fatal(err)
	}
	if got.FrameId != "camera" || got.Timestamp.Seconds != 1700000000 || got.Timestamp.Nanos != 5 || got.PointStride != 16 ||
		!bytes.Equal(got.Data, []byte{9, 8, 7}) || len(got.Fields) != 2 ||
		got.Fields[0].Name != "x" || got.Fields[0].Offset != 8 || got.Fields[0].Type != foxglove.PackedElementField_FLOAT32 ||
		got.Fields[1].Type != foxglove.PackedElementField_INT8 {
		t.Errorf("got %v", &got)
	}
	if !out[0].HasStamp || out[0].Stamp != 1700000000*1e9+5 {
		t.Errorf("stamp %v, %v", out[0].Stamp, out[0].HasStamp)
	}
	if string(out[0].Taps[0].Text) != "camera" || out[0].Taps[1].Num != 48 {
		t.Errorf("taps %v", out[0].Taps)
	}
}

func TestTranscodeSplits(t *testing.T) {
	w := newWriter(true, true)
	w.num(4, 2)
	for i := range uint64(2) {
		w.header(i, 0, "odom")
		w.str(fmt.Sprint("link", i))
		for j := range uint64(7) {
			w.num(8, math.Float64bits(float64(10*i+j)))
		}
	}
	p := compile(t, "tf2_msgs/msg/TFMessage", (&foxglove.FrameTransform{}).ProtoReflect().Descriptor(), Options{
		Members: []Member{
			{From: "header.frame_id", To: "parent_frame_id"},
			{From: "transform.translation", To: "translation"},
			{From: "transform.rotation", To: "rotation"},
		},
		Split: "transforms",
		Taps:  []string{"child_frame_id"},
	})
	var tr Transcoder
	out, err := tr.Transcode(p, WireCDR, w.b)
	if err != nil || len(out) != 2 {
		t.Fatalf("%d outputs, %v", len(out), err)
	}
	for i := range out {
		var got foxglove.FrameTransform
		if err := proto.Unmarshal(out[i].Bytes, &got); err != nil {
			t.Fatal(err)
		}
		base := float64(10 * i)
		if got.ParentFrameId != "odom" || got.ChildFrameId != fmt.Sprint("link", i) || got.Translation.Z != base+2 || got.Rotation.W != base+6 {
			t.Errorf("%d: got %v", i, &got)
		}
		if string(out[i].Taps[0].Text) != got.ChildFrameId {
			t.Errorf("%d: tap %q", i, out[i].Taps[0].Text)
		}
		if out[i].HasStamp != (i > 0) || out[i].Stamp != engram.Time(int64(i)*int64(time.Second)) {
			t.Errorf("%d: stamp %v, %v; a zero stamp counts as none", i, out[i].Stamp, out[i].HasStamp)
		}
	}
}

func TestTranscodeWideStrings(t *testing.T) {
	d, err := Parse(ROS2, "my_msgs/Wide", "wstring a\nint32 n\nwstring<=20[] more\n")
	if err != nil {
		t.Fatal(err)
	}
	md, err := d.Descriptor("")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(d, md, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []wideForm{wideCount, wideBytes} {
		w := newWriter(true, false)
		w.wide = form
		w.wstr("Grüße 🤖")
		w.num(4, 42)
		w.num(4, 2)
		w.wstr("")
		w.wstr("ok")
		var tr Transcoder
		out, err := tr.Transcode(p, WireCDR, w.b)
		if err != nil {
			t.Fatalf("form %d: %v", form, err)
		}
		m := dynamicpb.NewMessage(md)
		if err := proto.Unmarshal(out[0].Bytes, m); err != nil {
			t.Fatal(err)
		}
		f := md.Fields()
		more := m.Get(f.ByName("more")).List()
		if m.Get(f.ByName("a")).String() != "Grüße 🤖" || m.Get(f.ByName("n")).Int() != 42 || more.Len() != 2 || more.Get(1).String() != "ok" {
			t.Errorf("form %d: got %v", form, m)
		}
	}
}

func TestTranscodeRefuses(t *testing.T) {
	str := compile(t, "std_msgs/msg/String", nil, Options{})
	arr := compile(t, "tf2_msgs/msg/TFMessage", nil, Options{})
	nums := compile(t, "std_msgs/msg/Float64MultiArray", nil, Options{})
	for _, tt := range []struct {
		name string
		plan *Plan
		src  []byte
		code engram.Code
		text string
	}{
		{"empty", str, nil, engram.Corrupt, "too short"},
		{"header only", str, []byte{0, 1, 0, 0}, engram.Corrupt, "cut short"},
		{"wild string", str, []byte{0, 1, 0, 0, 255, 255, 255, 255, 'a'}, engram.Corrupt, "longer than the rest"},
		{"wild array", arr, []byte{0, 1, 0, 0, 255, 255, 255, 255}, engram.Corrupt, "longer than the rest"},
		{"wild numbers", nums, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 127}, engram.Corrupt, "longer than the rest"},
		{"leftover", str, append([]byte{0, 1, 0, 0, 1, 0, 0, 0, 0}, make([]byte, 8)...), engram.Corrupt, "goes on after"},
		{"parameter list", str, []byte{0, 3, 0, 0, 1, 0, 0, 0, 0}, engram.Unsupported, "PL_CDR"},
		{"XCDR2", str, []byte{0, 7, 0, 0, 1, 0, 0, 0, 0}, engram.Unsupported, "version 2"},
		{"unknown", str, []byte{7, 7, 0, 0, 1, 0, 0, 0, 0}, engram.Corrupt, "0x0707"},
	} {
		var tr Transcoder
		_, err := tr.Transcode(tt.plan, WireCDR, tt.src)
		if engram.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.text) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.code, tt.text)
		}
	}
}

func TestTranscodeMendsStrings(t *testing.T) {
	w := newWriter(true, false)
	w.str("a\xffb")
	var tr Transcoder
	out, err := tr.Transcode(compile(t, "std_msgs/msg/String", nil, Options{}), WireCDR, w.b)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x0a\x05a\uFFFDb"; string(out[0].Bytes) != want {
		t.Errorf("got %q, want %q", out[0].Bytes, want)
	}
}

func TestTranscodeDoesNotAllocate(t *testing.T) {
	w := newWriter(true, false)
	w.header(1, 2, "odom")
	w.str("base")
	for range 7 {
		w.num(8, 1)
	}
	for range 36 {
		w.num(8, 2)
	}
	for range 6 + 36 {
		w.num(8, 3)
	}
	p := compile(t, "nav_msgs/msg/Odometry", nil, Options{})
	var tr Transcoder
	if n := testing.AllocsPerRun(100, func() {
		if _, err := tr.Transcode(p, WireCDR, w.b); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per message", n)
	}
}

func FuzzTranscode(f *testing.F) {
	w := newWriter(true, false)
	w.num(4, 1)
	w.header(5, 0, "a")
	w.str("b")
	for range 7 {
		w.num(8, 1)
	}
	f.Add("tf2_msgs/TFMessage", w.b)
	f.Add("std_msgs/String", []byte{0, 1, 0, 0, 2, 0, 0, 0, 'a', 0})
	f.Add("test_msgs/Arrays", make([]byte, 700))
	f.Add("test_msgs/UnboundedSequences", bytes.Repeat([]byte{0, 1, 0, 0}, 100))
	f.Fuzz(func(t *testing.T, name string, src []byte) {
		d, ok := Builtin(name)
		if !ok {
			return
		}
		md, err := d.Descriptor("")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(d, md, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, wire := range []Wire{WireROS1, WireCDR} {
			var tr Transcoder
			out, err := tr.Transcode(p, wire, src)
			if err != nil {
				if c := engram.CodeOf(err); c != engram.Corrupt && c != engram.Unsupported {
					t.Fatalf("code %v: %v", c, err)
				}
				continue
			}
			if len(out[0].Bytes) > 64*len(src)+1024 {
				t.Fatalf("%d bytes became %d", len(src), len(out[0].Bytes))
			}
			if err := proto.Unmarshal(out[0].Bytes, dynamicpb.NewMessage(md)); err != nil {
				t.Fatalf("%x became %x: %v", src, out[0].Bytes, err)
			}
		}
	})
}
