// Package kv is the name system on the backbone: a JetStream key-value bucket whose
// keys run out unless they are renewed.
//
// The bucket lies in the robot's own JetStream domain, in memory: it is as alive as
// the backbone, and servers register again when that has begun anew. Every key is
// one memory; creating a key that is there fails, so of two servers that claim a
// name at the same time one gets it.
package kv

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/backbone/subject"
	"github.com/seed-301d4374/engram/mns"
)

// Bucket is the name of the key-value bucket.
const Bucket = "engram-names"

// DefaultTTL is how long a lease runs in a bucket that [Open] made: a server that
// dies is gone from the names within this time.
const DefaultTTL = 5 * time.Second

// Registry is a name system on a backbone. It implements mns.Registry. Safe for
// concurrent use. All leases run for the bucket's TTL, whatever a registration asks
// for.
type Registry struct {
	js  jetstream.JetStream
	ttl time.Duration

	mu     sync.Mutex
	leases map[uint64]*lease // granted through this registry
}

var _ mns.Registry = (*Registry)(nil)

// lease is what this registry knows of a lease it granted. Its mutex is held while
// its keys are written.
type lease struct {
	mu      sync.Mutex
	server  string
	values  map[string][]byte // by memory
	written map[string]uint64 // the keys' revisions, by memory
}

// record is a key's value.
type record struct {
	Memory    string   `json:"memory"`
	Server    string   `json:"server"`
	Addresses []string `json:"addresses"`
}

// Open returns the name system of a JetStream domain, and makes its bucket with
// leases of ttl if it is not there; 0 means [DefaultTTL].
func Open(ctx context.Context, js jetstream.JetStream, ttl time.Duration) (*Registry, error) {
	if ttl == 0 {
		ttl = DefaultTTL
	}
	r := &Registry{js: js, ttl: min(max(ttl, mns.MinTTL), mns.MaxTTL), leases: map[uint64]*lease{}}
	if _, err := r.bucket(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// bucket returns the bucket, and makes it anew if the backbone has lost it.
func (r *Registry) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	b, err := r.js.KeyValue(ctx, Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = r.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: Bucket, Description: "Engram's memory name system",
			TTL: r.ttl, LimitMarkerTTL: max(r.ttl, time.Second), MaxBytes: 32 << 20, Storage: jetstream.MemoryStorage,
		})
	}
	if err != nil {
		return nil, failed(ctx, "", err)
	}
	return b, nil
}

// Register implements mns.Registry.
func (r *Registry) Register(ctx context.Context, reg mns.Registration) (mns.Lease, error) {
	if err := reg.Check(); err != nil {
		return mns.Lease{}, err
	}
	b, err := r.bucket(ctx)
	if err != nil {
		return mns.Lease{}, err
	}
	before, err := r.held(ctx, b, reg.Server)
	if err != nil {
		return mns.Lease{}, err
	}
	ls := &lease{server: reg.Server, values: map[string][]byte{}, written: map[string]uint64{}}
	for _, m := range reg.Memories {
		if ls.values[m], err = json.Marshal(record{Memory: m, Server: reg.Server, Addresses: reg.Addresses}); err != nil {
			return mns.Lease{}, engram.Errorf(engram.Internal, m, "the registration cannot be encoded: %w", err)
		}
	}
	for m, value := range ls.values {
		if ls.written[m], err = claim(ctx, b, m, reg.Server, value); err != nil {
			for m, revision := range ls.written {
				if _, had := before[m]; !had && revision > 0 {
					_ = b.Delete(ctx, subject.Token(m), jetstream.LastRevision(revision)) // it runs out otherwise
				}
			}
			return mns.Lease{}, err
		}
	}
	for m, revision := range before { // what it gives up
		if _, kept := ls.values[m]; !kept {
			if err := b.Delete(ctx, subject.Token(m), jetstream.LastRevision(revision)); err != nil && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
				return mns.Lease{}, failed(ctx, m, err)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, old := range r.leases {
		if old.server == reg.Server {
			delete(r.leases, id)
		}
	}
	id := rand.Uint64() | 1 // not to be mistaken for a lease of another life
	r.leases[id] = ls
	return mns.Lease{ID: id, TTL: r.ttl}, nil
}

// claim writes the key of a memory that no other server holds.
func claim(ctx context.Context, b jetstream.KeyValue, memory, server string, value []byte) (revision uint64, err error) {
	key := subject.Token(memory)
	for {
		revision, err = b.Create(ctx, key, value)
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return revision, failed(ctx, memory, err)
		}
		held, err := b.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // it ran out in between
		}
		if err != nil {
			return 0, failed(ctx, memory, err)
		}
		e, err := entry(held)
		if err != nil {
			return 0, err
		}
		if e.Server != server {
			return 0, mns.Taken(e)
		}
		revision, err = b.Update(ctx, key, value, held.Revision())
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return revision, failed(ctx, memory, err)
		}
	}
}

// held returns the memories that a server holds, with their keys' revisions.
func (r *Registry) held(ctx context.Context, b jetstream.KeyValue, server string) (map[string]uint64, error) {
	out := map[string]uint64{}
	err := each(ctx, b, func(e mns.Entry, revision uint64) {
		if e.Server == server {
			out[e.Memory] = revision
		}
	})
	return out, err
}

// each calls f with every entry of the bucket.
func each(ctx context.Context, b jetstream.KeyValue, f func(e mns.Entry, revision uint64)) error {
	w, err := b.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return failed(ctx, "", err)
	}
	defer w.Stop()
	for {
		select {
		case kv, ok := <-w.Updates():
			if !ok {
				return failed(ctx, "", context.Cause(ctx))
			}
			if kv == nil {
				return nil
			}
			e, err := entry(kv)
			if err != nil {
				return err
			}
			f(e, kv.Revision())
		case <-ctx.Done():
			return failed(ctx, "", ctx.Err())
		}
	}
}

// Renew implements mns.Registry.
func (r *Registry) Renew(ctx context.Context, id uint64) error {
	r.mu.Lock()
	ls := r.leases[id]
	r.mu.Unlock()
	if ls == nil {
		return errExpired
	}
	b, err := r.bucket(ctx)
	if err != nil {
		return err
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for m, revision := range ls.written {
		ls.written[m], err = b.Update(ctx, subject.Token(m), ls.values[m], revision)
		switch {
		case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			r.mu.Lock()
			delete(r.leases, id)
			r.mu.Unlock()
			return errExpired
		case err != nil:
			ls.written[m] = revision
			return failed(ctx, m, err)
		}
	}
	return nil
}

var errExpired = engram.Errorf(engram.NotFound, "", "the lease has expired or is of an earlier life of the name system; register again")

// Release implements mns.Registry.
func (r *Registry) Release(ctx context.Context, id uint64) error {
	r.mu.Lock()
	ls := r.leases[id]
	delete(r.leases, id)
	r.mu.Unlock()
	if ls == nil {
		return nil
	}
	b, err := r.bucket(ctx)
	if err != nil {
		return err
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for m, revision := range ls.written {
		if err := b.Delete(ctx, subject.Token(m), jetstream.LastRevision(revision)); err != nil && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return failed(ctx, m, err)
		}
	}
	return nil
}

// Resolve implements mns.Registry.
func (r *Registry) Resolve(ctx context.Context, memory string) (mns.Entry, error) {
	b, err := r.bucket(ctx)
	if err != nil {
		return mns.Entry{}, err
	}
	kv, err := b.Get(ctx, subject.Token(memory))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		entries, err := r.List(ctx)
		if err != nil {
			return mns.Entry{}, err
		}
		var known []string
		for _, e := range entries {
			known = append(known, e.Memory)
		}
		return mns.Entry{}, mns.Unknown(memory, known)
	}
	if err != nil {
		return mns.Entry{}, failed(ctx, memory, err)
	}
	return entry(kv)
}

// Wait implements mns.Registry.
func (r *Registry) Wait(ctx context.Context, memory string) (mns.Entry, error) {
	if err := engram.CheckName(memory); err != nil {
		return mns.Entry{}, err
	}
	for e, err := range r.Watch(ctx) {
		if err != nil {
			return mns.Entry{}, err
		}
		if e.Entry.Memory == memory && !e.Removed {
			return e.Entry, nil
		}
	}
	return mns.Entry{}, failed(ctx, memory, context.Cause(ctx))
}

// List implements mns.Registry.
func (r *Registry) List(ctx context.Context) ([]mns.Entry, error) {
	b, err := r.bucket(ctx)
	if err != nil {
		return nil, err
	}
	var out []mns.Entry
	if err := each(ctx, b, func(e mns.Entry, _ uint64) { out = append(out, e) }); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b mns.Entry) int { return strings.Compare(a.Memory, b.Memory) })
	return out, nil
}

// Watch implements mns.Registry. A renewal is no change. When the backbone has begun
// anew, the watch ends as Unavailable.
func (r *Registry) Watch(ctx context.Context) iter.Seq2[mns.Event, error] {
	return func(yield func(mns.Event, error) bool) {
		b, err := r.bucket(ctx)
		if err != nil {
			yield(mns.Event{}, err)
			return
		}
		born, err := created(ctx, b)
		if err != nil {
			yield(mns.Event{}, failed(ctx, "", err))
			return
		}
		w, err := b.WatchAll(ctx)
		if err != nil {
			yield(mns.Event{}, failed(ctx, "", err))
			return
		}
		defer w.Stop()
		check := time.NewTicker(r.ttl)
		defer check.Stop()
		known := map[string]mns.Entry{}
		for {
			select {
			case kv, ok := <-w.Updates():
				if !ok {
					yield(mns.Event{}, engram.Errorf(engram.Unavailable, Bucket, "the name system ended the watch"))
					return
				}
				ev, changed, err := change(known, kv)
				if err != nil {
					yield(mns.Event{}, err)
					return
				}
				if changed && !yield(ev, nil) {
					return
				}
			case <-check.C:
				call, cancel := context.WithTimeout(ctx, r.ttl)
				now, err := created(call, b)
				cancel()
				if err == nil && !now.Equal(born) {
					err = errors.New("it began anew; watch again")
				}
				if err != nil {
					yield(mns.Event{}, failed(ctx, Bucket, err))
					return
				}
			case <-ctx.Done():
				yield(mns.Event{}, failed(ctx, "", ctx.Err()))
				return
			}
		}
	}
}

// change returns the event that an entry of the bucket means to who knows known,
// and adds it there.
func change(known map[string]mns.Entry, kv jetstream.KeyValueEntry) (ev mns.Event, changed bool, err error) {
	if kv == nil {
		return mns.Event{Synced: true}, true, nil
	}
	if kv.Operation() != jetstream.KeyValuePut {
		old, ok := known[kv.Key()]
		delete(known, kv.Key())
		return mns.Event{Entry: mns.Entry{Memory: old.Memory}, Removed: true}, ok, nil
	}
	e, err := entry(kv)
	if err != nil {
		return mns.Event{}, false, err
	}
	old, ok := known[kv.Key()]
	known[kv.Key()] = e
	return mns.Event{Entry: e}, !ok || old.Server != e.Server || !slices.Equal(old.Addresses, e.Addresses), nil
}

// created tells one life of the bucket from another.
func created(ctx context.Context, b jetstream.KeyValue) (time.Time, error) {
	s, err := b.Status(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if bs, ok := s.(*jetstream.KeyValueBucketStatus); ok {
		return bs.StreamInfo().Created, nil
	}
	return time.Time{}, nil
}

func entry(kv jetstream.KeyValueEntry) (mns.Entry, error) {
	var rec record
	if err := json.Unmarshal(kv.Value(), &rec); err != nil {
		return mns.Entry{}, engram.Errorf(engram.Corrupt, kv.Key(), "the name system's entry cannot be read; was it written by another program? %w", err)
	}
	return mns.Entry{Memory: rec.Memory, Addresses: rec.Addresses, Server: rec.Server}, nil
}

// failed makes an error of the backbone one of the domain.
func failed(ctx context.Context, thing string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return engram.Errorf(engram.Canceled, thing, "given up while asking the name system: %w", err)
	}
	return engram.Errorf(engram.Unavailable, thing, "the name system on the backbone did not answer: %w", err)
}
