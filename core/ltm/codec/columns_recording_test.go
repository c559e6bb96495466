package codec_test

import (
	"context"
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/memories"
)

// history is all that a recording has of one entity.
type history struct {
	id        engram.ID
	typ       *idf.Type
	snapshots []*engram.Snapshot
}

// numbers returns the numbers in a payload, in their order.
func (h *history) numbers(t testing.TB, b []byte) []float64 {
	t.Helper()
	var v []float64
	if err := h.typ.Walk(b, idf.KindNumber, func(f *idf.Found) bool { v = append(v, f.Num); return true }); err != nil {
		t.Fatal(err)
	}
	return v
}

// recorded imports a shared recording and returns what a core segment has of it.
func recorded(t testing.TB, name, core string) []history {
	t.Helper()
	path := testkit.Recording(t, name)
	all := memories.All()
	for i := range all {
		all[i].Bounds = engram.Bounds{}
		for j := range all[i].Segments {
			all[i].Segments[j].History = engram.Bounds{}
		}
	}
	s, err := server.New(server.Config{Memories: all})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	if _, err := ingest.Import(ctx, s, path, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	result, err := s.Query(ctx, engram.MustPattern(core).Select(engram.All()))
	if err != nil {
		t.Fatal(err)
	}
	var hs []history
	for it := range result.All() {
		id := it.ID.Truncate(engram.LevelEntity)
		if n := len(hs); n == 0 || hs[n-1].id != id {
			def, err := s.Type(ctx, it.Instances[0].Payload.Type)
			if err != nil {
				t.Fatal(err)
			}
			typ, err := idf.ParseType(def)
			if err != nil {
				t.Fatal(err)
			}
			hs = append(hs, history{id: id, typ: typ})
		}
		h := &hs[len(hs)-1]
		h.snapshots = append(h.snapshots, it.Snapshot)
	}
	if len(hs) == 0 {
		t.Fatalf("%s has nothing in %s", name, core)
	}
	return hs
}

// The joints of a real robot at 30 Hz, in two recordings, states and commands.
func TestColumnsOfRealJoints(t *testing.T) {
	var all []history
	for _, name := range []string{"g1_bottle_2.mcap", "g1_bottle_10.mcap"} {
		all = append(all, recorded(t, name, "RobotState/Proprioception")...)
	}
	for _, c := range []struct {
		maxError, most float64 // bits per value
	}{
		{0, 12.5},
		{1e-4, 4.2},
	} {
		var bits, values float64
		for _, h := range all {
			got, stored := code(t, codec.Config{Codec: codec.Columns, Payload: h.typ, MaxError: c.maxError}, h.snapshots)
			if c.maxError == 0 {
				sameSnapshots(t, got, h.snapshots)
			}
			own, n := 0.0, 0.0
			for _, m := range stored {
				own += float64(len(m.Bytes)) * 8
			}
			for i, s := range h.snapshots {
				want, read := h.numbers(t, s.Instances[0].Payload.Bytes), h.numbers(t, got[i].Instances[0].Payload.Bytes)
				for j := range want {
					if !(math.Abs(want[j]-read[j]) <= c.maxError) {
						t.Fatalf("%v: number %d of snapshot %d is %v, want %v", h.id, j, i, read[j], want[j])
					}
				}
				n += float64(len(want))
			}
			t.Logf("%v within %v: %.2f bits per value of %.0f in %d messages", h.id, c.maxError, own/n, n, len(stored))
			bits, values = bits+own, values+n
		}
		if bits/values > c.most {
			t.Errorf("joints within %v: %.2f bits per value, want at most %v", c.maxError, bits/values, c.most)
		}
	}
}
