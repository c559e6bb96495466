package lookup

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// pair returns the full names of two frames that are asked about at t, as far as the caller
// may know them. Where a name alone stands for frames of several robots, the other one
// decides: both are of one robot.
func (l *Local) pair(k *known, target, source string, t engram.Time) (fullTarget, fullSource string, err error) {
	targets, err := l.candidates(k, target)
	if err != nil {
		return "", "", err
	}
	sources, err := l.candidates(k, source)
	if err != nil {
		return "", "", err
	}
	if targets, sources, err = narrow(target, targets, sources); err == nil {
		sources, targets, err = narrow(source, sources, targets)
	}
	if err != nil {
		return "", "", err
	}
	return targets[0], sources[0], k.way(targets[0], sources[0], t)
}

// narrow reduces the candidates of a name to those of robots of which the other
// name has candidates, and of the others those that fit. The error is NotFound if
// several are left.
func narrow(name string, these, others []string) (left, fitting []string, err error) {
	if len(these) == 1 {
		return these, others, nil
	}
	for _, of := range []func(string) string{above, robotOf} {
		var left, fitting []string
		for _, frame := range these {
			for _, other := range others {
				if of(frame) == of(other) {
					left, fitting = append(left, frame), append(fitting, other)
				}
			}
		}
		if left = slices.Compact(left); len(left) == 1 {
			return left, fitting, nil
		}
	}
	return nil, nil, severalRobots(name, these)
}

// above is a frame's name without its last part.
func above(frame string) string { before, _, _ := cutLast(frame); return before }

// robotOf is the first part of a frame's name.
func robotOf(frame string) string { robot, _, _ := strings.Cut(frame, "/"); return robot }

func severalRobots(name string, candidates []string) error {
	return engram.Errorf(engram.NotFound, name, "several robots have such a frame; say which: %s", strings.Join(candidates[:min(len(candidates), 8)], ", "))
}

// resolve returns the full name of a frame: the name itself if there is such a
// frame; else that of the robot of the frame beside it, or of the only robot that
// has one.
func (l *Local) resolve(k *known, name, beside string) (string, error) {
	candidates, err := l.candidates(k, name)
	if err != nil {
		return "", err
	}
	left, _, err := narrow(name, candidates, []string{beside})
	if err != nil {
		return "", err
	}
	if !k.has(left[0]) {
		return "", pose.NoFrame(left[0])
	}
	return left[0], nil
}

// candidates returns the frames that a name may stand for, sorted: the name itself if
// there is such a frame, or if there is none at all, which the store says best.
func (l *Local) candidates(k *known, name string) ([]string, error) {
	if name == "" {
		return nil, engram.Errorf(engram.Invalid, "", "a frame's name is empty")
	}
	if l.has(k, name) || strings.Contains(name, "/") {
		return []string{name}, nil
	}
	found := map[string]bool{}
	for e := range l.store.Structure().Edges() {
		if k != nil && e.Foreign {
			continue
		}
		for _, frame := range []string{e.Parent, e.Child} {
			if _, last, _ := cutLast(frame); last == name {
				found[frame] = true
			}
		}
	}
	if len(found) == 0 {
		return []string{name}, nil
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func (l *Local) has(k *known, name string) bool { return k.has(name) && l.store.Structure().Has(name) }

func cutLast(s string) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return "", s, false
}

func failureOf(err error) (pose.Failure, bool) { return errors.AsType[pose.Failure](err) }
