package episode_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// Two codecs that behave as the real ones do, made to be seen through: "chain" is
// like video, "pack" like columns.

const (
	chainGroup = 5 // messages from one key to the next
	chainLag   = 2 // versions that the encoder holds back
	packSize   = 7 // versions in a message
)

func init() {
	episode.SetCodecs(
		func(c codec.Config) (codec.Encoder, []byte) {
			switch c.Codec {
			case "chain":
				return &chainEncoder{}, []byte("chain parameters")
			case "pack":
				return &packEncoder{}, nil
			case "tiny":
				return tinyEncoder{}, nil
			}
			return nil, nil
		},
		func(c codec.Config) codec.Decoder {
			switch c.Codec {
			case "chain":
				if string(c.Params) != "chain parameters" {
					panic("the decoder is not given what the encoder wrote for it")
				}
				lastConfig.Store(&c)
				return &chainDecoder{}
			case "pack":
				return packDecoder{}
			}
			return nil
		})
}

// lastConfig is what the last decoder of chains was made with.
var lastConfig atomic.Pointer[codec.Config]

// isCoded tells coded messages from plain ones: both are of the payload's own type.
func isCoded(b []byte) bool { return bytes.HasPrefix(b, []byte("coded:")) }

// tinyEncoder writes nothing of payloads.
type tinyEncoder struct{}

func (tinyEncoder) Encode(_ context.Context, s *engram.Snapshot, emit func(codec.Message) error) error {
	return emit(codec.Message{Type: engram.ValueType, Key: true, Snapshots: []*engram.Snapshot{s}})
}
func (tinyEncoder) Flush(context.Context, func(codec.Message) error) error { return nil }
func (tinyEncoder) Pending() []*engram.Snapshot                            { return nil }
func (tinyEncoder) Close() error                                           { return nil }

// chainEncoder writes each payload XORed with the one before, but for keys.
type chainEncoder struct {
	held []*engram.Snapshot
	last []byte
	n    int
}

func (e *chainEncoder) Encode(ctx context.Context, s *engram.Snapshot, emit func(codec.Message) error) error {
	if len(s.Instances) > 1 { // cannot be coded
		if err := e.Flush(ctx, emit); err != nil {
			return err
		}
		return codec.EmitPlain(s, emit)
	}
	if e.held = append(e.held, s); len(e.held) > chainLag {
		return e.emitOne(emit)
	}
	return nil
}

func (e *chainEncoder) emitOne(emit func(codec.Message) error) error {
	s := e.held[0]
	e.held = e.held[1:]
	p := s.Instances[0].Payload
	key := e.n%chainGroup == 0
	if key {
		e.last = nil
	}
	e.n++
	coded := append([]byte("coded:"), p.Bytes...)
	for i := range min(len(p.Bytes), len(e.last)) {
		coded[6+i] ^= e.last[i]
	}
	e.last = p.Bytes
	return emit(codec.Message{Type: p.Type, Bytes: coded, Key: key, Snapshots: []*engram.Snapshot{codec.WithoutPayload(s)}})
}

func (e *chainEncoder) Flush(_ context.Context, emit func(codec.Message) error) error {
	for len(e.held) > 0 {
		if err := e.emitOne(emit); err != nil {
			return err
		}
	}
	e.n = 0
	return nil
}

func (e *chainEncoder) Pending() []*engram.Snapshot { return e.held }
func (e *chainEncoder) Close() error                { return nil }

type chainDecoder struct {
	last  []byte
	begun bool
	parts [][]byte
}

func (d *chainDecoder) Decode(_ context.Context, m codec.Message, want []bool) ([]*engram.Snapshot, error) {
	var s *engram.Snapshot
	if len(m.Snapshots) > 0 {
		c := *m.Snapshots[0]
		c.Instances = append([]engram.Instance(nil), c.Instances...)
		s = &c
	}
	if !isCoded(m.Bytes) {
		if m.Key {
			d.parts = nil
		}
		d.parts = append(d.parts, m.Bytes)
		if s == nil {
			return nil, nil
		}
		for i := range s.Instances {
			s.Instances[i].Payload.Bytes = bytes.Clone(d.parts[i])
		}
		d.parts = nil
		return []*engram.Snapshot{s}, nil
	}
	if m.Key {
		d.last, d.begun = nil, true
	}
	if !d.begun {
		return nil, fmt.Errorf("decoding begins at a message that is no key")
	}
	b := bytes.Clone(m.Bytes[6:])
	for i := range min(len(b), len(d.last)) {
		b[i] ^= d.last[i]
	}
	d.last = b
	if want == nil || want[0] {
		s.Instances[0].Payload.Bytes = b
	}
	return []*engram.Snapshot{s}, nil
}

func (d *chainDecoder) Close() error { return nil }

// packEncoder writes several versions as one message.
type packEncoder struct{ held []*engram.Snapshot }

func (e *packEncoder) Encode(ctx context.Context, s *engram.Snapshot, emit func(codec.Message) error) error {
	if e.held = append(e.held, s); len(e.held) == packSize {
		return e.Flush(ctx, emit)
	}
	return nil
}

func (e *packEncoder) Flush(_ context.Context, emit func(codec.Message) error) error {
	if len(e.held) == 0 {
		return nil
	}
	m := codec.Message{Type: engram.ValueType, Bytes: []byte("coded:"), Key: true}
	for _, s := range e.held {
		for i := range s.Instances {
			m.Bytes = binary.AppendUvarint(m.Bytes, uint64(len(s.Instances[i].Payload.Bytes)))
			m.Bytes = append(m.Bytes, s.Instances[i].Payload.Bytes...)
		}
		m.Snapshots = append(m.Snapshots, codec.WithoutPayload(s))
	}
	e.held = nil
	return emit(m)
}

func (e *packEncoder) Pending() []*engram.Snapshot { return e.held }
func (e *packEncoder) Close() error                { return nil }

type packDecoder struct{}

func (packDecoder) Decode(_ context.Context, m codec.Message, want []bool) ([]*engram.Snapshot, error) {
	b := m.Bytes[6:]
	var out []*engram.Snapshot
	for k, s := range m.Snapshots {
		c := *s
		c.Instances = append([]engram.Instance(nil), c.Instances...)
		for i := range c.Instances {
			n, w := binary.Uvarint(b)
			c.Instances[i].Payload.Bytes = bytes.Clone(b[w : w+int(n)])
			b = b[w+int(n):]
		}
		if want != nil && !want[k] {
			out = append(out, nil)
			continue
		}
		out = append(out, &c)
	}
	return out, nil
}

func (packDecoder) Close() error { return nil }

// Frames that depend on others are found wherever reading begins, also across
// chunks, and the next one in order costs one step.
func TestLoadFromChains(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, episode.Options{FS: quick.FS, ChunkBytes: 200})
	ch := channel(t, joints)
	ch.Codec.Codec = "chain"
	var want []*engram.Snapshot
	for i := range 100 {
		s := snapshot(engram.Time(1e18+i), uint64(i), secret(i))
		want = append(want, s)
		add(t, w, ch, s, false)
	}
	seal(t, w)
	for _, cache := range []*episode.Cache{nil, episode.NewCache(1 << 20)} {
		r := open(t, w.Info().Name, episode.Options{FS: in{quick.FS, dir}, Types: registry, Cache: cache})
		tl, err := r.Timeline(joints)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		var starts []int
		for _, b := range tl.Blocks() {
			starts = append(starts, at)
			at += b.Count
		}
		if at != 100 || len(starts) < 2 {
			t.Fatalf("%d versions in %d blocks", at, len(starts))
		}
		for _, n := range []int{99, 98, 3, 4, 5, 6, 50, 49, 51, 0, 99} {
			i := len(starts) - 1
			for starts[i] > n {
				i--
			}
			got, err := tl.Load(context.Background(), i, n-starts[i], n-starts[i]+1)
			if err != nil {
				t.Fatal(err)
			}
			if d := sameVersion(got[0], want[n], true); d != "" {
				t.Errorf("version %d %s", n, d)
			}
		}
		r.Close()
	}
}

// What a codec needs for decoding goes with the channel, also through a repair.
func TestDecodersGetWhatEncodersHad(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, episode.Options{FS: quick.FS})
	ch := channel(t, joints)
	ch.Codec = codec.Config{Codec: "chain", Quality: 42.5, MaxError: 1e-4, Dictionary: []byte("words that come often")}
	s := snapshot(1e18, 1, "payload")
	add(t, w, ch, s, false)
	seal(t, w)
	path, repaired := filepath.Join(dir, name), filepath.Join(dir, "repaired.mcap")
	if _, problems, err := episode.Repair(context.Background(), path, repaired, quick); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for _, p := range []string{path, repaired} {
		lastConfig.Store(nil)
		compare(t, open(t, p, quick), map[engram.ID][]*engram.Snapshot{joints: {s}})
		c := lastConfig.Load()
		if c == nil || c.Quality != 42.5 || c.MaxError != 1e-4 || string(c.Dictionary) != "words that come often" || c.Payload.Name() != engram.ValueType || c.Types != registry {
			t.Errorf("%s: the decoder is made with %+v", p, c)
		}
	}
}
