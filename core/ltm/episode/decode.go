package episode

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// maxBack bounds how many messages are read back to find one to begin decoding at.
const maxBack = 10000

// codedMessage is a message of a run that is not in plain form.
type codedMessage struct {
	place         messagePlace
	codec.Message // but for Snapshots
	run           *placedRun
	first, last   int // the run's versions that it completes
}

// placeBytes is about what a message takes without its bytes and its run.
const placeBytes = 160

// messagePlace is where a message's record lies: its chunk, and its offset there.
type messagePlace struct{ chunk, at int64 }

// coded returns the messages of a run that is not in plain form.
func (t *timeline) coded(ctx context.Context, r *placedRun) ([]codedMessage, error) {
	b, err := t.records(ctx, r)
	if err != nil {
		return nil, err
	}
	list := make([]codedMessage, 0, min(len(r.form), len(b)/(recordHead+messageHead)))
	end, version := int64(r.offset)+int64(len(b)), 0
	for i, f := range r.form {
		content, rest, ok := r.cut(b, i)
		m, whole := parseMessage(content)
		if !ok || !whole {
			return nil, engram.Errorf(engram.Corrupt, t.path, "the messages of a run of %s in the chunk at %d do not fit its envelope", t.entity, r.at)
		}
		def := t.channel(m.channel)
		if def == nil {
			return nil, engram.Errorf(engram.Corrupt, t.path, "the channel %d of a message of %s is not defined", m.channel, t.entity)
		}
		at := end - int64(len(rest)+len(content)+recordHead)
		list = append(list, codedMessage{messagePlace{r.at, at}, codec.Message{
			Type: def.message, Bytes: m.data, Key: f.key, Instance: int(f.instance),
		}, r, version, version + int(f.completes)})
		version += int(f.completes)
		b = rest
	}
	return list, nil
}

// loadCoded loads the versions first to last of run k of block i.
func loadCoded[T any](ctx context.Context, t *timeline, i int, x *blockIndex, k, first, last int, out []T, as form[T]) (err error) {
	r := x.runs[k]
	held, all := as.enter(r, first, last)
	defer as.leave(r, first, last)
	if all {
		copy(out, held)
		return nil
	}
	// What the cache has of them is found without the messages themselves.
	key := cacheKey{source: t.source, kind: cachePlaces, offset: r.at, at: int64(r.offset)}
	places, bare := t.cache.get(key)
	messages, _ := places.([]codedMessage)
	if !bare {
		if messages, err = t.coded(ctx, r); err != nil {
			return err
		}
		places := slices.Clone(messages)
		for i := range places {
			places[i].Bytes, places[i].run = nil, nil
		}
		t.cache.put(key, places, int64(len(places)*placeBytes))
	}
	def := t.channel(r.channel)
	if def == nil {
		return engram.Errorf(engram.Corrupt, t.path, "the channel %d of %s is not defined", r.channel, t.entity)
	}
	decoder := decoderKey{t.number, def.config.Codec, string(def.config.Params)}
	var d *pooledDecoder
	defer func() {
		if d != nil {
			t.decoders.put(d, err == nil)
		}
	}()
	for j := range messages {
		m := &messages[j]
		a, b := max(first, m.first), min(last, m.last)
		if a >= b {
			continue
		}
		at := cacheKey{source: t.source, kind: cacheDecoded, offset: m.place.chunk, at: m.place.at}
		if got, held := as.held(m, at); held {
			copy(out[a-first:b-first], got[a-m.first:b-m.first])
			continue
		}
		if bare {
			if messages, err = t.coded(ctx, r); err != nil {
				return err
			}
			m, bare = &messages[j], false
		}
		if d == nil || !m.Key && (j == 0 || d.last != messages[j-1].place) {
			if d != nil {
				t.decoders.put(d, true)
				d = nil
			}
			if d, err = t.decoderAt(ctx, decoder, def, i, x, k, messages, j); err != nil {
				return err
			}
		}
		var want []bool
		if t.cache == nil {
			want = make([]bool, m.last-m.first)
			for v := a; v < b; v++ {
				want[v-m.first] = true
			}
		}
		got, err2 := as.decode(ctx, d, m, want, at)
		if err2 != nil {
			return engram.Errorf(engram.CodeOf(err2), t.path, "a message of %s in the chunk at %d cannot be decoded: %w", t.entity, m.place.chunk, err2)
		}
		copy(out[a-first:b-first], got[a-m.first:b-m.first])
	}
	return nil
}

// decoderAt returns a decoder that is ready for message j of run k of block i: one
// that decoded the message before it, or one that decoded all from a key on.
func (t *timeline) decoderAt(ctx context.Context, key decoderKey, def *channelDef, i int, x *blockIndex, k int, messages []codedMessage, j int) (*pooledDecoder, error) {
	var steps []codedMessage // from the one before j back
	var d *pooledDecoder
	for back := messages[:j]; !messages[j].Key; {
		for len(back) == 0 { // on with the run before
			if k--; k < 0 {
				if i--; i < 0 {
					return nil, engram.Errorf(engram.Corrupt, t.path, "no message of %s is left from which decoding can begin", t.entity)
				}
				var err error
				if x, err = t.index(ctx, i); err != nil {
					return nil, err
				}
				k = len(x.runs)
				continue
			}
			if x.runs[k].form == nil {
				continue // values in force, between
			}
			var err error
			if back, err = t.coded(ctx, x.runs[k]); err != nil {
				return nil, err
			}
		}
		m := back[len(back)-1]
		if d = t.decoders.take(key, &m.place); d != nil {
			break
		}
		steps = append(steps, m)
		if m.Key {
			break
		}
		if len(steps) > maxBack {
			return nil, engram.Errorf(engram.Corrupt, t.path, "no message of %s from which decoding can begin is among the %d before", t.entity, maxBack)
		}
		back = back[:len(back)-1]
	}
	if d == nil {
		if d = t.decoders.take(key, nil); d == nil {
			config := def.config
			config.Types = t.types
			config.Payload, _ = t.types.Get(def.typ)
			dec, err := newDecoder(config)
			if err != nil {
				return nil, engram.Errorf(engram.CodeOf(err), t.path, "%w", err)
			}
			d = &pooledDecoder{key: key, Decoder: dec}
		}
	}
	for n := range slices.Backward(steps) {
		m := &steps[n]
		if _, err := d.decode(ctx, m, make([]bool, m.last-m.first), nil); err != nil {
			t.decoders.put(d, false)
			return nil, engram.Errorf(engram.CodeOf(err), t.path, "a message of %s in the chunk at %d cannot be decoded: %w", t.entity, m.place.chunk, err)
		}
	}
	return d, nil
}

// decoderPool keeps a few decoders where they stopped: who reads frame after frame
// decodes each once. Any may begin anew at a key.
type decoderPool struct {
	mu     sync.Mutex
	idle   []*pooledDecoder // the last used last
	closed bool
}

// maxIdleDecoders bounds the decoders, some of which are processes, that an
// episode keeps.
const maxIdleDecoders = 4

type decoderKey struct {
	entity        int64
	codec, params string
}

type pooledDecoder struct {
	codec.Decoder
	key  decoderKey
	last messagePlace // decoded
}

// decode decodes a message and checks that it gave what it was to give.
func (d *pooledDecoder) decode(ctx context.Context, m *codedMessage, want []bool, members codec.Members) ([]*engram.Snapshot, error) {
	return decoded(d, m, &snapshotRoom{}, func(coded codec.Message) ([]*engram.Snapshot, error) {
		if members != nil {
			return d.Decoder.(codec.MemberDecoder).DecodeMembers(ctx, coded, want, members)
		}
		return d.Decode(ctx, coded, want)
	})
}

// decoded decodes a message in a form and checks that this gave what it was to give. The room has the snapshots that the
// message completes.
func decoded[T any](d *pooledDecoder, m *codedMessage, room *snapshotRoom, decode func(coded codec.Message) ([]T, error)) ([]T, error) {
	coded := m.Message
	coded.Snapshots = m.run.columns.snapshotsIn(room, m.first, m.last)
	got, err := decode(coded)
	if err != nil {
		return nil, err
	}
	if len(got) != m.last-m.first {
		return nil, engram.Errorf(engram.Corrupt, "", "it gave %d versions instead of %d", len(got), len(coded.Snapshots))
	}
	d.last = m.place
	return got, nil
}

// take takes a decoder of the key that decoded the message at last, or any of the
// key if last is nil.
func (p *decoderPool) take(key decoderKey, last *messagePlace) *pooledDecoder {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, d := range p.idle {
		if d.key == key && (last == nil || d.last == *last) {
			p.idle = slices.Delete(p.idle, i, i+1)
			return d
		}
	}
	return nil
}

// put gives a decoder back; one that failed is closed.
func (p *decoderPool) put(d *pooledDecoder, good bool) {
	p.mu.Lock()
	out := d
	if good && !p.closed {
		p.idle = append(p.idle, d)
		if out = nil; len(p.idle) > maxIdleDecoders {
			out = p.idle[0]
			p.idle = slices.Delete(p.idle, 0, 1)
		}
	}
	p.mu.Unlock()
	if out != nil {
		out.Close()
	}
}

func (p *decoderPool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, d := range idle {
		d.Close()
	}
}

// prefetcher reads ahead for who loads one block after the other.
type prefetcher struct {
	mu   sync.Mutex
	last map[int64]int // of an entity, the block loaded last
	busy bool
	wg   sync.WaitGroup
}

// maxFollowed bounds the entities whose reading is followed.
const maxFollowed = 1024

// loaded says that block i is being loaded; the caller holds the file open.
func (p *prefetcher) loaded(t *timeline, i int) {
	if t.cache == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, followed := p.last[t.number]
	if len(p.last) >= maxFollowed && !followed || p.last == nil {
		p.last = map[int64]int{}
	}
	p.last[t.number] = i
	if !followed || before != i-1 || p.busy || i+1 >= len(t.table.refs) {
		return
	}
	p.busy = true
	p.wg.Go(func() {
		t.fetch(context.Background(), i+1)
		p.mu.Lock()
		p.busy = false
		p.mu.Unlock()
	})
}

// fetch brings a block and the chunks of its messages into the cache.
func (t *timeline) fetch(ctx context.Context, i int) {
	done, err := t.use()
	if err != nil {
		return
	}
	defer done()
	x, err := t.index(ctx, i)
	if err != nil {
		return // who loads the block is told
	}
	for k := range x.runs {
		if _, err := t.records(ctx, x.runs[k]); err != nil {
			return
		}
	}
}
