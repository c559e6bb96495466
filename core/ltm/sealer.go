package ltm

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/wal"
)

// sealer is the recorder's second goroutine: it seals the episodes that are handed over,
// enters them into the catalogue, and truncates the logs.
type sealer struct {
	options   *Options
	health    *health
	account   *account
	disk      *disk
	logs      *logs
	impatient impatient

	jobs chan job
	ctx  context.Context // ends after all was recorded
	stop <-chan struct{} // closed when the store waits no more

	stalled atomic.Bool // the disk refuses what is to be done with it
	// complete says that sealed episodes hold all that was logged; it is read when run has
	// ended.
	complete bool
	// unsealed counts versions of episodes that are in no file as the store closes; it is
	// read when run has ended.
	unsealed map[engram.ID]uint64
}

// job is an episode for the sealer.
type job struct {
	handle  *handle
	writer  *episode.Writer
	ends    map[string]wal.Position // the log is cut off up to these
	broken  error                   // the disk refused to sync it
	upTo    uint64                  // no version in it has a higher number
	last    bool                    // there is none behind it
	waiting []chan<- error
}

// run seals what is handed over, and truncates the log then, unless something that it
// still has was lost on its way into an episode.
func (s *sealer) run() {
	cut := true
	for j := range s.jobs {
		err := j.broken
		if err == nil && j.writer != nil { // else all is in sealed episodes already
			err = s.sealOne(j)
		}
		if err != nil {
			s.options.Log.Error("an episode could not be sealed", "episode", j.handle.name, "error", err)
			var whole bool
			whole, err = s.saveBroken(j, err)
			cut = cut && whole
		}
		s.complete = j.last && cut && err == nil && j.ends != nil
		if cut {
			s.truncateLogs(j.ends)
		}
		answer(j.waiting, err)
	}
}

// answer tells those who wait for an episode to be sealed what became of it. Who was told
// before that the disk refuses does not wait any more.
func answer(waiting []chan<- error, err error) {
	for _, w := range waiting {
		select {
		case w <- err:
		default:
		}
	}
}

// impatient are those who wait for the disk as long as it does not refuse. Safe for
// concurrent use.
type impatient struct {
	mu      sync.Mutex
	waiting []chan<- error
}

func (i *impatient) add(w chan<- error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = append(i.waiting, w)
}

func (i *impatient) remove(w chan<- error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting = slices.DeleteFunc(i.waiting, func(x chan<- error) bool { return x == w })
}

// refused tells them that a try failed: there will be others.
func (i *impatient) refused(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(i.waiting, engram.Errorf(engram.CodeOf(err), "", "the episode is not sealed yet; that goes on by itself when the disk works again: %w", err))
}

// sealOne seals an episode and puts it into the catalogue, trying again while the disk
// refuses. Corrupt says that it must be repaired; any other error, that the store is
// closing.
func (s *sealer) sealOne(j job) error {
	var info episode.Info
	err := s.persist("sealing "+j.handle.name, func() (err error) {
		info, err = j.writer.Seal(s.ctx)
		return err
	})
	if err != nil {
		return err
	}
	return s.adopt(j, info, j.writer.Entities())
}

// adopt makes a sealed episode known.
func (s *sealer) adopt(j job, info episode.Info, entities []episode.Entity) error {
	err := s.persist("the catalogue", func() error { return s.disk.catalogue.Put(s.ctx, info, entities) })
	s.disk.episodes.sealed(j.handle, info, j.upTo)
	s.account.change() // what was left out
	s.account.saveSoon()
	return err
}

// saveBroken repairs an episode that cannot be sealed, and reports whether all that it
// was given is there.
func (s *sealer) saveBroken(j job, cause error) (whole bool, err error) {
	if engram.CodeOf(cause) != engram.Corrupt { // closing: the next epoch salvages what is in the file
		for id, n := range j.writer.Unwritten() {
			s.unsealed[id] += n
		}
		return false, cause
	}
	dir := filepath.Join(s.options.Dir, episodesDir)
	from := filepath.Join(dir, openName(j.handle.name))
	var info episode.Info
	var entities []episode.Entity
	err = s.persist("repairing "+j.handle.name, func() error {
		var err error
		if info, _, err = episode.Repair(s.ctx, from, filepath.Join(dir, j.handle.name), s.disk.episodes.options); err != nil {
			return err
		}
		repaired, err := episode.Open(filepath.Join(dir, j.handle.name), s.disk.episodes.options)
		if err != nil {
			return err
		}
		entities = repaired.Entities()
		return errors.Join(repaired.Close(), s.options.FS.Remove(from))
	})
	if err != nil {
		s.disk.episodes.abandon(j.handle)
		return false, err
	}
	return info.Snapshots == j.writer.Info().Snapshots, s.adopt(j, info, entities)
}

// persist does something with the disk, again and again until it succeeds, it cannot
// be mended (Corrupt), or the store is closing.
func (s *sealer) persist(what string, act func() error) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := act()
		if err == nil || engram.CodeOf(err) == engram.Corrupt {
			s.health.set(what, nil)
			s.stalled.Store(false)
			return err
		}
		s.health.set(what, err)
		s.stalled.Store(true)
		s.impatient.refused(err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
			return err
		}
	}
}

// truncateLogs truncates the logs up to what the sealed episodes hold.
func (s *sealer) truncateLogs(ends map[string]wal.Position) {
	for memory, end := range ends {
		l := s.logs.Log(memory)
		if l == nil || s.logs.foreign[memory] || s.logs.refusedOf(memory) {
			continue
		}
		err := l.Sync(s.ctx, end) // the file that goes on there is begun
		if err == nil {
			err = l.Truncate(end)
		}
		s.health.set("cutting the log of "+memory, err)
	}
}
