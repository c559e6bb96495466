// Package meter counts what the edges of a server do: how long commits and queries
// take, and what is refused with which code. Counting takes no lock and does not
// allocate, so that edges can count every call. What is counted is read by whoever
// shows it; nothing here knows how.
package meter

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
)

// Meter counts for the edges of one server. Its zero value is ready for use; safe for
// concurrent use.
type Meter struct {
	RPC   Edge // edge/transport/rpc
	Local Edge // edge/transport/local
}

// Edge counts for one edge.
type Edge struct {
	Commits Histogram // calls of Commit
	// Streamed are commits of pipelines. One of SampleStreamed is measured.
	Streamed Histogram
	Queries  Histogram // queries, answers in parts included, and look-ups of one snapshot

	streamed atomic.Uint64 // commits of pipelines
	updates  atomic.Uint64 // entity updates that were committed or refused
	open     atomic.Int64  // subscriptions
	refused  [calls][maxCode]atomic.Uint64
}

// Call is a kind of call that can be refused.
type Call uint8

// The kinds of calls.
const (
	Commit Call = iota // and entity updates in it
	Query
	Subscribe
	calls
)

var callNames = [...]string{Commit: "commit", Query: "query", Subscribe: "subscribe"}

func (c Call) String() string { return callNames[c] }

// SampleStreamed says how many commits of pipelines pass for each that is measured: at a
// million per second, looking at the clock would show.
const SampleStreamed = 32

// maxCode is more than any code of an error.
const maxCode = 32

// Now is a point in time for the histograms' Since.
type Now time.Duration

var begin = time.Now()

// Start returns the time now. It is a fraction of what time.Now costs.
func Start() Now { return Now(time.Since(begin)) }

// Commit counts a call of Commit that began at start.
func (e *Edge) Commit(start Now, results []engram.UpdateResult, err error) {
	e.Commits.Since(start)
	e.results(results, err)
}

// BeginStreamed counts a commit of a pipeline in, and returns what EndStreamed wants.
func (e *Edge) BeginStreamed() Now {
	if e.streamed.Add(1)%SampleStreamed == 0 {
		return Start()
	}
	return -1
}

// EndStreamed counts the end of a commit of a pipeline.
func (e *Edge) EndStreamed(start Now, results []engram.UpdateResult, err error) {
	if start >= 0 {
		e.Streamed.Since(start)
	}
	e.results(results, err)
}

// Query counts a query, or look-up, that began at start.
func (e *Edge) Query(start Now, err error) {
	e.Queries.Since(start)
	if err != nil {
		e.Refuse(Query, err)
	}
}

// Refuse counts a call, or an update of one entity, that was refused.
func (e *Edge) Refuse(c Call, err error) { e.refused[c][int(engram.CodeOf(err))%maxCode].Add(1) }

// Subscription counts a subscription in; the caller calls the function it returns at
// its end.
func (e *Edge) Subscription() (end func()) {
	e.open.Add(1)
	return func() { e.open.Add(-1) }
}

func (e *Edge) results(results []engram.UpdateResult, err error) {
	if err != nil {
		e.Refuse(Commit, err)
		return
	}
	e.updates.Add(uint64(len(results)))
	for i := range results {
		if results[i].Err != nil {
			e.Refuse(Commit, results[i].Err)
		}
	}
}

// Pipelined returns how many commits came in pipelines.
func (e *Edge) Pipelined() uint64 { return e.streamed.Load() }

// Updates returns how many entity updates were answered.
func (e *Edge) Updates() uint64 { return e.updates.Load() }

// Subscriptions returns how many are open.
func (e *Edge) Subscriptions() int64 { return e.open.Load() }

// Refusals calls f for each kind of call and code with which something was refused.
func (e *Edge) Refusals(f func(c Call, code engram.Code, n uint64)) {
	for call := range e.refused {
		for code := range e.refused[call] {
			if n := e.refused[call][code].Load(); n > 0 {
				f(Call(call), engram.Code(code), n)
			}
		}
	}
}

// The buckets of a histogram end at firstBound, and at twice the bound before:
// 1.024 µs, 2.048 µs … 17.2 s.
const (
	firstBits = 10
	Buckets   = 25
)

// Histogram counts durations in buckets whose bounds double.
type Histogram struct {
	counts [Buckets + 1]atomic.Uint64 // the last one is of all beyond
	sum    atomic.Int64               // nanoseconds
}

// Since counts the time since start.
func (h *Histogram) Since(start Now) { h.Observe(time.Since(begin) - time.Duration(start)) }

// Observe counts a duration.
func (h *Histogram) Observe(d time.Duration) {
	n := uint64(max(d, 1) - 1)
	h.counts[min(max(bits.Len64(n)-firstBits, 0), Buckets)].Add(1)
	h.sum.Add(int64(d))
}

// Bound returns the upper bound of a bucket, inclusive.
func Bound(bucket int) time.Duration { return 1 << (firstBits + bucket) }

// Read returns how many durations lie up to each bound, how many there are in all, and
// their sum.
func (h *Histogram) Read() (upTo [Buckets]uint64, count uint64, sum time.Duration) {
	for i := range upTo {
		count += h.counts[i].Load()
		upTo[i] = count
	}
	return upTo, count + h.counts[Buckets].Load(), time.Duration(h.sum.Load())
}
