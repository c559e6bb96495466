package stream

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

const testLimit = 1 << 20

func clone(b *contract.Batch) contract.Batch {
	c := *b
	c.Segments = append([]contract.Segment(nil), b.Segments...)
	c.Removed = append([]contract.Removal(nil), b.Removed...)
	c.Items = append([]contract.Version(nil), b.Items...)
	c.LeftOut = append([]contract.LeftOut(nil), b.LeftOut...)
	c.Lost = append([]engram.Missing(nil), b.Lost...)
	return c
}

// transfer encodes the batches and returns what is decoded.
func transfer(t rapid.TB, shares int, format uint32, batches []contract.Batch) (out []contract.Batch, size int) {
	return transferWith(t, fullTable, shares, format, batches)
}

// transferWith is transfer with tables that are full at so many entries.
func transferWith(t rapid.TB, full, shares int, format uint32, batches []contract.Batch) (out []contract.Batch, size int) {
	var wire bytes.Buffer
	enc, err := NewEncoder(&wire, shares, format)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	enc.full = full
	dec, err := NewDecoder(&wire, shares, testLimit, format)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for i := range batches {
		if err := enc.Encode(&batches[i]); err != nil {
			t.Fatal(err)
		}
		size += wire.Len()
		// Each batch can be decoded before anything follows: nothing waits in between.
		b, err := dec.Decode()
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		out = append(out, clone(b))
		if n := len(dec.entities); n > full+contract.BatchItems {
			t.Fatalf("the reader keeps %d entities", n)
		}
	}
	return out, size
}

func genTime() *rapid.Generator[engram.Time] {
	return rapid.Custom(func(t *rapid.T) engram.Time {
		if rapid.Bool().Draw(t, "usual") {
			return engram.Time(1_700_000_000e9 + rapid.Int64Range(0, 1e12).Draw(t, "ns"))
		}
		return engram.Time(rapid.Int64Range(math.MinInt64, math.MaxInt64-1).Draw(t, "any"))
	})
}

func genInterval() *rapid.Generator[engram.Interval] {
	return rapid.Custom(func(t *rapid.T) engram.Interval {
		a, b := genTime().Draw(t, "a"), genTime().Draw(t, "b")
		return engram.Interval{Start: min(a, b), End: max(a, b)}
	})
}

func genBatch(shares int) *rapid.Generator[contract.Batch] {
	name := rapid.SampledFrom([]string{"Object", "robot1:Object", "a/b", "blue cup", "ü", "x"})
	entity := rapid.Custom(func(t *rapid.T) engram.ID {
		id, err := engram.NewID(name.Draw(t, "m"), name.Draw(t, "c"), name.Draw(t, "p"), name.Draw(t, "e"))
		if err != nil {
			t.Fatal(err)
		}
		return id
	})
	kind := rapid.SampledFrom([]string{"a.B", "c.D", ""})
	instance := rapid.Custom(func(t *rapid.T) engram.Instance {
		return engram.Instance{
			Payload: engram.Payload{Type: kind.Draw(t, "type"), Bytes: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload")},
			Sent:    genTime().Draw(t, "sent"), HasSent: true,
			Confidence: rapid.SampledFrom([]float32{1, 1, 1, 0, 0.25}).Draw(t, "confidence"),
		}
	})
	return rapid.Custom(func(t *rapid.T) contract.Batch {
		b := contract.Batch{
			Share:    rapid.IntRange(0, shares-1).Draw(t, "share"),
			Position: contract.Position{Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"), Number: rapid.Uint64().Draw(t, "number"), Arrived: genTime().Draw(t, "arrived")},
			Behind:   contract.Behind{Updates: rapid.Uint64().Draw(t, "updates"), Bytes: rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes"), Now: genTime().Draw(t, "now")},
		}
		for range rapid.IntRange(0, 2).Draw(t, "segments") {
			id := entity.Draw(t, "segment")
			s := contract.Segment{
				Core: engram.CoreSegment{
					ID: id.Truncate(engram.LevelCoreSegment), Type: kind.Draw(t, "type"), Durability: engram.Durability(rapid.IntRange(0, 2).Draw(t, "durability")),
					History:        engram.Bounds{MaxCount: rapid.IntRange(0, 9).Draw(t, "count"), MaxAge: time.Duration(rapid.Int64Range(0, 9e9).Draw(t, "age")), MaxBytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes")},
					FixedProviders: rapid.Bool().Draw(t, "fixed"),
				},
				Provider: engram.ProviderSegment{ID: id.Truncate(engram.LevelProviderSegment), Type: kind.Draw(t, "type")},
			}
			for range rapid.IntRange(0, 2).Draw(t, "types") {
				s.Types = append(s.Types, engram.TypeDef{
					Name: rapid.SampledFrom([]string{"a.B", "c.D"}).Draw(t, "name"), Descriptors: []byte(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "descriptors")),
					Source: "message", Format: "proto",
				})
			}
			b.Segments = append(b.Segments, s)
		}
		for range rapid.IntRange(0, 2).Draw(t, "removals") {
			r := contract.Removal{Pattern: engram.PatternOf(entity.Draw(t, "of")), Segment: rapid.Bool().Draw(t, "whole"), Span: engram.Always(), Until: genTime().Draw(t, "until")}
			if rapid.Bool().Draw(t, "part") {
				r.Span = genInterval().Draw(t, "span")
			}
			if r.Compared = rapid.Bool().Draw(t, "compared"); r.Compared {
				r.Besides = rapid.SliceOfN(entity, 1, 3).Draw(t, "besides")
			}
			if rapid.Bool().Draw(t, "but for some") {
				r.Except = rapid.SliceOfN(genInterval(), 1, 3).Draw(t, "except")
			}
			b.Removed = append(b.Removed, r)
		}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			b.Items = append(b.Items, contract.Version{Entity: entity.Draw(t, "entity"), Snapshot: &engram.Snapshot{
				Time: genTime().Draw(t, "time"), Arrived: genTime().Draw(t, "arrived"), Number: rapid.Uint64().Draw(t, "number"),
				Instances: rapid.SliceOfN(instance, 1, 3).Draw(t, "instances"),
			}})
			if n := len(b.Items); n > 1 && rapid.Bool().Draw(t, "together") {
				before, last := b.Items[n-2].Snapshot, b.Items[n-1].Snapshot
				last.Time, last.Arrived, last.Number = before.Time, before.Arrived, before.Number+1
			}
		}
		for range rapid.IntRange(0, 2).Draw(t, "left out") {
			b.LeftOut = append(b.LeftOut, contract.LeftOut{
				Entity: entity.Draw(t, "entity"), Reason: rapid.SampledFrom([]string{contract.LeftOutRate, contract.LeftOutFilter, contract.LeftOutSize, "other"}).Draw(t, "reason"),
				Count: rapid.Uint64().Draw(t, "count"), Bytes: rapid.Int64Range(0, math.MaxInt64).Draw(t, "bytes"), Interval: genInterval().Draw(t, "interval"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "lost") {
			b.Lost = append(b.Lost, engram.Missing{
				ID: entity.Draw(t, "entity").Truncate(engram.Level(rapid.IntRange(1, 4).Draw(t, "level"))), Reason: engram.MissingEvicted,
				Count: rapid.Uint64().Draw(t, "count"), Interval: rapid.SampledFrom([]engram.Interval{engram.Always(), {Start: 1, End: 2}}).Draw(t, "interval"),
			})
		}
		return b
	})
}

func anyFormat() *rapid.Generator[uint32] { return rapid.Uint32Range(1, Format) }

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOfN(genBatch(3), 1, 6).Draw(t, "batches")
		got, _ := transfer(t, 3, anyFormat().Draw(t, "format"), batches)
		for i := range batches {
			if want := clone(&batches[i]); !reflect.DeepEqual(got[i], want) {
				t.Fatalf("batch %d is\n%+v, want\n%+v", i, got[i], want)
			}
		}
	})
}

func item(entity string, n int, payload []byte) contract.Version {
	at := engram.Time(1_700_000_000e9 + n*10_000_000)
	return contract.Version{Entity: engram.MustID("Object/Instance/Vision/" + entity), Snapshot: &engram.Snapshot{
		Time: at, Arrived: at + 1_234_567 + engram.Time(n*7919%100_000), Number: uint64(n + 1),
		Instances: []engram.Instance{{Payload: engram.Payload{Type: "a.B", Bytes: payload}, Sent: at + 500_000 + engram.Time(n*104729%90_000), HasSent: true, Confidence: 1}},
	}}
}

// The tables begin anew before they are full, and what comes then is understood.
func TestTablesBeginAnew(t *testing.T) {
	var batches []contract.Batch
	const full = 4 * contract.BatchItems
	for n := 0; n < 3*full; n += contract.BatchItems {
		b := contract.Batch{}
		for i := range contract.BatchItems {
			b.Items = append(b.Items, item(fmt.Sprint("entity ", n+i), n+i, []byte("x")))
		}
		batches = append(batches, b)
	}
	batches = append(batches, contract.Batch{Items: []contract.Version{item("entity 0", 1, []byte("y"))}})
	for format := uint32(1); format <= Format; format++ {
		got, _ := transferWith(t, full, 1, format, batches)
		for i := range batches {
			if !slices.EqualFunc(got[i].Items, batches[i].Items, sameVersion) {
				t.Fatalf("the items of batch %d differ in format %d", i, format)
			}
		}
	}
}

// sameVersion compares versions of one instance, and is quick.
func sameVersion(a, b contract.Version) bool {
	x, y := a.Snapshot, b.Snapshot
	return a.Entity == b.Entity && x.Time == y.Time && x.Arrived == y.Arrived && x.Number == y.Number && len(x.Instances) == len(y.Instances) &&
		x.Instances[0].Sent == y.Instances[0].Sent && x.Instances[0].Payload.Type == y.Instances[0].Payload.Type &&
		bytes.Equal(x.Instances[0].Payload.Bytes, y.Instances[0].Payload.Bytes)
}

// Payloads that cannot be compressed cost at most 15 % more one by one, and 6 % where
// four come together; what follows on a link (framing of messages and packets) is not counted here.
func TestBytesPerPayloadByte(t *testing.T) {
	for _, perBatch := range []int{1, 4, 10, 100} {
		r := rand.NewChaCha8([32]byte{1})
		payloads, n := 0, 0
		var batches []contract.Batch
		for range 2000 / perBatch {
			b := contract.Batch{}
			for range perBatch {
				p := make([]byte, 150)
				r.Read(p)
				b.Items = append(b.Items, item(fmt.Sprint("cup-", n%20), n, p))
				payloads += len(p)
				n++
			}
			last := b.Items[len(b.Items)-1].Snapshot
			b.Position = contract.Position{Epoch: 0, Number: last.Number, Arrived: last.Arrived}
			b.Behind.Now = last.Arrived + 80_000
			batches = append(batches, b)
		}
		_, size := transfer(t, 1, Format, batches)
		ratio := float64(size) / float64(payloads)
		t.Logf("%d per batch: %.3f bytes per payload byte", perBatch, ratio)
		most := 1.15
		if perBatch > 1 {
			most = 1.06
		}
		if ratio > most {
			t.Errorf("%d per batch: %.3f bytes per payload byte, want at most %v", perBatch, ratio, most)
		}
	}
}

func compressed(t testing.TB, frames ...[]byte) []byte {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithWindowSize(window))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		z.Write(f)
	}
	z.Flush()
	return b.Bytes()
}

func TestDecoderRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		wire   []byte
		code   engram.Code
		format uint32
	}{
		{"no zstd", []byte("hello, this is no pull"), engram.Corrupt, 1},
		{"a frame that is too large", compressed(t, []byte{0xff, 0xff, 0xff, 0xff, 0x7f}), engram.Exhausted, 1},
		{"a size without end", compressed(t, bytes.Repeat([]byte{0xff}, 20)), engram.Corrupt, 1},
		{"an empty frame", compressed(t, []byte{0}), engram.Corrupt, 1},
		{"an unknown share", compressed(t, []byte{2, 0, 9}), engram.Corrupt, 1},
		{"an unknown entity", compressed(t, []byte{6, frameItems, 0, 1, 0, 7, 0}), engram.Corrupt, 1},
		{"a list that is longer than the frame", compressed(t, []byte{12, frameLost, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}), engram.Corrupt, 1},
		{"more than a frame", compressed(t, []byte{6, 0, 0, 0, 0, 0, 0}), engram.Corrupt, 1},
		{"a frame that is cut off", compressed(t, []byte{50, 0, 0, 0}), engram.Corrupt, 1},
		{"more versions than a batch has", compressed(t, []byte{6, frameItems, 0, 0xff, 0xff, 0xff, 0x7f}), engram.Corrupt, 2},
		{"a run of no versions", compressed(t, []byte{5, frameItems, 0, 0xff, 0, 0}), engram.Corrupt, 2},
		{"runs without end", compressed(t, []byte{6, frameItems, 0, 0xff, 3, 0xff, 3}), engram.Corrupt, 2},
		{"a first version of the entity that is expected", compressed(t, []byte{5, frameItems, 0, 0xff, 2, 0}), engram.Corrupt, 2},
		{"versions without times", compressed(t, []byte{15, frameItems, 0, 0, 2, 0, 0, 0, 1, 'm', 1, 'c', 1, 'p', 1, 'e'}), engram.Corrupt, 2},
		{"many instances of no bytes", compressed(t, manyInstances(4, engram.MaxIndex+1)), engram.Corrupt, 2},
		{"many types of one byte each", compressed(t, manyTypes(1<<16)), engram.Corrupt, 2},
		{"an entity that was not told", compressed(t, []byte{6, frameItems, 0, 0, 2, 0, 7}), engram.Corrupt, 2},
	} {
		d, err := NewDecoder(bytes.NewReader(c.wire), 2, testLimit, c.format)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = d.Decode(); engram.CodeOf(err) != c.code {
			t.Errorf("%s: the error is %v, want %v", c.name, err, c.code)
		}
		d.Close()
	}
}

// framed is a frame with its size.
func framed(frame ...byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(frame))), frame...)
}

// manyTypes is a frame of a segment that names a type so often.
func manyTypes(n int) []byte {
	f := binary.AppendUvarint([]byte{frameSegments, 0, 1, 0, 0, 0, 1, 'm', 1, 'c', 1, 'p', 0, 0, 0, 0, 0}, uint64(n+1))
	f = append(append(f, 0, 1, 't', 0, 0, 0), bytes.Repeat([]byte{1}, n)...)
	return framed(append(f, 0, 0, 0)...)
}

// manyInstances is a frame of a version of one instance and then some of so many, all of
// no bytes.
func manyInstances(versions, instances int) []byte {
	const alike = 0xff &^ itemSingle
	f := []byte{frameItems, 0, itemNext | itemSingle | itemSure | itemAtOnce | itemTogether, 3, alike, byte(versions << 1), 0,
		0, 0, 1, 'm', 1, 'c', 1, 'p', 1, 'e', 0, 1, 'k', 0}
	for range versions {
		f = binary.AppendUvarint(f, uint64(instances))
	}
	return framed(append(f, 0, 0, 0)...)
}

// The largest snapshot that there may be is read, several of them in a batch are not: the
// memory that is taken is bounded as the bytes are.
func TestLargestSnapshotIsRead(t *testing.T) {
	for versions, fits := range map[int]bool{1: true, 4: false} {
		d, err := NewDecoder(bytes.NewReader(compressed(t, manyInstances(versions, engram.MaxIndex+1))), 1, 128<<20, Format)
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Decode()
		switch {
		case fits && (err != nil || len(b.Items) != 2 || len(b.Items[1].Snapshot.Instances) != engram.MaxIndex+1):
			t.Errorf("the largest snapshot is not read: %v", err)
		case !fits && engram.CodeOf(err) != engram.Corrupt:
			t.Errorf("%d of the largest: the error is %v", versions, err)
		}
		d.Close()
	}
}

// The transport's own errors stay what they are; an end without one is none of a pull's.
func TestErrorsOfTheTransport(t *testing.T) {
	for cause, want := range map[error]engram.Code{engram.Errorf(engram.Unavailable, "", "the link is gone"): engram.Unavailable, io.EOF: engram.Corrupt} {
		var wire bytes.Buffer
		enc, err := NewEncoder(&wire, 1, Format)
		if err != nil {
			t.Fatal(err)
		}
		if err := enc.Encode(&contract.Batch{}); err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(io.MultiReader(&wire, failing{cause}), 1, testLimit, Format)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decode(); engram.CodeOf(err) != want {
			t.Errorf("after %v the error is %v, want %v", cause, err, want)
		}
		d.Close()
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzDecode(f *testing.F) {
	var wire bytes.Buffer
	enc, err := NewEncoder(&wire, 2, Format)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 4 {
		b := contract.Batch{Share: i % 2, Items: []contract.Version{item("a", i, []byte("payload"))}, Position: contract.Position{Epoch: 5, Number: 9, Arrived: 7}}
		b.Segments = []contract.Segment{{Core: engram.CoreSegment{ID: engram.MustID("Object/Instance")}, Provider: engram.ProviderSegment{ID: engram.MustID("Object/Instance/Vision")}, Types: []engram.TypeDef{{Name: "a.B", Descriptors: []byte("d")}}}}
		b.Removed = []contract.Removal{{Pattern: engram.MustPattern("Object/*/~x.*"), Span: engram.Interval{Start: 1, End: 2}}}
		b.LeftOut = []contract.LeftOut{{Entity: engram.MustID("Object/Instance/Vision/b"), Reason: "rate", Count: 3}}
		b.Lost = []engram.Missing{{ID: engram.MustID("Object"), Reason: "evicted"}}
		if err := enc.Encode(&b); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(wire.Bytes())
	f.Add(enc.frame)
	f.Add([]byte{frameItems, 0, 0xff, 4, 0})
	f.Add(compressed(f, []byte{2, 0, 9}))
	f.Add([]byte{})
	check := func(t *testing.T, b *contract.Batch, err error) {
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Corrupt && code != engram.Exhausted {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		for _, v := range b.Items {
			if v.Snapshot == nil || v.Entity.Level() != engram.LevelEntity || len(v.Snapshot.Instances) == 0 {
				t.Fatalf("a version that is none: %+v", v)
			}
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		for format := uint32(1); format <= Format; format++ {
			d, err := NewDecoder(bytes.NewReader(wire), 2, testLimit, format)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				var b *contract.Batch
				b, err = d.Decode()
				check(t, b, err)
			}
			d.Close()
			// As it is inside the compression: twice, for what the first leaves behind.
			inside := &Decoder{format: format, limit: testLimit, shares: newShareStates(2)}
			for range 2 {
				inside.frame = wire
				b, err := inside.parse()
				check(t, b, err)
				if err != nil {
					break
				}
			}
		}
	})
}
