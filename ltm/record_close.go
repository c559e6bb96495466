package ltm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/policy"
)

// ErrLeft says that a store was closed before all that the working memory held was
// recorded.
var ErrLeft = errors.New("not all that the working memory held was recorded")

// left is what is not recorded as the store closes, by memory.
type left map[string]*leftOf

type leftOf struct {
	updates uint64
	logged  uint64 // of these; the log has them, and the next epoch records them
}

// add counts n updates of an entity.
func (l left) add(entity engram.ID, n uint64, logged bool) {
	of := l[entity.Memory()]
	if of == nil {
		of = &leftOf{}
		l[entity.Memory()] = of
	}
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
		text := fmt.Sprintf("%d updates of %s", l[memory].updates, memory)
		if n := l[memory].logged; n > 0 {
			text += fmt.Sprintf(" (%d are in the log, and are recorded at the next start)", n)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// close waits until all that the working memory, which was closed, still holds for the
// recorder is sealed, but not longer than it may.
func (r *recorder) close() error {
	done := make(chan struct{})
	go func() { r.ended.Wait(); close(done) }()
	within := r.options.CloseWithin
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		close(r.stop)
		<-done
	}
	r.cancel()
	r.leaveUnsealed()
	err := r.stream.Close()
	if len(r.left) > 0 {
		err = errors.Join(err, engram.Errorf(engram.Unavailable, r.options.Dir, "%w within %v: %v", ErrLeft, within, r.left))
	}
	return err
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
	}
	r.counts.lost.Add(r.left.lost() - before)
}
