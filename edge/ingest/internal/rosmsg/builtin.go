package rosmsg

import (
	_ "embed"
	"strings"
	"sync"
)

// Recordings of ROS 2 before Iron name their types and leave the definitions out.
// builtin/ros2.txt holds those of the common interface packages: names, types and
// order of the members, which are what the serialisation needs. Members whose
// default value was never recorded have none here.
//
//go:embed builtin/ros2.txt
var builtinROS2 string

var builtinIndex = sync.OnceValue(func() map[string]string {
	index := map[string]string{}
	for part := range strings.SplitSeq("\n"+builtinROS2, "\nMSG: ") {
		if name, body, ok := strings.Cut(part, "\n"); ok {
			index[name] = body + "\n"
		} else if part != "" {
			index[part] = ""
		}
	}
	return index
})

// builtinBody returns the fields of a built-in message. ROS 1 recordings always
// carry their definitions, except for the Header that some writers leave out.
func builtinBody(v Version, name string) (string, bool) {
	if v == ROS1 {
		return "uint32 seq\ntime stamp\nstring frame_id\n", name == "std_msgs/Header"
	}
	body, ok := builtinIndex()[name]
	return body, ok
}

// Builtin returns the built-in definition of the ROS 2 message of that name; ok is
// false if there is none.
func Builtin(name string) (d *Definition, ok bool) {
	text, ok := builtinText(shortName(name))
	if !ok {
		return nil, false
	}
	d, err := Parse(ROS2, name, text)
	return d, err == nil
}

// builtinText returns a built-in definition as a recording would hold it: the
// fields, then each message they depend on.
func builtinText(name string) (string, bool) {
	body, ok := builtinBody(ROS2, name)
	if !ok {
		return "", false
	}
	d, err := Parse(ROS2, name, body)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString(body)
	for _, dep := range d.sortedNames() {
		if dep != d.Root.Name {
			body, _ := builtinBody(ROS2, dep)
			b.WriteString(strings.Repeat("=", 80) + "\nMSG: " + dep + "\n" + body)
		}
	}
	return b.String(), true
}
