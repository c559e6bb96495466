package service

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/pose"
)

// pair returns the full names of two frames.
func (l *Local) pair(target, source string) (fullTarget, fullSource string, err error) {
	// The one with a robot first: it helps with the other.
	if !strings.Contains(source, "/") {
		if target, err = l.resolve(target, ""); err == nil {
			source, err = l.resolve(source, target)
		}
		return target, source, err
	}
	if source, err = l.resolve(source, ""); err == nil {
		target, err = l.resolve(target, source)
	}
	return target, source, err
}

// resolve returns the full name of a frame: the name itself if there is such a
// frame; else that of the robot of the frame beside it, or of the only robot that
// has one.
func (l *Local) resolve(name, beside string) (string, error) {
	if name == "" {
		return "", engram.Errorf(engram.Invalid, "", "a frame's name is empty")
	}
	if l.has(name) || strings.Contains(name, "/") {
		return name, nil // what there is not, the store says best
	}
	if robot, _, ok := cutLast(beside); ok && l.has(robot+"/"+name) {
		return robot + "/" + name, nil
	}
	found := map[string]bool{}
	for _, e := range l.store.Edges() {
		for _, frame := range []string{e.Parent, e.Child} {
			if _, last, _ := cutLast(frame); last == name {
				found[frame] = true
			}
		}
	}
	switch candidates := slices.Sorted(maps.Keys(found)); len(candidates) {
	case 0:
		return name, nil
	case 1:
		return candidates[0], nil
	default:
		return "", engram.Errorf(engram.NotFound, name, "several robots have such a frame; say which: %s", strings.Join(candidates[:min(len(candidates), 8)], ", "))
	}
}

func (l *Local) has(name string) bool {
	_, err := l.store.Path(name, name)
	return err == nil
}

func cutLast(s string) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

func failureOf(err error) (pose.Failure, bool) { return errors.AsType[pose.Failure](err) }
