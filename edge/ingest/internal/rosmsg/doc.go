// Package rosmsg reads the message definitions of ROS 1 and ROS 2 and turns
// serialised messages into protobuf without objects in between.
//
// [Parse] reads a definition with all it depends on, [Definition.Descriptor]
// gives the protobuf message that mirrors it, and [Compile] makes a [Plan] that
// rewrites messages in ROS 1 serialisation or CDR as that protobuf message, or as
// another one whose members are named by rules. A [Transcoder] runs plans.
//
// How ROS types appear in protobuf:
//
//	bool                     bool
//	int8 int16 int32         sint32
//	uint8 uint16 uint32      uint32
//	int64, uint64            sint64, uint64
//	float32, float64         float, double
//	string, wstring          string (bytes that are not UTF-8 become U+FFFD)
//	time, duration           google.protobuf.Timestamp, Duration; likewise
//	                         builtin_interfaces/Time and Duration
//	uint8[] and fixed        bytes
//	T[], T[n], T[<=n]        repeated T
//	pkg/Name                 message ros1.pkg.Name or ros2.pkg.Name
//	integer constants        values of the message's nested enum Constant
//
// The package knows no container format and no memory.
package rosmsg
