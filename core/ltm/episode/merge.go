package episode

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Merge writes a sealed episode of what several sealed ones of one epoch hold, in
// their order, as it is coded there; they stay as they are. A value in force that an
// episode before holds, too, is in it once. labels go over those of the first. The
// error is Conflict if they are of several epochs, and Corrupt if one of them is
// damaged; then nothing is left.
func Merge(ctx context.Context, from []string, to string, labels map[string]string, o Options) (Info, error) {
	o.setDefaults()
	var sources []*salvage
	defer func() {
		for _, s := range sources {
			s.scan.f.Close()
		}
	}()
	seen := seenVersions{}
	var info Info
	for i, path := range from {
		f, scan, err := openScan(path, &o, os.O_RDONLY)
		if err != nil {
			return Info{}, err
		}
		s := newSalvage(ctx, scan, nil)
		sources = append(sources, s)
		s.readSummary(f)
		first, err := newScanner(f, path)
		if err == nil {
			err = first.walk(ctx, s.define)
		}
		if err != nil {
			return Info{}, err
		}
		if !s.told {
			return Info{}, engram.Errorf(engram.Corrupt, path, "is not a whole sealed episode; repair it first")
		}
		if s.keep, err = seen.keep(ctx, path, o); err != nil {
			return Info{}, err
		}
		if i == 0 {
			info = s.info
			info.Marks = slices.Clone(info.Marks)
			continue
		}
		if s.info.Epoch != info.Epoch {
			return Info{}, engram.Errorf(engram.Conflict, path, "is of another epoch of the memory server than %s", from[0])
		}
		for _, m := range s.info.Marks {
			info.Marks = AddMark(info.Marks, m)
		}
		info.Losses = append(slices.Clip(info.Losses), s.info.Losses...)
		info.Recovered = info.Recovered || s.info.Recovered
	}
	info.Labels = withLabels(info.Labels, labels)
	if info.Supersedes == "" {
		info.First = filepath.Base(from[0])
	}
	info.Supersedes = ""
	for i, path := range from {
		if i > 0 {
			info.Supersedes += "\n"
		}
		info.Supersedes += filepath.Base(path)
	}
	w, err := create(to, to+".merge", info, o)
	if err != nil {
		return Info{}, err
	}
	w.known = map[string]engram.TypeDef{}
	for _, s := range sources {
		if err == nil {
			err = s.takeInto(w)
		}
		if err == nil && len(s.scan.problems) > 0 {
			err = engram.Errorf(engram.Corrupt, from[0], "an episode is damaged; repair it first: %s", s.scan.problems[0].What)
		}
	}
	if err == nil {
		info, err = w.Seal(ctx)
	}
	if err2 := w.Close(); err == nil {
		err = err2
	}
	if err != nil {
		o.FS.Remove(to + ".merge")
		return Info{}, err
	}
	return info, nil
}

// seenVersions are versions that the episodes so far hold, of the entities that may
// come again as values in force.
type seenVersions map[engram.ID]map[[2]engram.Time]bool

// keep returns which versions of the episode at path no episode before it holds, and
// notes those that it holds.
func (v seenVersions) keep(ctx context.Context, path string, o Options) (func(engram.ID, *engram.Snapshot) bool, error) {
	r, err := Open(path, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	again, own := seenVersions{}, seenVersions{}
	for _, e := range r.Entities() {
		tl, err := r.Timeline(e.ID)
		if err != nil {
			return nil, err
		}
		for b := range tl.Blocks() {
			found, err := tl.Index(ctx, b)
			if err != nil {
				return nil, err
			}
			for _, s := range found {
				k := [2]engram.Time{s.Time, s.Arrived}
				if v[e.ID][k] && e.InForce > 0 {
					again.add(e.ID, k)
				} else {
					own.add(e.ID, k)
				}
			}
		}
	}
	for id, versions := range own {
		for k := range versions {
			v.add(id, k)
		}
	}
	if len(again) == 0 {
		return nil, nil
	}
	return func(id engram.ID, s *engram.Snapshot) bool { return !again[id][[2]engram.Time{s.Time, s.Arrived}] }, nil
}

func (v seenVersions) add(id engram.ID, k [2]engram.Time) {
	if v[id] == nil {
		v[id] = map[[2]engram.Time]bool{}
	}
	v[id][k] = true
}
