package meter

import (
	"maps"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

// Every duration lies in the bucket whose bounds enclose it.
func TestHistogramBounds(t *testing.T) {
	for bucket := range Buckets {
		var h Histogram
		h.Observe(Bound(bucket))
		h.Observe(Bound(bucket) + 1)
		upTo, count, sum := h.Read()
		if upTo[bucket] != 1 || bucket > 0 && upTo[bucket-1] != 0 || count != 2 || sum != 2*Bound(bucket)+1 {
			t.Errorf("bucket %d up to %v: %v of %d, sum %v", bucket, Bound(bucket), upTo, count, sum)
		}
	}
	var h Histogram
	h.Observe(-time.Second) // a clock that went back
	h.Observe(time.Hour)
	if upTo, count, _ := h.Read(); upTo[0] != 1 || upTo[Buckets-1] != 1 || count != 2 {
		t.Errorf("out of range: %v of %d", upTo, count)
	}
}

func TestEdgeCountsRefusalsByCode(t *testing.T) {
	var e Edge
	refused := engram.UpdateResult{Err: engram.Errorf(engram.TypeMismatch, "", "a")}
	e.Commit(Start(), []engram.UpdateResult{{}, refused, refused}, nil)
	e.Commit(Start(), nil, engram.Errorf(engram.Unavailable, "", "b"))
	e.Query(Start(), engram.Errorf(engram.Unavailable, "", "c"))
	for range SampleStreamed {
		e.EndStreamed(e.BeginStreamed(), []engram.UpdateResult{{}}, nil)
	}
	type refusal struct {
		call Call
		code engram.Code
	}
	got := map[refusal]uint64{}
	e.Refusals(func(c Call, code engram.Code, n uint64) { got[refusal{c, code}] = n })
	want := map[refusal]uint64{{Commit, engram.TypeMismatch}: 2, {Commit, engram.Unavailable}: 1, {Query, engram.Unavailable}: 1}
	if !maps.Equal(got, want) {
		t.Errorf("refusals: %v", got)
	}
	_, commits, _ := e.Commits.Read()
	_, measured, _ := e.Streamed.Read()
	if commits != 2 || measured != 1 || e.Pipelined() != SampleStreamed || e.Updates() != 3+SampleStreamed {
		t.Errorf("%d commits, %d of %d in pipelines measured, %d updates", commits, measured, e.Pipelined(), e.Updates())
	}
}

func BenchmarkStreamed(b *testing.B) {
	var e Edge
	results := []engram.UpdateResult{{}}
	for b.Loop() {
		e.EndStreamed(e.BeginStreamed(), results, nil)
	}
}

func BenchmarkCommit(b *testing.B) {
	var e Edge
	results := []engram.UpdateResult{{}}
	for b.Loop() {
		e.Commit(Start(), results, nil)
	}
}
