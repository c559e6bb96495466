package local

import (
	"context"
	"encoding/binary"

	"github.com/seed-301d4374/engram/internal/intake"
)

// taking counts what a server's connection takes in, against what the whole server may.
type taking struct {
	ctx    context.Context
	budget *intake.Budget // nil: nothing is counted
	lease  intake.Lease   // of the frame at hand
}

const (
	// updateWeight is what an update becomes in the domain, with its result and, if it
	// is refused, the error.
	updateWeight = 640
	// recordWeight is how much more than its bytes in a frame any other record takes.
	recordWeight = 4
	// freeFrame is how large a frame may be that is not counted.
	freeFrame = 16 << 10
)

// records takes room for a frame's records before they are read.
func (t *taking) records(h header) error {
	if t.budget == nil || h.length <= freeFrame {
		return nil
	}
	t.lease = t.budget.Lease()
	return t.lease.Read(t.ctx, int64(h.meta))
}

// frame takes room for what a frame is decoded to, before that.
func (t *taking) frame(h header, records []byte) error {
	if t.budget == nil || h.length <= freeFrame {
		return nil
	}
	size := int64(h.length) + recordWeight*int64(h.meta)
	if h.kind == kindCommit && len(records) >= 4 {
		size += updateWeight * min(int64(binary.LittleEndian.Uint32(records)), int64(h.meta/minUpdate))
	}
	return t.lease.Work(t.ctx, size)
}

// handOver returns the lease of the frame at hand, which is the caller's from then on.
func (t *taking) handOver() intake.Lease {
	lease := t.lease
	t.lease = intake.Lease{}
	return lease
}
