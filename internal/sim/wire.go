package sim

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// What comes often is put into its wire form directly; the numbers of the members
// are those of the types in package memories, which a test compares.

func appendTime(b []byte, number protowire.Number, t engram.Time) []byte {
	std := t.Std()
	sec, nsec := uint64(std.Unix()), uint64(std.Nanosecond())
	size := protowire.SizeTag(1) + protowire.SizeVarint(sec) + protowire.SizeTag(2) + protowire.SizeVarint(nsec)
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(size))
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), sec)
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), nsec)
}

func appendString(b []byte, number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), s)
}

func appendFixed32(b []byte, number protowire.Number, v int) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), uint32(v))
}

// appendPacked appends a repeated double.
func appendPacked(b []byte, number protowire.Number, values ...float64) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(8*len(values)))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// appendDoubles appends a message of doubles numbered from 1: a Vector3 or a
// Quaternion.
func appendDoubles(b []byte, number protowire.Number, values ...float64) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.BytesType), uint64(9*len(values)))
	for i, v := range values {
		b = protowire.AppendFixed64(protowire.AppendTag(b, protowire.Number(i+1), protowire.Fixed64Type), math.Float64bits(v))
	}
	return b
}
