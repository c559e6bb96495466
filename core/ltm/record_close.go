package ltm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// ErrLeft says that a store was closed before all that the working memory held was
// recorded.
var ErrLeft = errors.New("not all that the working memory held was recorded")

// left is what is not recorded as the store closes, by memory.
type left map[string]*leftOf

type leftOf struct {
	updates uint64
	logged  uint64 // of these; the log has them, and the next epoch records them
	perhaps uint64 // others that the log could not write; an open episode may have some
}

// of returns what is left of a memory.
func (l left) of(memory string) *leftOf {
	if l[memory] == nil {
		l[memory] = &leftOf{}
	}
	return l[memory]
}

// add counts n updates of an entity.
func (l left) add(entity engram.ID, n uint64, logged bool) {
	of := l.of(entity.Memory())
	if of.updates += n; logged {
		of.logged += n
	}
}

// lost returns how many updates are not in the log.
func (l left) lost() (n uint64) {
	for _, of := range l {
		n += of.updates - of.logged
	}
	return n
}

func (l left) String() string {
	var texts []string
	for _, memory := range slices.Sorted(maps.Keys(l)) {
		of := l[memory]
		text := fmt.Sprintf("%d updates of %s", of.updates, memory)
		if of.logged > 0 {
			text += fmt.Sprintf(" (%d are in the log, and are recorded at the next start)", of.logged)
		}
		switch {
		case of.updates == 0:
			text = fmt.Sprintf("perhaps %d updates of %s that were logged, which the disk refused", of.perhaps, memory)
		case of.perhaps > 0:
			text += fmt.Sprintf(" and perhaps %d more that were logged, which the disk refused", of.perhaps)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// close waits until all that the working memory, which was closed, still holds for the
// recorder is sealed, but not longer than it may.
func (r *recorder) close(ctx context.Context) error {
	done := make(chan struct{})
	go func() { r.ended.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		close(r.stop)
		<-done
	}
	r.cancel()
	r.leaveUnsealed()
	return r.stream.Close()
}

// errorOfLeft names what a recorder has left when the logs are closed, too; unwritten are
// the versions, by memory, that were to be logged and may be in no file.
func errorOfLeft(r *recorder, unwritten map[string]uint64) error {
	for memory, n := range unwritten {
		of := r.left.of(memory)
		lost := min(of.logged, n)
		of.logged -= lost
		of.perhaps = n - lost
		r.counts.lost.Add(lost)
	}
	if len(r.left) == 0 {
		return nil
	}
	return engram.Errorf(engram.Unavailable, r.options.Dir, "%w within %v: %v", ErrLeft, r.options.CloseWithin, r.left)
}

// leave counts an update that comes too late to be recorded.
func (r *recorder) leave(entity engram.ID) {
	if r.policies.Of(entity).Record == policy.Never {
		return
	}
	r.left.add(entity, 1, r.entity(entity).durable)
	r.gaveUp = true
}

// leaveUnsealed counts what was recorded and is in no file, as the disk refused it until
// the end. Recorder and sealer have ended.
func (r *recorder) leaveUnsealed() {
	before := r.left.lost()
	for entity, n := range r.sealer.unsealed {
		r.left.add(entity, n, r.entity(entity).durable)
		r.entity(entity).of.failed += n
	}
	r.counts.lost.Add(r.left.lost() - before)
}
