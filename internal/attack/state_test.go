package attack

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What clients can make that stays is bounded, and what is beyond is refused with Exhausted.
func TestStateIsBounded(t *testing.T) {
	testkit.RealTime(t, "a server is heard within 3 s while it makes thousands of segments")
	v := begin(t, "--max-subscriptions", "300")
	b := v.bystander(t)
	c := v.dial(t, "local")
	for _, kind := range []struct {
		name string
		most int // as the server says
		make func(n int) error
	}{
		{"subscriptions over the local socket", 300, func(int) error {
			s, err := c.Subscribe(t.Context(), engram.Subscription{})
			if err == nil {
				t.Cleanup(func() { s.Close() })
			}
			return err
		}},
		{"core segments", 4096, func(n int) error {
			return c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID(fmt.Sprint("GeneralPurpose/c", n))})
		}},
		{"provider segments", 4096, func(n int) error {
			return c.AddProviderSegment(t.Context(), engram.ProviderSegment{ID: engram.MustID(fmt.Sprint("Example/Kept/p", n))})
		}},
		{"types", 20_000, func(n int) error {
			m := &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("T", n))}
			for i := range 500 {
				m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprint("N", i))})
			}
			set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
				Name: proto.String(fmt.Sprintf("t%d.proto", n)), Package: proto.String("attack"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			return c.AddType(t.Context(), engram.TypeDef{Name: fmt.Sprint("attack.T", n), Descriptors: set})
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			var err error
			n := 0
			for ; err == nil && n <= kind.most; n++ {
				err = kind.make(n)
			}
			t.Logf("%d: %v", n, err)
			if !errors.Is(err, engram.Exhausted) {
				t.Errorf("after %d: %v", n, err)
			}
			b.check(t, v, mostMemory)
		})
	}
}
