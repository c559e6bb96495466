package idf

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// A registry takes no type beyond its bounds, says so, and goes on with those it has.
func TestTypesAreBounded(t *testing.T) {
	r := NewRegistry()
	add := func(n int) error {
		name := fmt.Sprint("T", n)
		m := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for i := range 5000 {
			m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("N", i))})
		}
		b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
			Name: proto.String(name + ".proto"), Package: proto.String("test"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Add(engram.TypeDef{Name: "test." + name, Descriptors: b})
		return err
	}
	n := 0
	var err error
	for ; err == nil && n < 2*MaxTypes/5000; n++ {
		err = add(n)
	}
	if !errors.Is(err, engram.Exhausted) || len(r.Names()) > MaxTypes || len(r.Names()) < MaxTypes/2 {
		t.Errorf("%d types are known: %v", len(r.Names()), err)
	}
	if err := add(0); err != nil {
		t.Errorf("a type that is known: %v", err)
	}
}
