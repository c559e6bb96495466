package episode_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// numbers returns the payloads of a robot's slowly changing numbers, about 100 B.
func numbers(rng *rand.Rand, i int) string {
	b := make([]byte, 0, 100)
	for k := range 12 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(math.Sin(float64(i)/300+float64(k))+rng.NormFloat64()*1e-3))
	}
	return string(b)
}

// BenchmarkAdd stores versions of 100 B of one entity.
func BenchmarkAdd(b *testing.B) {
	w := create(b, b.TempDir(), episode.Options{})
	ch := channel(b, joints)
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([]*engram.Snapshot, 4096)
	for i := range list {
		list[i] = snapshot(engram.Time(1e18+i*1e6), uint64(i), numbers(rng, i))
	}
	b.SetBytes(96)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s := *list[n%len(list)]
		s.Time = engram.Time(1e18 + n*1e6)
		s.Arrived, s.Number = s.Time+1000, uint64(n)
		add(b, w, ch, &s, false)
		n++
	}
	seal(b, w)
}

// hour is one hour of 1,000,000 versions in one episode, of one entity ("one") or
// of 100 in turn.
var hour = map[int]func() string{1: sync.OnceValue(func() string { return recordHour(1) }), 100: sync.OnceValue(func() string { return recordHour(100) })}

var hourDir string

func entityNumber(i int) engram.ID {
	return engram.MustID(fmt.Sprintf("RobotState/Proprioception/Armar/joint-%03d", i))
}

func recordHour(entities int) string {
	const versions = 1_000_000
	dir := filepath.Join(hourDir, fmt.Sprint(entities))
	w, err := episode.Create(hourDir, fmt.Sprintf("hour-%d.mcap", entities), episode.Info{}, episode.Options{Types: registry})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	t := &testing.B{}
	channels := make([]*episode.Channel, entities)
	for i := range channels {
		channels[i] = channel(t, entityNumber(i))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range versions {
		s := snapshot(engram.Time(1e18+i*3_600_000), uint64(i), numbers(rng, i))
		if err := w.Add(context.Background(), channels[i%entities], s, false); err != nil {
			panic(err)
		}
		if i%1400 == 0 { // as often as time would have it written
			if err := w.Flush(context.Background()); err != nil {
				panic(err)
			}
		}
	}
	if _, err := w.Seal(context.Background()); err != nil {
		panic(err)
	}
	return dir + ".mcap"
}

func hourFile(b *testing.B, entities int) string {
	hour[entities]()
	return filepath.Join(hourDir, fmt.Sprintf("hour-%d.mcap", entities))
}

// atOrBefore finds one version by time, as a query does.
func atOrBefore(b *testing.B, r episode.Source, entity engram.ID, at engram.Time) *engram.Snapshot {
	tl, err := r.Timeline(entity)
	if err != nil {
		b.Fatal(err)
	}
	blocks := tl.Blocks()
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Span.Start > at {
			continue
		}
		index, err := tl.Index(context.Background(), i)
		if err != nil {
			b.Fatal(err)
		}
		k := len(index) - 1
		for k > 0 && index[k].Time > at {
			k--
		}
		got, err := tl.Load(context.Background(), i, k, k+1)
		if err != nil {
			b.Fatal(err)
		}
		return got[0]
	}
	b.Fatal("nothing found")
	return nil
}

// BenchmarkOneValue reads one value at a random time of an hour of 1,000,000
// versions: without a cache, and with one that holds it.
func BenchmarkOneValue(b *testing.B) {
	for _, entities := range []int{1, 100} {
		path := hourFile(b, entities)
		rng := rand.New(rand.NewPCG(1, 2))
		random := func() (engram.ID, engram.Time) {
			return entityNumber(rng.IntN(entities)), engram.Time(1e18 + rng.IntN(900_000)*3_600_000 + 100*3_600_000)
		}
		b.Run(fmt.Sprintf("entities=%d/cold", entities), func(b *testing.B) {
			r := open(b, path, episode.Options{Types: registry})
			for b.Loop() {
				e, at := random()
				atOrBefore(b, r, e, at)
			}
		})
		b.Run(fmt.Sprintf("entities=%d/warm", entities), func(b *testing.B) {
			r := open(b, path, episode.Options{Types: registry, Cache: episode.NewCache(64 << 20)})
			e, at := random()
			for b.Loop() {
				at += 3_600_000
				if at > 1e18+900_000*3_600_000 {
					at = 1e18 + 360_000_000
				}
				atOrBefore(b, r, e, at)
			}
		})
	}
}

// BenchmarkRange reads all versions of one entity in order.
func BenchmarkRange(b *testing.B) {
	for _, entities := range []int{1, 100} {
		b.Run(fmt.Sprintf("entities=%d", entities), func(b *testing.B) {
			r := open(b, hourFile(b, entities), episode.Options{Types: registry, Cache: episode.NewCache(16 << 20)})
			n := 0
			for b.Loop() {
				n += len(allOf(b, r, entityNumber(0)))
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "snapshots/s")
		})
	}
}

func allOf(b *testing.B, r episode.Source, entity engram.ID) (last []*engram.Snapshot) {
	tl, err := r.Timeline(entity)
	if err != nil {
		b.Fatal(err)
	}
	for i, block := range tl.Blocks() {
		got, err := tl.Load(context.Background(), i, 0, block.Count)
		if err != nil {
			b.Fatal(err)
		}
		last = append(last, got...)
	}
	return last
}

// BenchmarkOpen opens a sealed episode of 100 entities and an hour.
func BenchmarkOpen(b *testing.B) {
	path := hourFile(b, 100)
	for b.Loop() {
		r, err := episode.Open(path, episode.Options{Types: registry})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
