// Package kv is the name system on the backbone: a JetStream key-value bucket whose
// keys run out unless they are renewed.
//
// The bucket lies in the robot's own JetStream domain, in memory: it is as alive as
// the backbone, and servers register again when that has begun anew. Every key is
// one memory; creating a key that is there fails, so of two servers that claim a
// name at the same time one gets it. A server that holds copies has one key more,
// which names them.
package kv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// DefaultTTL is how long a lease runs in a bucket that [Open] made: a server that
// dies is gone from the names within this time.
const DefaultTTL = 5 * time.Second

// Registry is a name system on a backbone. It implements mns.Registry. Safe for
// concurrent use. All leases run for the bucket's TTL, whatever a registration asks
// for.
type Registry struct {
	js   jetstream.JetStream
	o    Options
	name string // of the bucket

	mu     sync.Mutex
	leases map[uint64]*lease // granted through this registry
	left   mns.Departures    // that watches of this registry were told of
}

var _ mns.Registry = (*Registry)(nil)

// lease is what this registry knows of a lease it granted. Its mutex is held while
// its keys are written.
type lease struct {
	mu      sync.Mutex
	server  string
	values  map[string][]byte // by key
	written map[string]uint64 // the keys' revisions
}

// record is a key's value: of a memory, or of the copies that a server holds.
type record struct {
	Memory    string   `json:"memory,omitempty"`
	Server    string   `json:"server"`
	Addresses []string `json:"addresses"`
	Copies    []string `json:"copies,omitempty"`
}

// Options configure a [Registry]. Zero fields mean the defaults.
type Options struct {
	// Robot names one of several robots that share a JetStream domain, such as that of an
	// existing NATS cluster: each has a bucket of its own. "" is the domain's own robot.
	Robot string
	// Identity is whom the backbone knows this program as, if it asks who connects.
	Identity string
	// TTL is how long leases run in a bucket that is made; default [DefaultTTL].
	TTL time.Duration
}

// Open returns the name system of a JetStream domain, and makes its bucket if it is not
// there.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Registry, error) {
	o.TTL = min(max(cmp.Or(o.TTL, DefaultTTL), mns.MinTTL), mns.MaxTTL)
	r := &Registry{js: js, o: o, name: subject.Bucket(o.Robot), leases: map[uint64]*lease{}}
	b, err := r.bucket(ctx)
	if err != nil {
		return nil, err
	}
	// In a cluster whose servers were not all there when the bucket was made, it may have
	// too few replicas. Without them it works as before.
	if status, err := b.Status(ctx); err == nil && poor(status) {
		if err := r.ask(ctx); errors.Is(err, errNobody) {
			_, _ = r.make(ctx, r.name)
		}
	}
	return r, nil
}

// replicas are how many servers of a cluster hold the bucket, so that names outlive one of
// them. Two would be worse than one: both would have to live.
const replicas = 3

// poor reports whether a bucket lies in a cluster and has too few replicas.
func poor(s jetstream.KeyValueStatus) bool {
	b, ok := s.(*jetstream.KeyValueBucketStatus)
	return ok && b.StreamInfo().Cluster != nil && b.StreamInfo().Cluster.Name != "" && b.StreamInfo().Config.Replicas < replicas
}

// bucket returns the bucket, and has it made anew if the backbone has lost it.
func (r *Registry) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	b, err := r.js.KeyValue(ctx, r.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if err = r.ask(ctx); err == nil {
			b, err = r.js.KeyValue(ctx, r.name)
		} else if errors.Is(err, errNobody) {
			b, err = r.make(ctx, r.name)
		}
	}
	if err != nil {
		return nil, failed(ctx, "", err)
	}
	return b, nil
}

// ask has the server that embeds the backbone make the bucket: who may make any bucket or
// stream could speak for others with it. The error is errNobody if none embeds it, as with
// a NATS cluster that was there before.
func (r *Registry) ask(ctx context.Context) error {
	account, err := r.js.AccountInfo(ctx)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	reply, err := r.js.Conn().RequestWithContext(wait, subject.MakeBucket(account.Domain, r.name), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders), err != nil && ctx.Err() == nil && wait.Err() != nil:
		return errNobody
	case err == nil && len(reply.Data) > 0:
		return errors.New(string(reply.Data))
	}
	return err
}

var errNobody = errors.New("nobody makes buckets")

// askFor bounds the wait where somebody listens to all subjects and answers none.
const askFor = 2 * time.Second

// make makes a bucket, in a cluster of enough servers with replicas; one that is there it
// gives these.
func (r *Registry) make(ctx context.Context, name string) (jetstream.KeyValue, error) {
	c := jetstream.KeyValueConfig{
		Bucket: name, Description: "Engram's memory name system",
		TTL: r.o.TTL, LimitMarkerTTL: mns.TakeoverTime, MaxBytes: 32 << 20, Storage: jetstream.MemoryStorage,
	}
	there, err := r.js.KeyValue(ctx, name)
	if err == nil {
		status, err := there.Status(ctx)
		if err != nil || !poor(status) {
			return there, err
		}
		c = status.Config()
	}
	c.Replicas = replicas
	b, err := r.js.CreateOrUpdateKeyValue(ctx, c)
	if refused, ok := errors.AsType[*jetstream.APIError](err); ok && (refused.ErrorCode == noCluster || refused.ErrorCode == tooFewPeers) {
		if there != nil {
			return there, nil
		}
		c.Replicas = 1
		b, err = r.js.CreateOrUpdateKeyValue(ctx, c)
	}
	return b, err
}

// Codes by which JetStream refuses replicas: it is no cluster, or has too few servers.
const (
	noCluster   jetstream.ErrorCode = 10074
	tooFewPeers jetstream.ErrorCode = 10005
)

// Provide makes buckets for the servers on the backbone that this process embeds, until
// stop is called: they may not make any themselves.
func (r *Registry) Provide(ctx context.Context) (stop func(), err error) {
	account, err := r.js.AccountInfo(ctx)
	if err != nil {
		return nil, failed(ctx, "", err)
	}
	sub, err := r.js.Conn().Subscribe(subject.MakeBucket(account.Domain, "*"), func(m *nats.Msg) {
		name := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		robot, ok := strings.CutPrefix(name, subject.Bucket("")+"-")
		if !subject.IsInbox(m.Reply) || !(ok && backbone.CheckRobot(robot) == nil || name == subject.Bucket("")) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), nats.DefaultTimeout)
		defer cancel()
		var answer []byte
		if _, err := r.make(ctx, name); err != nil {
			answer = []byte(err.Error())
		}
		_ = m.Respond(answer) // who asked asks again
	})
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, r.name, "the backbone refuses the subscription: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, nil // fails only if the connection is closed already
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
	records := map[string]record{}
	for _, m := range reg.Memories {
		records[subject.Token(m)] = record{Memory: m, Server: reg.Server, Addresses: reg.Addresses}
	}
	if len(reg.Copies) > 0 {
		records[subject.HolderKeys(r.o.Identity)+subject.Token(reg.Server)] = record{Server: reg.Server, Addresses: reg.Addresses, Copies: reg.Copies}
	}
	for key, rec := range records {
		if ls.values[key], err = json.Marshal(rec); err != nil {
			return mns.Lease{}, engram.Errorf(engram.Internal, key, "the registration cannot be encoded: %w", err)
		}
	}
	for key, value := range ls.values {
		if ls.written[key], err = claim(ctx, b, key, value, reg); err != nil {
			for key, revision := range ls.written {
				if _, had := before[key]; !had && revision > 0 {
					_ = remove(ctx, b, key, revision) // it runs out otherwise
				}
			}
			return mns.Lease{}, err
		}
	}
	for key, revision := range before { // what it gives up
		if _, kept := ls.values[key]; !kept {
			if err := remove(ctx, b, key, revision); err != nil {
				return mns.Lease{}, err
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
	id := rand.Uint64() | 1 // not to be mistaken for a lease of another epoch
	r.leases[id] = ls
	return mns.Lease{ID: id, TTL: r.o.TTL}, nil
}

// claim writes a key of a registration that no other server holds.
func claim(ctx context.Context, b jetstream.KeyValue, key string, value []byte, reg mns.Registration) (revision uint64, err error) {
	for {
		revision, err = b.Create(ctx, key, value)
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return revision, failed(ctx, key, err)
		}
		held, err := b.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // it ran out in between
		}
		if err != nil {
			return 0, failed(ctx, key, err)
		}
		if rec := read(held); rec.Server != "" && rec.Server != reg.Server {
			return 0, mns.Taken(rec.entry(), reg)
		}
		revision, err = b.Update(ctx, key, value, held.Revision())
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return revision, failed(ctx, key, err)
		}
	}
}

// remove takes a key out of the bucket, unless it was written since. Its marker stays for as
// long as a takeover may take, but no longer than a lease runs, as does that of a key that has
// run out.
func remove(ctx context.Context, b jetstream.KeyValue, key string, revision uint64) error {
	err := b.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(mns.TakeoverTime))
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return nil
	}
	return failed(ctx, key, err)
}

// held returns the keys that a server holds, with their revisions.
func (r *Registry) held(ctx context.Context, b jetstream.KeyValue, server string) (map[string]uint64, error) {
	out := map[string]uint64{}
	err := each(ctx, b, []string{">"}, func(kv jetstream.KeyValueEntry) {
		if read(kv).Server == server {
			out[kv.Key()] = kv.Revision()
		}
	})
	return out, err
}

// stalled is how long a listing waits for its next entry. The bucket counts the entries before
// it sends them, and the end of a listing is known by that count: where one runs out between,
// the end is never told.
const stalled = time.Second

// each calls f with every entry, and marker of a removed one, whose key one of the filters
// selects.
func each(ctx context.Context, b jetstream.KeyValue, filters []string, f func(jetstream.KeyValueEntry)) error {
	for {
		found, whole, err := list(ctx, b, filters)
		if err != nil {
			return err
		}
		if whole {
			for _, kv := range found {
				f(kv)
			}
			return nil
		}
	}
}

// list reads what the filters select; whole is false where it has stalled.
func list(ctx context.Context, b jetstream.KeyValue, filters []string) (found []jetstream.KeyValueEntry, whole bool, err error) {
	w, err := b.WatchFiltered(ctx, filters)
	if err != nil {
		return nil, false, failed(ctx, "", err)
	}
	defer w.Stop()
	for {
		select {
		case kv, ok := <-w.Updates():
			if !ok {
				return nil, false, failed(ctx, "", errEnded)
			}
			if kv == nil {
				return found, true, nil
			}
			found = append(found, kv)
		case <-time.After(stalled):
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, failed(ctx, "", ctx.Err())
		}
	}
}

// entries returns what the records say whose keys the filters select, and which keys were
// removed a moment ago.
func entries(ctx context.Context, b jetstream.KeyValue, filters ...string) (t *mns.Table, removed map[string]bool, err error) {
	t, removed = &mns.Table{}, map[string]bool{}
	err = each(ctx, b, filters, func(kv jetstream.KeyValueEntry) {
		if kv.Operation() == jetstream.KeyValuePut {
			read(kv).put(t, kv.Key())
		} else {
			removed[kv.Key()] = true
		}
	})
	return t, removed, err
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
		ls.written[m], err = renew(ctx, b, m, ls.values[m], revision)
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

// renew writes a key of a lease again. An earlier attempt may have been written though its
// answer did not come in time: then the key is of a later revision, and still the lease's.
func renew(ctx context.Context, b jetstream.KeyValue, key string, value []byte, revision uint64) (uint64, error) {
	written, err := b.Update(ctx, key, value, revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		if held, lost := b.Get(ctx, key); lost == nil && bytes.Equal(held.Value(), value) {
			written, err = b.Update(ctx, key, value, held.Revision())
		}
	}
	return written, err
}

var errExpired = engram.Errorf(engram.NotFound, "", "the lease has expired or is of an earlier epoch of the name system; register again")

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
		if err := remove(ctx, b, m, revision); err != nil {
			return err
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
	t, removed, err := entries(ctx, b, subject.Token(memory), subject.HolderPrefix+">")
	if err != nil {
		return mns.Entry{}, err
	}
	if e, ok := t.Entry(memory); ok {
		return e, nil
	}
	r.mu.Lock()
	left := r.left.Of(memory)
	r.mu.Unlock()
	if left == nil && removed[subject.Token(memory)] {
		left = &mns.Left{Memory: memory}
	}
	if left != nil {
		return mns.Entry{}, left.Unavailable()
	}
	all, err := r.List(ctx)
	if err != nil {
		return mns.Entry{}, err
	}
	var known []string
	for _, e := range all {
		known = append(known, e.Memory)
	}
	return mns.Entry{}, mns.Unknown(memory, known)
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
	t, _, err := entries(ctx, b, ">")
	if err != nil {
		return nil, err
	}
	return mns.Sorted(t.All()), nil
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
		check := time.NewTicker(r.o.TTL)
		defer check.Stop()
		var t mns.Table
		synced, idle := false, false
		for {
			select {
			case kv, ok := <-w.Updates():
				if !ok {
					yield(mns.Event{}, failed(ctx, r.name, errEnded))
					return
				}
				synced, idle = synced || kv == nil, false
				for _, ev := range r.change(&t, kv) {
					if !yield(ev, nil) {
						return
					}
				}
			case <-check.C:
				call, cancel := context.WithTimeout(ctx, r.o.TTL)
				now, err := created(call, b)
				cancel()
				switch {
				case err != nil:
				case !now.Equal(born):
					err = errors.New("it began anew; watch again")
				case !synced && idle:
					err = errors.New("an entry ran out while they were listed; watch again")
				}
				idle = true
				if err != nil {
					yield(mns.Event{}, failed(ctx, r.name, err))
					return
				}
			case <-ctx.Done():
				yield(mns.Event{}, failed(ctx, "", ctx.Err()))
				return
			}
		}
	}
}

// change puts what is told of a key into the table, and returns the events that this
// means to who knew the table. It remembers who has left.
func (r *Registry) change(t *mns.Table, kv jetstream.KeyValueEntry) []mns.Event {
	if kv == nil {
		return []mns.Event{{Synced: true}}
	}
	var rec record
	if kv.Operation() == jetstream.KeyValuePut {
		rec = read(kv)
	}
	concerns := rec.concerns(t, kv.Key())
	pick := func() map[string]mns.Entry {
		picked := map[string]mns.Entry{}
		for _, m := range concerns {
			if e, ok := t.Entry(m); ok {
				picked[m] = e
			}
		}
		return picked
	}
	before := pick()
	rec.put(t, kv.Key())
	after := pick()
	for m, e := range before {
		if e.Server != "" && after[m].Server == "" {
			r.mu.Lock()
			r.left.Note(m, e.Server)
			r.mu.Unlock()
		}
	}
	return mns.Changes(before, after)
}

// created tells one epoch of the bucket from another.
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

// read returns what an entry says; the zero record, which names nothing, if it is damaged
// or about another name than its key's: who may write one key may not write all. Whoever
// serves that name registers it anew.
func read(kv jetstream.KeyValueEntry) (rec record) {
	switch err := json.Unmarshal(kv.Value(), &rec); {
	case err != nil, rec.Server == "":
	case rec.Memory != "" && kv.Key() == subject.Token(rec.Memory):
		return rec
	case rec.Memory == "" && strings.HasPrefix(kv.Key(), subject.HolderPrefix):
		return rec
	}
	return record{}
}

func (rec record) entry() mns.Entry {
	return mns.Entry{Memory: rec.Memory, Addresses: rec.Addresses, Server: rec.Server}
}

// concerns returns the memories of which a key's record, or the zero record in its
// stead, may change the entries.
func (rec record) concerns(t *mns.Table, key string) []string {
	if strings.HasPrefix(key, subject.HolderPrefix) {
		return append(t.Held(key), rec.Copies...)
	}
	if rec.Memory != "" {
		return []string{rec.Memory}
	}
	if name, ok := subject.NameOf(key); ok {
		return []string{name}
	}
	for m := range t.All() { // one whose name was cut
		if subject.Token(m) == key {
			return []string{m}
		}
	}
	return nil
}

// put puts a record into a table, or takes the key's out if it is the zero record.
func (rec record) put(t *mns.Table, key string) {
	switch {
	case strings.HasPrefix(key, subject.HolderPrefix):
		t.Hold(key, mns.Registration{Server: rec.Server, Addresses: rec.Addresses, Copies: rec.Copies}.HeldCopies())
	case rec.Memory != "":
		t.Host(rec.entry())
	default:
		for _, m := range rec.concerns(t, key) {
			t.Unhost(m)
		}
	}
}

// errEnded says that the watch of a bucket has ended: with its context, or with the connection.
var errEnded = errors.New("it ended the watch")

// failed makes an error of the backbone one of the domain.
func failed(ctx context.Context, thing string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return engram.Errorf(engram.Canceled, thing, "given up while asking the name system: %w", err)
	}
	if errors.Is(err, nats.ErrReconnectBufExceeded) { // what NATS says of a connection that is being made anew
		return engram.Errorf(engram.Unavailable, thing, "the name system cannot be asked: there is no connection to the backbone")
	}
	return engram.Errorf(engram.Unavailable, thing, "the name system on the backbone did not answer: %w", err)
}
