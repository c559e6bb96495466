package stream

import (
	"bytes"
	"encoding/hex"
	"io"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// frames are batches as each format writes them, without the compression. They must
// stay as they are: others read them.
var frames = map[uint32][]string{
	1: {
		"48000304070000064f626a65637408496e7374616e636506566973696f6e036375708edae6e3c6bfce972f8eda96010003612e42ced5590300000707000105706c617465ded5c509ecd59701019aeb58030001071701ded5c509bcf701e7d401030002071702ded5c509bcf701e7d40103000307000080e209",
		"0800041701ded5c509bcf701e7d401030100071702ded5c509bcf701e7d401030101071701ded5c509bcf701e7d401030102071702ded5c509bcf701b8a90903010307000080e209",
		"0800041701ded5c509bcf701b8a909030200071702ded5c509bcf701e7d401030201071701ded5c509bcf701e7d401030202071702ded5c509bcf701e7d40103020307000080e209",
		"0800020001b201ee94e3d006ccc60102010000803fd8c304066c6f6e6765720003632e440000003fbeaee79ccebfce972f00170200ee4a8592c1090378797a000080e209",
	},
	2: {
		"48000307055703770232ffffefd09ac7c69ff3f2f2ffff0ead250000000000ffffff2284b4c69ff3f2f2ffffecea2500000000000000f1ee0000f1ee0000064f626a65637408496e7374616e636506566973696f6e036375700003612e42ced55903000007000105706c617465019aeb580300010701e7d401000207e7d401000307000080e209",
		"08007708100000f1ee008078770040bc3b0010ef0ee7d401010007e7d401010107e7d401010207b8a909010307000080e209",
		"080077080f0040bc3b0010ef0e00e2dd0140bc3bb8a909020007e7d401020107e7d401020207e7d401020307000080e209",
		"08002003f7020dffff0ff9758e0600000010d308b20102010000803fd8c304066c6f6e6765720003632e440000003fbeaee79ccebfce972f008592c10978797a000080e209",
	},
}

// formatBatches are what frames hold: entities in turn, a pause, a snapshot of two
// instances that is nothing like the one before, and two that came together.
func formatBatches() []contract.Batch {
	var list []contract.Batch
	for n := range 3 {
		b := contract.Batch{}
		for i := range 4 {
			b.Items = append(b.Items, item([]string{"cup", "plate"}[i%2], 4*n+i, []byte{byte(n), byte(i), 7}))
		}
		list = append(list, b)
	}
	odd := item("cup", 100, []byte("longer"))
	odd.Snapshot.Instances = append(odd.Snapshot.Instances, engram.Instance{Payload: engram.Payload{Type: "c.D", Bytes: []byte{}}, HasSent: true, Sent: 5, Confidence: 0.5})
	twin := item("plate", 101, []byte("xyz"))
	twin.Snapshot.Time, twin.Snapshot.Arrived = odd.Snapshot.Time, odd.Snapshot.Arrived
	list = append(list, contract.Batch{Items: []contract.Version{odd, twin}})
	for i := range list {
		last := list[i].Items[len(list[i].Items)-1].Snapshot
		list[i].Position = contract.Position{Epoch: 3, Number: last.Number, Arrived: last.Arrived}
		list[i].Behind.Now = last.Arrived + 80_000
	}
	return list
}

func TestFormatsStay(t *testing.T) {
	for format := uint32(1); format <= Format; format++ {
		enc, err := NewEncoder(io.Discard, 1, format)
		if err != nil {
			t.Fatal(err)
		}
		dec := &Decoder{format: format, limit: testLimit, shares: newShareStates(1)}
		for i, b := range formatBatches() {
			if err := enc.Encode(&b); err != nil {
				t.Fatal(err)
			}
			if i >= len(frames[format]) || hex.EncodeToString(enc.frame) != frames[format][i] {
				t.Errorf("batch %d in format %d is now\n%x", i, format, enc.frame)
				continue
			}
			dec.frame = bytes.Clone(enc.frame)
			got, err := dec.parse()
			if err != nil {
				t.Fatal(err)
			}
			if got := clone(got); !reflect.DeepEqual(got, clone(&b)) {
				t.Errorf("batch %d in format %d is read as\n%+v, want\n%+v", i, format, got, b)
			}
		}
		enc.Close()
	}
	for _, format := range []uint32{0, Format + 1} {
		if _, err := NewDecoder(nil, 1, testLimit, format); engram.CodeOf(err) != engram.Unsupported {
			t.Errorf("format %d: the error is %v, want Unsupported", format, err)
		}
	}
}

// Whatever is written as bits is read back, and none is left over.
func TestBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.Int64Range(-1e7, 1e7)), 0, 50).Draw(t, "numbers")
		var w bitWriter
		var a, b level
		for _, n := range numbers {
			w.int(n, &a)
		}
		r := bitReader{bytes: w.close()}
		for i, n := range numbers {
			if got := r.int(&b); got != n || r.over {
				t.Fatalf("number %d is %d, want %d", i, got, n)
			}
		}
		if a != b || r.left() {
			t.Fatalf("the level is %d, want %d; bits are left: %v", b, a, r.left())
		}
		if r.take(8); !r.over {
			t.Fatal("there is more than was written")
		}
	})
}
