package intake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lengthed(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

func repeated(b []byte, n int) []byte { return []byte(strings.Repeat(string(b), n)) }

func shapeOf(m proto.Message) *Shape { return Of(m.ProtoReflect().Descriptor()) }

// What is counted is at least what decoding really takes, whatever it is made of.
func TestCountIsNoLessThanWhatIsTaken(t *testing.T) {
	fixed := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(0.5))
	for name, c := range map[string]struct {
		message proto.Message
		wire    []byte
	}{
		"empty messages":    {&engramv1.CommitRequest{}, repeated(lengthed(1, nil), 10_000)},
		"empty instances":   {&engramv1.CommitRequest{}, lengthed(1, repeated(lengthed(3, nil), 10_000))},
		"empty texts":       {&engramv1.PredictRequest{}, repeated(lengthed(1, nil), 40_000)},
		"texts":             {&engramv1.PredictRequest{}, repeated(lengthed(1, []byte("Object/Instance/p/e")), 10_000)},
		"map entries":       {&engramv1.SetPolicyRequest{}, entries(10_000)},
		"equal map entries": {&engramv1.SetPolicyRequest{}, repeated(lengthed(2, nil), 20_000)},
		"packed doubles":    {&engramv1.CommitRevisionRequest{}, lengthed(2, lengthed(6, lengthed(1, make([]byte, 1<<20))))},
		"unpacked doubles":  {&engramv1.CommitRevisionRequest{}, lengthed(2, lengthed(6, repeated(fixed, 100_000)))},
		"values":            {&engramv1.CommitRequest{}, lengthed(1, lengthed(3, lengthed(1, lengthed(3, lengthed(6, repeated(lengthed(1, nil), 10_000))))))},
		"null values":       {&engramv1.CommitRequest{}, lengthed(1, lengthed(3, lengthed(1, lengthed(3, lengthed(6, repeated(lengthed(1, []byte{8, 0}), 10_000))))))},
		"a payload":         {&engramv1.CommitRequest{}, lengthed(1, lengthed(3, lengthed(1, lengthed(2, make([]byte, 1<<20)))))},
		"unknown fields":    {&engramv1.CommitRequest{}, repeated(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1), 20_000)},
		"a query's nodes":   {&engramv1.QueryRequest{}, repeated(lengthed(1, lengthed(1, nil)), 10_000)},
		"selectors":         {&engramv1.QueryRequest{}, repeated(lengthed(3, lengthed(6, []byte{8, 1, 16, 2})), 10_000)},
	} {
		t.Run(name, func(t *testing.T) {
			count, err := shapeOf(c.message).Wire(c.wire, Limit{})
			if err != nil {
				t.Fatal(err)
			}
			took := heapOf(t, func() any {
				m := c.message.ProtoReflect().New().Interface()
				if err := proto.Unmarshal(c.wire, m); err != nil {
					t.Fatal(err)
				}
				return m
			})
			if count.Heap < took {
				t.Errorf("counted %d bytes; decoding took %d", count.Heap, took)
			}
			if got := values(c.message, c.wire); count.Values < got {
				t.Errorf("counted %d values; there are %d", count.Values, got)
			}
			if name == "unknown fields" {
				return // JSON has none
			}
			m := c.message.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(c.wire, m); err != nil {
				t.Fatal(err)
			}
			text, err := protojson.Marshal(m)
			if err != nil {
				return // values of no kind have no JSON
			}
			count, err = shapeOf(m).JSON(text, Limit{})
			if err != nil {
				t.Fatal(err)
			}
			if took := heapOf(t, func() any {
				m := c.message.ProtoReflect().New().Interface()
				if err := protojson.Unmarshal(text, m); err != nil {
					t.Fatal(err)
				}
				return m
			}); count.Heap < took {
				t.Errorf("counted %d bytes in JSON; decoding took %d", count.Heap, took)
			}
		})
	}
}

func entries(n int) (b []byte) {
	for i := range n {
		b = append(b, lengthed(2, lengthed(1, fmt.Append(nil, i)))...)
	}
	return b
}

// heapOf returns how much memory what f returns holds.
func heapOf(t *testing.T, f func() any) int64 {
	t.Helper()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	f() // what is made once
	least := int64(math.MaxInt64)
	for range 3 { // other goroutines may take some meanwhile
		before := heap()
		held := f()
		least = min(least, heap()-before)
		runtime.KeepAlive(held)
	}
	return least
}

// values returns how many messages, list items and map entries a message has.
func values(m proto.Message, wire []byte) int {
	m = m.ProtoReflect().New().Interface()
	_ = proto.Unmarshal(wire, m) // as far as it goes
	var count func(protoreflect.Message) int
	count = func(m protoreflect.Message) (n int) {
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			switch {
			case f.IsMap():
				n += v.Map().Len()
			case f.IsList() && f.Message() == nil:
				n++ // packed or not
			case f.IsList():
				for i := range v.List().Len() {
					n += 1 + count(v.List().Get(i).Message())
				}
			case f.Message() != nil:
				n += 1 + count(v.Message())
			}
			return true
		})
		return n
	}
	return count(m.ProtoReflect())
}

func TestLimits(t *testing.T) {
	commit := shapeOf(&engramv1.CommitRequest{})
	deep := []byte(nil)
	for range 500 {
		deep = lengthed(1, lengthed(6, deep))
	}
	deep = lengthed(1, lengthed(3, lengthed(1, lengthed(3, lengthed(6, deep)))))
	for name, err := range map[string]error{
		"values":         second(commit.Wire(repeated(lengthed(1, nil), 11), Limit{Values: 10})),
		"heap":           second(commit.Wire(repeated(lengthed(1, nil), 1000), Limit{Heap: 100_000})),
		"depth":          second(commit.Wire(deep, Limit{})),
		"values in JSON": second(commit.JSON([]byte(`{"updates":[{},{},{},{},{},{}]}`), Limit{Values: 10})),
		"depth in JSON":  second(commit.JSON([]byte(strings.Repeat("[", 500)), Limit{})),
	} {
		if engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%s: %v; want it to be refused", name, err)
		}
	}
	if _, err := commit.Wire(repeated(lengthed(1, nil), 10), Limit{Values: 10}); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	if c, err := commit.JSON([]byte(`{"updates":[{"entity":"[[[{{{,,,\"[["}]}`), Limit{Values: 3}); err != nil || c.Values != 3 {
		t.Errorf("brackets in texts: %+v, %v; want 3 values", c, err)
	}
}

func second(_ Count, err error) error { return err }

// Whatever bytes come, no fewer values are counted than decoding makes.
func FuzzCount(f *testing.F) {
	f.Add(lengthed(1, lengthed(3, lengthed(1, lengthed(3, lengthed(6, lengthed(1, nil)))))))
	f.Add(entries(3))
	f.Add([]byte{0x0b, 0x0c, 0x0a, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []proto.Message{&engramv1.CommitRequest{}, &engramv1.QueryRequest{}, &engramv1.SetPolicyRequest{}, &engramv1.CommitRevisionRequest{}} {
			c, err := shapeOf(m).Wire(b, Limit{})
			if err == nil && c.Values < values(m, b) {
				t.Errorf("%T: counted %d values; there are %d", m, c.Values, values(m, b))
			}
			if _, err := shapeOf(m).JSON(b, Limit{}); err != nil && engram.CodeOf(err) != engram.Exhausted {
				t.Error(err)
			}
		}
	})
}

const mib = 1 << 20

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(200*mib, time.Second)
		first, second, third := b.Lease(), b.Lease(), b.Lease()
		if err := first.Work(t.Context(), 80*mib); err != nil {
			t.Fatal(err)
		}
		if err := second.Work(t.Context(), 101*mib); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("more than there is: %v", err)
		}
		begin := time.Now()
		if err := second.Work(t.Context(), 30*mib); engram.CodeOf(err) != engram.Exhausted || time.Since(begin) != time.Second {
			t.Errorf("no room for a second: %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := second.Work(ctx, 30*mib); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		// Reading has room of its own, and grows.
		if err := errors.Join(second.Read(t.Context(), 30*mib), second.Read(t.Context(), 60*mib), second.Read(t.Context(), 50*mib)); err != nil || b.Used() != 140*mib {
			t.Errorf("%v; %d bytes are taken", err, b.Used())
		}
		// The first who waits is the first who gets room, and one who gives up lets others pass.
		given, stop := context.WithCancel(t.Context())
		results := make(chan string, 2)
		large, small := b.Lease(), b.Lease()
		go func() {
			if large.Work(given, 90*mib) != nil {
				results <- "large gave up"
			}
		}()
		synctest.Wait()
		go func() {
			if small.Work(t.Context(), 20*mib) == nil {
				results <- "small"
			}
		}()
		synctest.Wait()
		stop()
		if got := [2]string{<-results, <-results}; got != [2]string{"large gave up", "small"} && got != [2]string{"small", "large gave up"} {
			t.Errorf("got %q", got)
		}
		if err := third.Work(t.Context(), free); err != nil || third.has[working] != 0 {
			t.Errorf("small ones are counted: %v", err)
		}
		for _, l := range []*Lease{&first, &second, &third, &large, &small} {
			l.Release()
			l.Release()
		}
		if b.Used() != 0 {
			t.Errorf("%d bytes are taken after all was released", b.Used())
		}
	})
}

func BenchmarkWire(b *testing.B) {
	now, confidence := int64(1645189616492182000), float32(1)
	m, err := proto.Marshal(&engramv1.CommitRequest{Updates: []*engramv1.EntityUpdate{{Entity: "Object/Instance/p/cup", Time: &now, Instances: []*engramv1.Instance{
		{Payload: &engramv1.Payload{Type: "engram.idf.v1.Value", Data: make([]byte, 200)}, Confidence: &confidence}}}}})
	if err != nil {
		b.Fatal(err)
	}
	s := shapeOf(&engramv1.CommitRequest{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Wire(m, Limit{Values: 1000, Heap: mib}); err != nil {
			b.Fatal(err)
		}
	}
}
