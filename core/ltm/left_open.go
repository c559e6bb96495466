package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// An episode that a crash left open is sealed at the start. Where the disk has no room for
// that, or refuses it for another reason, the episode is served as it stands, and sealed
// later. Only a file in which nothing of an episode is found is damaged, and put aside.

// openName returns the name of the file of an episode that is not sealed.
func openName(name string) string { return strings.TrimSuffix(name, sealedExt) + openExt }

// wasLeftOpen reports whether a file is one that a crash left open, also if it is put aside.
func wasLeftOpen(file string) bool {
	return strings.HasSuffix(strings.TrimSuffix(file, putAside), openExt)
}

// salvage seals what a crash left open. What holds nothing of its own, as after a crash
// that came soon, is deleted. Of what cannot be sealed yet, left tells why.
func (a *episodeFolder) salvage(ctx context.Context) (found Opened, err error) {
	fsys, dir := a.options.FS, a.disk.episodes.dir
	files, err := a.files()
	if err != nil {
		return found, err
	}
	a.left = map[string]error{}
	for _, file := range files {
		// Also of what cannot be read, so that no two episodes bear one number.
		a.sequence.Store(max(a.sequence.Load(), sequenceOf(file)))
		base, open := strings.CutSuffix(file, openExt)
		if !open {
			continue
		}
		name := base + sealedExt
		from, to := filepath.Join(dir, file), filepath.Join(dir, name)
		if _, err := fsys.Stat(to); err == nil {
			// The crash came between the sealed form and the end of the open one.
			if err := fsys.Remove(from); err != nil {
				return found, err
			}
			continue
		}
		if head, err := fsys.Stat(from); err == nil && head.Size() < episode.HeadBytes {
			// Not even the file's head was written, or reached the disk.
			if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return found, err
			}
			continue
		}
		sealed, err := a.sealLeft(ctx, from, name, episode.Salvage)
		info := sealed.info
		switch {
		case engram.CodeOf(err) == engram.Canceled:
			return found, err
		case errors.Is(err, episode.ErrNothing):
			found.Problems = append(found.Problems, file+": "+err.Error())
			a.options.Log.Error("an episode that was left open cannot be salvaged", "episode", file, "error", err)
			if err := fsys.Rename(from, from+putAside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return found, err
			}
			continue
		case err != nil:
			a.left[file] = err
			continue
		}
		if len(sealed.lost) > 0 { // first: the open file tells of it no more
			now := a.heldIn(name)
			a.disk.episodes.publish(func(next *version) { a.account.found(next, name, more(next.damaged[name], sealed.was), now) })
			a.account.saveSoon()
		}
		empty := episode.HoldsNothing(&info) && len(sealed.lost) == 0
		if empty {
			// First the sealed form: a crash between the two does not leave that.
			if err := fsys.Remove(to); err != nil {
				return found, err
			}
		}
		if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		if empty {
			continue
		}
		found.Salvaged = append(found.Salvaged, info)
	}
	return found, fsys.SyncDir(dir)
}

// sealedLeft is the sealed form of an episode that a crash left open.
type sealedLeft struct {
	info episode.Info
	lost []episode.Problem
	was  map[engram.ID]forgottenOf // what the open file held, if something is lost
}

// sealLeft makes the sealed form of an episode that a crash left open in a file, if there is
// room for it; that file stays.
func (a *episodeFolder) sealLeft(ctx context.Context, from, name string, salvage func(ctx context.Context, from, to string, o episode.Options) (episode.Info, []episode.Problem, error)) (sealed sealedLeft, err error) {
	dir := a.disk.episodes.dir
	if file, err := a.options.FS.Stat(from); err == nil {
		// To try it nevertheless would take the room that the log needs meanwhile.
		if _, free, err := a.options.FS.Space(dir); err == nil && free < uint64(file.Size()) {
			return sealed, engram.Errorf(engram.Exhausted, "", "that takes about %d bytes of the disk, which has %d free: %w", file.Size(), free, errNoRoom)
		}
	}
	sealed.info, sealed.lost, err = salvage(ctx, from, filepath.Join(dir, name), a.disk.episodes.options)
	if err != nil {
		return sealedLeft{}, err
	}
	if n := len(sealed.lost); n > 0 { // of one tail that is lost, each entity of it is named
		first := sealed.lost[0]
		a.options.Log.Warn("an episode that was left open lost something", "episode", name, "problems", n, "offset", first.Offset, "first", first.What)
		sealed.was = a.heldIn(filepath.Base(from))
	}
	return sealed, nil
}

// heldIn returns what an episode's file holds of each entity, as far as it can be read; nil
// if nothing can be.
func (a *episodeFolder) heldIn(file string) map[engram.ID]forgottenOf {
	entities, err := a.entitiesOf(file)
	if err != nil {
		return nil
	}
	return heldBy(entities, a.options.Now())
}

// more returns what is more of each entity.
func more(a, b map[engram.ID]forgottenOf) map[engram.ID]forgottenOf {
	sum := map[engram.ID]forgottenOf{}
	maps.Copy(sum, a)
	for id, of := range b {
		if of.Versions > sum[id].Versions {
			sum[id] = of
		}
	}
	return sum
}

// errNoRoom says that there is no room for the sealed form of an episode.
var errNoRoom = fmt.Errorf("it is too full: %w", syscall.ENOSPC)

// finishLeft seals an episode that is served as a crash left it, and returns what stays lost
// of it. What the disk does not give back of it is tried again another time, unless that is
// given up: then the open file is put aside.
func (a *episodeFolder) finishLeft(ctx context.Context, h *handle, giveUp bool) (sealed sealedLeft, stays map[engram.ID]forgottenOf, err error) {
	pinned := a.disk.episodes.pin()
	was := heldBy(h.entities(), a.options.Now())
	pinned.release()
	open := h.path()
	seal := func(from string) (err error) {
		sealed, err = a.sealLeft(ctx, from, h.name, episode.Salvage)
		if err != nil && giveUp && !vfs.IsFull(err) {
			sealed, err = a.sealLeft(ctx, from, h.name, episode.Repair)
		}
		return err
	}
	err = a.replace(ctx, h, func(string, episode.Options) (_ episode.Info, err error) {
		if giveUp { // first: beside a sealed form, the next start takes an open file for one that is finished
			err = puttingAside(a.options.FS, open, seal)
		} else {
			err = seal(open)
		}
		return sealed.info, err
	}, func(next *version, now []episode.Entity) {
		if len(sealed.lost) > 0 {
			stays = a.account.found(next, h.name, more(was, sealed.was), heldBy(now, a.options.Now()))
		}
	})
	if err != nil {
		return sealed, stays, err
	}
	a.account.saveSoon()
	a.health.set(salvaging+h.name, nil)
	return sealed, stays, a.removeLeft(open, false)
}

// removeLeft removes an open file of which the sealed form is there, or puts it aside.
func (a *episodeFolder) removeLeft(path string, putItAside bool) error {
	remove := a.options.FS.Remove
	if putItAside {
		remove = func(path string) error { return a.options.FS.Rename(path, path+putAside) }
	}
	if err := remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engram.Errorf(engram.Unavailable, filepath.Base(path), "the file cannot be removed; the next start does: %w", err)
	}
	return a.options.FS.SyncDir(a.disk.episodes.dir)
}

// What is about episodes in the store's health.
const (
	salvaging = "sealing what a crash left open: " // the episode
	reading   = "reading an episode: "             // its file
)

// isRefused reports whether an error says that the system refuses something that it may do
// another time: for want of room, of rights, of descriptors, or because a disk fails. What
// is not there is not refused.
func isRefused(err error) bool {
	code := engram.CodeOf(err)
	_, system := errors.AsType[syscall.Errno](err)
	return code == engram.Unavailable || code == engram.Exhausted || system && code != engram.NotFound && !errors.Is(err, fs.ErrNotExist)
}

// retry is when something that was refused is tried again.
type retry struct {
	at     time.Time
	pause  time.Duration
	sealed bool // it has its sealed form: what was left is to be removed
}

// maxRetry bounds the pause between two tries.
const maxRetry = 10 * time.Minute

// noteRefused notes what the system refused at the start and is tried again: to seal what
// a crash left open, and to read the files of problems.
func (rep *repairer) noteRefused(problems []catalogue.Problem) {
	rep.refused = map[string]*retry{}
	for file, err := range rep.folder.left {
		rep.refused[file] = &retry{}
		rep.tellLeft(file, err)
		if _, served := rep.folder.disk.episodes.get(repairedName(file)); served && rep.unsynced == nil {
			rep.unsynced = rep.folder.sync(file)
		}
	}
	for _, p := range problems {
		if rep.folder.left[openName(p.Name)] == nil && !p.Served && isRefused(p.Err) {
			rep.refused[p.Name] = &retry{}
			rep.health.set(reading+p.Name, p.Err)
		}
	}
}

// sync has the disk keep what a file holds: the process that wrote it may have been killed
// before it did so.
func (a *episodeFolder) sync(file string) error {
	f, err := a.options.FS.OpenFile(filepath.Join(a.disk.episodes.dir, file), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (rep *repairer) tellLeft(file string, err error) {
	name := repairedName(file)
	what := "what can be read of it is served"
	if _, served := rep.folder.disk.episodes.get(name); !served {
		what = "nothing of it can be read, and queries say that it is damaged"
	}
	do := "'engram ltm repair' seals what can be read now"
	if vfs.IsFull(err) {
		do = "it needs some space, which 'engram episode drop' makes, too"
	}
	rep.health.set(salvaging+name, engram.Errorf(engram.CodeOf(err), "", "%s; it is tried again, and %s: %w", what, do, err))
}

// tryAgain seals what a crash left open, and takes in what could not be read at the start,
// if the system lets it now. The caller holds the lock of forgetting.
func (rep *repairer) tryAgain(ctx context.Context) {
	now := time.Now()
	for _, file := range slices.Sorted(maps.Keys(rep.refused)) {
		r := rep.refused[file]
		if now.Before(r.at) {
			continue
		}
		open := strings.HasSuffix(file, openExt)
		err := rep.tryFile(ctx, file, r)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, !isRefused(err) && !open: // it is damaged, or gone
			delete(rep.refused, file)
			rep.health.set(reading+file, nil)
			rep.health.set(salvaging+repairedName(file), nil)
			continue
		case open:
			rep.tellLeft(file, err)
		default:
			rep.health.set(reading+file, err)
		}
		if errors.Is(err, errNoRoom) { // to find that out costs nothing
			continue
		}
		r.pause = min(max(2*r.pause, lookAtDisk), maxRetry)
		r.at = now.Add(r.pause)
	}
}

// tryFile takes in one file that was refused.
func (rep *repairer) tryFile(ctx context.Context, file string, r *retry) error {
	a := rep.folder
	name := repairedName(file)
	path := filepath.Join(a.disk.episodes.dir, file)
	open := strings.HasSuffix(file, openExt)
	h, served := a.disk.episodes.get(name)
	switch {
	case r.sealed:
	case served && h.left:
		_, _, err := a.finishLeft(ctx, h, false)
		if now, ok := a.disk.episodes.get(name); ok && !now.left {
			r.sealed = true
		}
		return err
	case served: // it was sealed by who edits it, or repaired
		r.sealed = true
	case open:
		if _, err := a.options.FS.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // it was dropped
		}
		sealed, err := a.sealLeft(ctx, path, name, episode.Salvage)
		if errors.Is(err, episode.ErrNothing) {
			return a.removeLeft(path, true)
		}
		if err == nil {
			_, err = rep.takeIn(ctx, sealed.info, sealed.was)
			rep.account.saveSoon()
		}
		if err != nil {
			return err
		}
		r.sealed = true
	default:
		reader, err := episode.OpenContext(ctx, path, a.disk.episodes.options)
		if err != nil {
			return err
		}
		info := reader.Info()
		if err := reader.Close(); err != nil {
			return err
		}
		_, err = rep.takeIn(ctx, info, nil)
		return err
	}
	if !open {
		return nil
	}
	return a.removeLeft(path, false)
}

// unserved returns the files that were refused and may hold something that nobody finds: they
// are not served, or could not be removed when they were sealed. It tries to remove those
// again first.
func (rep *repairer) unserved() (files []string) {
	for _, file := range slices.Sorted(maps.Keys(rep.refused)) {
		h, served := rep.folder.disk.episodes.get(repairedName(file))
		open := strings.HasSuffix(file, openExt)
		if served && (h.left || !open) {
			continue
		}
		path := filepath.Join(rep.folder.disk.episodes.dir, file)
		if _, err := rep.options.FS.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r := rep.refused[file]
		r.sealed = r.sealed || served
		if r.sealed && rep.folder.removeLeft(path, false) == nil {
			continue
		}
		files = append(files, file)
	}
	return files
}

// noteUnread notes, at the start, what is lost with files that the store does not read,
// where that is not known yet: what they hold, as far as it can be read, or when it
// arrived, if nobody knows what it is.
func (rep *repairer) noteUnread(ctx context.Context, infos []episode.Info) error {
	names, err := rep.folder.unreadable()
	if err != nil {
		return err
	}
	began := []engram.Time{rep.options.Now().Add(1)}
	for i := range infos {
		began = append(began, beganOf(infos[i].Name))
	}
	for _, file := range names {
		began = append(began, beganOf(file))
	}
	slices.Sort(began)
	unread := map[string]unknownLoss{}
	for _, file := range names {
		name := repairedName(file)
		if rep.folder.disk.episodes.current().damaged[name] != nil {
			continue
		}
		if r, err := episode.OpenContext(ctx, filepath.Join(rep.folder.disk.episodes.dir, file), rep.folder.disk.episodes.options); err == nil {
			held := heldBy(r.Entities(), rep.options.Now())
			r.Close() // it was only read
			rep.folder.disk.episodes.publish(func(next *version) { rep.account.lost(next, name, held) })
			continue
		}
		from := beganOf(file)
		i, _ := slices.BinarySearch(began, from+1)
		unread[name] = unknownLoss{
			open:    wasLeftOpen(file),
			arrived: engram.Interval{Start: from, End: began[min(i, len(began)-1)]},
		}
	}
	if ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, "", "the start was given up: %w", context.Cause(ctx))
	}
	rep.folder.disk.episodes.publish(func(next *version) { next.unread = unread })
	return nil
}

// beganOf returns when an episode was begun, by its name; the earliest time if that does
// not say it.
func beganOf(name string) engram.Time {
	began, err := time.Parse(beganLayout, name[:max(0, strings.LastIndexByte(name, '-'))])
	if err != nil {
		return engram.MinTime
	}
	return engram.TimeOf(began)
}

// beganLayout is how names of episodes tell when they were begun.
const beganLayout = "2006-01-02T15-04-05Z"

// readAgain notes in a version that is made that it is known what a file holds.
func (v *version) readAgain(name string) {
	if _, ok := v.unread[name]; ok {
		v.unread = maps.Clone(v.unread)
		delete(v.unread, name)
	}
}
