package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/mind/memories"
)

// history is what a recording has of one entity.
type history struct {
	id        engram.ID
	typ       *idf.Type
	types     *idf.Registry
	snapshots []*engram.Snapshot
	values    int // numbers in all payloads
}

// numbers measures what numbers take: all entities of a core segment together.
func numbers(ctx context.Context, c config) error {
	sets := []struct {
		name, core string
		recordings []string
		bounded    bool // there is a target
	}{
		{"G1 joints, 30 Hz", "RobotState/Proprioception", []string{"g1_bottle_2.mcap", "g1_bottle_10.mcap"}, true},
		{"Guardian joints, 60 Hz", "RobotState/Proprioception", []string{"guardian_palette.bag"}, false},
		{"Guardian poses, 300-600 Hz", "RobotState/Localization", []string{"guardian_palette.bag"}, false},
		{"Husky odometry, IMU, GPS", "*", []string{"husky_outdoor.bag"}, false},
		{"Tilt laser, all but images", "*", []string{"tilt_laser.bag"}, false},
	}
	if c.quick {
		sets = sets[:1]
	}
	t := newTable(c.out, "Numbers on disk: bits per value; chunks of 256 KiB and of 16 messages are compressed with zstd",
		"what|snapshots|values|raw|plain, 256 KiB|plain, 16|zstd with dictionary, 256 KiB|zstd with dictionary, 16|columns|columns within 1e-4|write, snapshots/s|read, snapshots/s|one of them, cold")
	for _, set := range sets {
		var all []history
		for _, r := range set.recordings {
			hs, err := histories(filepath.Join(c.data, r), set.core)
			if err != nil {
				return err
			}
			all = append(all, hs...)
		}
		row, err := numbersOf(all)
		if err != nil {
			return fmt.Errorf("%s: %w", set.name, err)
		}
		t.row("%s|%s", set.name, row)
		if set.bounded {
			c.report.atMost(set.name+", lossless, codec columns", 12.5, row.per(row.columns), " bits/value")
			c.report.note("… plain, the default, in chunks of 256 KiB", quantity(row.per(row.plain), " bits/value"))
			c.report.atMost("… within ±1e-4 rad", 4.2, row.per(row.within), " bits/value")
		} else if !c.quick {
			c.report.note(set.name+": lossless, within ±1e-4", quantity(row.per(row.columns), ", ")+quantity(row.per(row.within), " bits/value"))
		}
	}
	return t.Flush()
}

// numbersTook is what numbers take: bytes in each form, and times.
type numbersTook struct {
	raw, plain, plain16, dict, dict16, columns, within int
	values, snapshots                                  int
	write, read, cold                                  time.Duration
}

func (n numbersTook) per(bytes int) float64 { return float64(bytes) * 8 / float64(n.values) }

func (n numbersTook) String() string {
	return fmt.Sprintf("%d|%d|%.1f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.0f|%.0f|%v", n.snapshots, n.values, n.per(n.raw), n.per(n.plain), n.per(n.plain16),
		n.per(n.dict), n.per(n.dict16), n.per(n.columns), n.per(n.within), float64(n.snapshots)/n.write.Seconds(), float64(n.snapshots)/n.read.Seconds(), n.cold.Round(time.Microsecond))
}

func numbersOf(all []history) (n numbersTook, err error) {
	for _, h := range all {
		for _, s := range h.snapshots {
			n.raw += s.Size()
		}
		n.snapshots += len(h.snapshots)
		n.values += h.values
		config := codec.Config{Payload: h.typ, Types: h.types}
		messages, _, err := encoded(config, h.snapshots)
		if err != nil {
			return n, err
		}
		n.plain += chunked(messages, math.MaxInt)
		n.plain16 += chunked(messages, 16)
		config.Codec = codec.Zstd
		// Trained on the first half, as an episode before would be.
		var samples [][]byte
		for _, s := range h.snapshots[:len(h.snapshots)/2] {
			samples = append(samples, s.Instances[0].Payload.Bytes)
		}
		if config.Dictionary, err = codec.TrainDictionary(samples); err != nil {
			config.Dictionary = nil // too little to learn from
		}
		if messages, _, err = encoded(config, h.snapshots); err != nil {
			return n, err
		}
		n.dict += chunked(messages, math.MaxInt)
		n.dict16 += chunked(messages, 16)
		config = codec.Config{Codec: codec.Columns, Payload: h.typ, Types: h.types}
		messages, took, err := encoded(config, h.snapshots)
		if err != nil {
			return n, err
		}
		n.write += took
		for _, m := range messages {
			n.columns += len(m.Bytes)
		}
		whole, one, err := decoded(config, messages)
		if err != nil {
			return n, err
		}
		n.read += whole
		n.cold = max(n.cold, one)
		config.MaxError = 1e-4
		if messages, _, err = encoded(config, h.snapshots); err != nil {
			return n, err
		}
		for _, m := range messages {
			n.within += len(m.Bytes)
		}
	}
	return n, nil
}

// encoded returns all messages of the snapshots, and how long it took to make them.
func encoded(c codec.Config, snapshots []*engram.Snapshot) (messages []codec.Message, took time.Duration, err error) {
	ctx := context.Background()
	enc, _, err := codec.NewEncoder(c)
	if err != nil {
		return nil, 0, err
	}
	defer enc.Close()
	emit := func(m codec.Message) error { messages = append(messages, m); return nil }
	began := time.Now()
	for _, s := range snapshots {
		if err := enc.Encode(ctx, s, emit); err != nil {
			return nil, 0, err
		}
	}
	err = enc.Flush(ctx, emit)
	return messages, time.Since(began), err
}

// decoded returns how long it takes to read all messages, and the longest time to
// read one snapshot of one.
func decoded(c codec.Config, messages []codec.Message) (all, one time.Duration, err error) {
	ctx := context.Background()
	dec, err := codec.NewDecoder(c)
	if err != nil {
		return 0, 0, err
	}
	defer dec.Close()
	best := func(m codec.Message, want []bool) (time.Duration, error) {
		least := time.Duration(math.MaxInt64)
		for range 5 {
			began := time.Now()
			if _, err := dec.Decode(ctx, m, want); err != nil {
				return 0, err
			}
			least = min(least, time.Since(began))
		}
		return least, nil
	}
	for _, m := range messages {
		took, err := best(m, nil)
		if err != nil {
			return 0, 0, err
		}
		all += took
		want := make([]bool, len(m.Snapshots))
		want[len(want)-1] = true
		if took, err = best(m, want); err != nil {
			return 0, 0, err
		}
		one = max(one, took)
	}
	return all, one, nil
}

// chunked returns the bytes of messages in compressed chunks of 256 KiB or so many
// messages, whichever is less, without what MCAP adds to each message.
func chunked(messages []codec.Message, most int) (sum int) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // there are no options that could be wrong
	}
	defer w.Close()
	var chunk []byte
	n := 0
	end := func() {
		sum += len(w.EncodeAll(chunk, nil))
		chunk, n = chunk[:0], 0
	}
	for i, m := range messages {
		if chunk = append(chunk, m.Bytes...); len(chunk) >= 256<<10 || n+1 >= most || i == len(messages)-1 {
			end()
			continue
		}
		n++
	}
	return sum
}

// histories imports a recording and returns what a core segment has of it, images
// and texts left out.
func histories(path, core string) ([]history, error) {
	all := memories.All()
	for i := range all {
		all[i].Bounds = engram.Bounds{}
		for j := range all[i].Segments {
			all[i].Segments[j].History = engram.Bounds{}
		}
	}
	types := idf.NewRegistry()
	s, err := server.New(server.Config{Memories: all, Types: types})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx := context.Background()
	if _, err := ingest.Import(ctx, s, path, ingest.Options{}); err != nil {
		return nil, err
	}
	result, err := s.Query(ctx, engram.MustPattern(core).Select(engram.All()))
	if err != nil {
		return nil, err
	}
	var hs []history
	for it := range result.All() {
		id := it.ID.Truncate(engram.LevelEntity)
		typ, ok := types.Get(it.Instances[0].Payload.Type)
		if _, isImage := codec.ForImages(typ, false); !ok || isImage {
			continue
		}
		if n := len(hs); n == 0 || hs[n-1].id != id {
			hs = append(hs, history{id: id, typ: typ, types: types})
		}
		h := &hs[len(hs)-1]
		h.snapshots = append(h.snapshots, it.Snapshot)
		if err := typ.Walk(it.Instances[0].Payload.Bytes, idf.KindNumber, func(*idf.Found) bool { h.values++; return true }); err != nil {
			return nil, err
		}
	}
	return hs, nil
}
