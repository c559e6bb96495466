package ltm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/ltm/catalogue"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// An episode that a crash left open is sealed at the start. Where the disk has no room for
// that, or refuses it for another reason, the episode is served as it stands, and sealed
// later. Only a file in which nothing of an episode is found is damaged, and put aside.

// openName returns the name of the file of an episode that is not sealed.
func openName(name string) string { return strings.TrimSuffix(name, sealedExt) + openExt }

// salvage seals what a crash left open. What holds nothing of its own, as after a crash
// that came soon, is deleted. left are the files that cannot be sealed yet, and why.
func (a *episodeFolder) salvage(ctx context.Context) (found Opened, left map[string]error, err error) {
	fsys, dir := a.options.FS, a.disk.episodes.dir
	files, err := a.files()
	if err != nil {
		return found, nil, err
	}
	left = map[string]error{}
	defer func() { a.left = left }()
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
				return found, nil, err
			}
			continue
		}
		if head, err := fsys.Stat(from); err == nil && head.Size() < episode.HeadBytes {
			// Not even the file's head was written, or reached the disk.
			if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return found, nil, err
			}
			continue
		}
		info, lost, err := a.sealLeft(ctx, name, episode.Salvage)
		switch {
		case engram.CodeOf(err) == engram.Canceled:
			return found, nil, err
		case errors.Is(err, episode.ErrNothing):
			found.Problems = append(found.Problems, file+": "+err.Error())
			a.options.Log.Error("an episode that was left open cannot be salvaged", "episode", file, "error", err)
			if err := fsys.Rename(from, from+putAside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return found, nil, err
			}
			continue
		case err != nil:
			left[file] = err
			continue
		}
		empty := info.Snapshots == info.InForce && len(info.Marks)+len(info.Losses)+len(lost) == 0
		if empty {
			// First the sealed form: a crash between the two does not leave that.
			if err := fsys.Remove(to); err != nil {
				return found, nil, err
			}
		}
		if err := fsys.Remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, nil, err
		}
		if empty {
			continue
		}
		found.Salvaged = append(found.Salvaged, info)
	}
	return found, left, fsys.SyncDir(dir)
}

// sealLeft makes the sealed form of an episode that a crash left open, if there is room for
// it; the open file stays.
func (a *episodeFolder) sealLeft(ctx context.Context, name string, salvage func(ctx context.Context, from, to string, o episode.Options) (episode.Info, []episode.Problem, error)) (episode.Info, []episode.Problem, error) {
	dir := a.disk.episodes.dir
	from := filepath.Join(dir, openName(name))
	if file, err := a.options.FS.Stat(from); err == nil {
		// To try it nevertheless would take the room that the log needs meanwhile.
		if _, free, err := a.options.FS.Space(dir); err == nil && free < uint64(file.Size()) {
			return episode.Info{}, nil, engram.Errorf(engram.Exhausted, "", "that takes about %d bytes of the disk, which has %d free: %w", file.Size(), free, errNoRoom)
		}
	}
	info, lost, err := salvage(ctx, from, filepath.Join(dir, name), a.disk.episodes.options)
	if err != nil {
		return info, nil, err
	}
	for _, p := range lost {
		a.options.Log.Warn("an episode that was left open lost something", "episode", name, "offset", p.Offset, "what", p.What)
	}
	return info, lost, nil
}

// errNoRoom says that there is no room for the sealed form of an episode.
var errNoRoom = fmt.Errorf("it is too full: %w", syscall.ENOSPC)

// finishLeft seals an episode that is served as a crash left it. What the disk does not
// give back of it is tried again another time, unless that is given up: then the open file
// is put aside.
func (a *episodeFolder) finishLeft(ctx context.Context, h *handle, giveUp bool) (info episode.Info, lost []episode.Problem, err error) {
	salvage := episode.Salvage
	if giveUp {
		salvage = episode.Repair
	}
	err = a.replace(ctx, h, func(string, episode.Options) (episode.Info, error) {
		info, lost, err = a.sealLeft(ctx, h.name, salvage)
		return info, err
	}, func(*version, []episode.Entity) {})
	if err != nil {
		return info, lost, err
	}
	a.health.set(salvaging+h.name, nil)
	return info, lost, a.removeLeft(h.path(), giveUp)
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
	at    time.Time
	pause time.Duration
}

// maxRetry bounds the pause between two tries.
const maxRetry = 10 * time.Minute

// noteRefused notes what the system refused at the start and is tried again: to seal the
// files left, and to read those of problems.
func (rep *repairer) noteRefused(left map[string]error, problems []catalogue.Problem) {
	rep.refused = map[string]*retry{}
	for file, err := range left {
		rep.refused[file] = &retry{}
		rep.tellLeft(file, err)
	}
	for _, p := range problems {
		if _, isLeft := left[openName(p.Name)]; !p.Served && isRefused(p.Err) && !isLeft {
			rep.refused[p.Name] = &retry{}
			rep.health.set(reading+p.Name, p.Err)
		}
	}
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
		err := rep.tryFile(ctx, file)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, !isRefused(err) && !strings.HasSuffix(file, openExt): // it is damaged, or gone
			delete(rep.refused, file)
			rep.health.set(reading+file, nil)
			rep.health.set(salvaging+repairedName(file), nil)
			continue
		case strings.HasSuffix(file, openExt):
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
func (rep *repairer) tryFile(ctx context.Context, file string) error {
	a := rep.folder
	name := repairedName(file)
	path := filepath.Join(a.disk.episodes.dir, file)
	h, served := a.disk.episodes.get(name)
	switch {
	case served && !h.left:
		return nil // it was repaired
	case served:
		_, _, err := a.finishLeft(ctx, h, false)
		return err
	case strings.HasSuffix(file, openExt):
		if _, err := a.options.FS.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil // it was dropped
		}
		info, _, err := a.sealLeft(ctx, name, episode.Salvage)
		if err == nil {
			_, err = rep.takeIn(ctx, info)
		}
		if err != nil {
			return err
		}
		return a.removeLeft(path, false)
	}
	r, err := episode.OpenContext(ctx, path, a.disk.episodes.options)
	if err != nil {
		return err
	}
	info := r.Info()
	if err := r.Close(); err != nil {
		return err
	}
	_, err = rep.takeIn(ctx, info)
	return err
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
	unread := map[string]engram.Interval{}
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
		unread[name] = engram.Interval{Start: from, End: began[min(i, len(began)-1)]}
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
