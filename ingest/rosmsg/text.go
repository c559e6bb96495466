package rosmsg

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var kindNames = map[Kind]string{
	Bool: "bool", Int8: "int8", Uint8: "uint8", Int16: "int16", Uint16: "uint16", Int32: "int32", Uint32: "uint32",
	Int64: "int64", Uint64: "uint64", Float32: "float32", Float64: "float64", String: "string", WString: "wstring",
	Time: "time", Duration: "duration",
}

// MD5 returns the checksum by which ROS 1 tells definitions apart.
//
// Source: genmsg, gentools.py: constants, then fields, without comments, with the checksums
// of messages in place of their names.
func MD5(d *Definition) string { return d.md5(d.Root, map[*Message]string{}) }

func (d *Definition) md5(m *Message, done map[*Message]string) string {
	if sum, ok := done[m]; ok {
		return sum
	}
	name := func(k Kind, field string) string {
		if old := m.old[field]; old != "" {
			return old
		}
		return kindNames[k]
	}
	var lines []string
	for _, c := range m.Constants {
		lines = append(lines, name(c.Kind, c.Name)+" "+c.Name+"="+c.Value)
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Type.Kind == Struct {
			lines = append(lines, d.md5(d.Messages[f.Type.Message], done)+" "+f.Name)
			continue
		}
		lines = append(lines, name(f.Type.Kind, f.Name)+arrayText(&f.Type)+" "+f.Name)
	}
	sum := md5.Sum([]byte(strings.Join(lines, "\n")))
	done[m] = hex.EncodeToString(sum[:])
	return done[m]
}

func arrayText(t *Type) string {
	switch t.Array {
	case Single:
		return ""
	case Fixed:
		return "[" + strconv.Itoa(t.Len) + "]"
	}
	return "[]"
}

// In returns the definition of the same message in a generation of ROS: the common one of
// that name if its fields are among the message's, else one that is made of it. Headers lose
// or gain their number, times are those of the generation, names are as it wants them.
func (d *Definition) In(v Version) (*Definition, error) {
	if v == d.Version {
		return d, nil
	}
	name := nameIn(d.Root.Name, v)
	var text strings.Builder
	text.WriteString(d.bodyIn(d.Root, v))
	for _, dep := range d.sortedNames() {
		if dep != d.Root.Name {
			fmt.Fprintf(&text, "%s\nMSG: %s\n%s", strings.Repeat("=", 80), dep, d.bodyIn(d.Messages[dep], v))
		}
	}
	return Parse(v, name, text.String())
}

// nameIn returns a message's name in a generation of ROS.
func nameIn(name string, v Version) string {
	if v == ROS2 && name == "tf/tfMessage" {
		return "tf2_msgs/TFMessage"
	}
	return name
}

// bodyIn returns a message's fields as a generation of ROS has them.
func (d *Definition) bodyIn(m *Message, v Version) string {
	if body, ok := commonBody(v, nameIn(m.Name, v)); ok && provides(m, v, body) {
		return body
	}
	var b strings.Builder
	for _, c := range m.Constants {
		value := c.Value
		if v == ROS2 && c.Kind == String {
			value = strconv.Quote(value)
		} else if c.Kind == String {
			value = strings.Trim(value, `"'`)
		}
		fmt.Fprintf(&b, "%s %s=%s\n", kindNames[c.Kind], c.Name, value)
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		name := kindNames[f.Type.Kind]
		switch k := f.Type.Kind; {
		case k == Struct:
			name = f.Type.Message
		case k == Time && v == ROS2:
			name = "builtin_interfaces/Time"
		case k == Duration && v == ROS2:
			name = "builtin_interfaces/Duration"
		case k == WString && v == ROS1:
			name = "string"
		}
		field := f.Name
		if v == ROS2 {
			field = strings.ToLower(field)
		}
		b.WriteString(name + arrayText(&f.Type) + " " + field + "\n")
	}
	return b.String()
}

// provides reports whether message m has the fields of a body, but for a header's number.
func provides(m *Message, v Version, body string) bool {
	p := &parser{version: v}
	want := &Message{Name: m.Name}
	for line := range strings.Lines(body) {
		if p.parseLine(want, strings.TrimSpace(line)) != nil {
			return false
		}
	}
	names := func(m *Message) (out []string) {
		for i := range m.Fields {
			if name := strings.ToLower(m.Fields[i].Name); name != "seq" {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(names(m), names(want))
}

// commonROS1 are the common messages of ROS 1 that ROS 2 has in another way than by its own
// header, times and names of types.
var commonROS1 = map[string]string{
	"std_msgs/Header": "uint32 seq\ntime stamp\nstring frame_id\n",
	"sensor_msgs/CameraInfo": "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] D\nfloat64[9] K\n" +
		"float64[9] R\nfloat64[12] P\nuint32 binning_x\nuint32 binning_y\nsensor_msgs/RegionOfInterest roi\n",
	"diagnostic_msgs/DiagnosticStatus": "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\nbyte level\nstring name\nstring message\n" +
		"string hardware_id\ndiagnostic_msgs/KeyValue[] values\n",
	"rosgraph_msgs/Log": "byte DEBUG=1\nbyte INFO=2\nbyte WARN=4\nbyte ERROR=8\nbyte FATAL=16\nstd_msgs/Header header\nbyte level\nstring name\n" +
		"string msg\nstring file\nstring function\nuint32 line\nstring[] topics\n",
}

// commonBody returns the fields of a common message in a generation of ROS.
func commonBody(v Version, name string) (string, bool) {
	if v == ROS1 {
		body, ok := commonROS1[name]
		return body, ok
	}
	return builtinBody(v, name)
}

// Common returns the definition of a common message in a generation of ROS, by its name; ok is
// false if there is none.
func Common(v Version, name string) (d *Definition, ok bool) {
	d, ok = Builtin(name)
	if body, found := commonROS1[name]; !ok && found && v == ROS1 { // ROS 2 has none of the name
		d, err := Parse(v, name, body+strings.Repeat("=", 80)+"\nMSG: std_msgs/Header\n"+commonROS1["std_msgs/Header"])
		return d, err == nil
	}
	if ok && v == ROS1 {
		var err error
		d, err = d.In(v)
		ok = err == nil
	}
	return d, ok
}

// Converter rewrites messages of one generation of ROS for the other.
type Converter struct {
	decode, encode *Plan
	from, to       Wire
	tr             Transcoder
	enc            Encoder
}

// NewConverter returns a Converter from a definition to what [Definition.In] made of it.
func NewConverter(from, to *Definition) (*Converter, error) {
	renamed := &Definition{Version: from.Version, Messages: map[string]*Message{}, Text: from.Text}
	for name, m := range from.Messages {
		target := to.Messages[name]
		if m == from.Root {
			target = to.Root
		}
		n := &Message{Name: m.Name, Fields: append([]Field(nil), m.Fields...)}
		for i := range n.Fields {
			for j := 0; target != nil && j < len(target.Fields); j++ {
				if t := &target.Fields[j]; strings.EqualFold(t.Name, n.Fields[i].Name) {
					n.Fields[i].Name = t.Name
					if a, b := n.Fields[i].Type.Kind, t.Type.Kind; a.size() == 1 && b.size() == 1 {
						n.Fields[i].Type.Kind = b // byte and char are others in each
					}
				}
			}
		}
		renamed.Messages[name] = n
		if m == from.Root {
			renamed.Root = n
		}
	}
	md, err := to.Descriptor("")
	if err != nil {
		return nil, err
	}
	c := &Converter{from: wireOf(from.Version), to: wireOf(to.Version)}
	if c.decode, err = Compile(renamed, md, Options{}); err != nil {
		return nil, err
	}
	c.encode, err = Compile(to, md, Options{})
	return c, err
}

func wireOf(v Version) Wire {
	if v == ROS1 {
		return WireROS1
	}
	return WireCDR
}

// Convert returns a message for the other generation; it is valid until the next call. The
// errors are those of [Transcoder.Transcode].
func (c *Converter) Convert(src []byte) ([]byte, error) {
	out, err := c.tr.Transcode(c.decode, c.from, src)
	if err != nil {
		return nil, err
	}
	return c.enc.Encode(c.encode, Form{Wire: c.to}, 0, out[0].Bytes)
}
