package policy

import (
	"maps"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Override changes some settings of the core segments that a pattern matches.
type Override struct {
	Pattern engram.Pattern // of at most two levels: memory, core segment
	// Settings are texts by the names that [SettingNames] lists.
	Settings map[string]string
}

// Validate returns an error that names the setting and its value if one of them is
// not understood.
func (o Override) Validate() error {
	if len(o.Pattern.Levels) > 2 {
		return engram.Errorf(engram.Invalid, o.Pattern.String(),
			"a policy is that of a core segment: give memory and core segment, such as Vision/*")
	}
	if _, err := o.Pattern.Matcher(); err != nil {
		return err
	}
	var p Policy
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		if err := p.Set(name, o.Settings[name]); err != nil {
			return err
		}
	}
	return nil
}

// Table knows the policy of every core segment: defaults by segment, and overrides
// on top, later ones over earlier ones. Safe for concurrent use.
type Table struct {
	mu struct {
		sync.RWMutex
		defaults  map[engram.ID]Policy
		overrides []Override // valid
		matchers  []*engram.PatternMatcher
	}
}

// NewTable returns a table with the defaults of core segments. The error names
// the segment and the setting that is wrong.
func NewTable(defaults map[engram.ID]Policy) (*Table, error) {
	t := &Table{}
	t.mu.defaults = maps.Clone(defaults)
	if t.mu.defaults == nil {
		t.mu.defaults = map[engram.ID]Policy{}
	}
	for core, p := range defaults {
		if err := p.Validate(); err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), core.String(), "its policy: %w", err)
		}
	}
	return t, nil
}

// Of returns the policy of a core segment, or of the one that id lies in. Segments
// without a default have the zero Policy.
func (t *Table) Of(id engram.ID) Policy {
	core := id.Truncate(engram.LevelCoreSegment)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ofLocked(core, t.mu.overrides, t.mu.matchers)
}

func (t *Table) ofLocked(core engram.ID, overrides []Override, matchers []*engram.PatternMatcher) Policy {
	p := t.mu.defaults[core]
	for i, o := range overrides {
		if !matchers[i].Match(core) {
			continue
		}
		for name, text := range o.Settings {
			// Overrides were validated when they came in.
			if err := p.Set(name, text); err != nil {
				panic("policy: " + err.Error())
			}
		}
	}
	return p
}

// Overrides returns the overrides in force, in their order.
func (t *Table) Overrides() []Override {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.mu.overrides)
}

// SetOverrides replaces all overrides. If one is wrong, or with them a segment
// that has a default has a policy that cannot be followed, nothing changes.
func (t *Table) SetOverrides(overrides []Override) error {
	overrides = slices.Clone(overrides)
	matchers := make([]*engram.PatternMatcher, len(overrides))
	for i, o := range overrides {
		if err := o.Validate(); err != nil {
			return engram.Errorf(engram.CodeOf(err), o.Pattern.String(), "its policy: %w", err)
		}
		matchers[i], _ = o.Pattern.Matcher() // Validate has compiled it once
		overrides[i].Settings = maps.Clone(o.Settings)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for core := range t.mu.defaults {
		if err := t.ofLocked(core, overrides, matchers).Validate(); err != nil {
			return engram.Errorf(engram.CodeOf(err), core.String(), "its policy: %w", err)
		}
	}
	t.mu.overrides, t.mu.matchers = overrides, matchers
	return nil
}

// Override changes settings of the segments that a pattern matches, on top of all
// overrides there are; those of the same pattern are merged. An empty text takes a
// setting of this pattern back.
func (t *Table) Override(o Override) error {
	overrides := t.Overrides()
	text := o.Pattern.String()
	merged := Override{Pattern: o.Pattern, Settings: map[string]string{}}
	overrides = slices.DeleteFunc(overrides, func(old Override) bool {
		if old.Pattern.String() != text {
			return false
		}
		maps.Copy(merged.Settings, old.Settings)
		return true
	})
	for name, value := range o.Settings {
		if _, err := settingOf(name); err != nil {
			return err
		}
		if value == "" {
			delete(merged.Settings, name)
		} else {
			merged.Settings[name] = value
		}
	}
	if len(merged.Settings) > 0 {
		overrides = append(overrides, merged)
	}
	return t.SetOverrides(overrides)
}

// AddDefault gives a core segment its default, instead of the one it may have. If
// with it and the overrides the policy cannot be followed, nothing changes.
func (t *Table) AddDefault(core engram.ID, p Policy) error {
	if err := p.Validate(); err != nil {
		return engram.Errorf(engram.CodeOf(err), core.String(), "its policy: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old, had := t.mu.defaults[core]
	t.mu.defaults[core] = p
	err := t.ofLocked(core, t.mu.overrides, t.mu.matchers).Validate()
	if err == nil {
		return nil
	}
	if delete(t.mu.defaults, core); had {
		t.mu.defaults[core] = old
	}
	return engram.Errorf(engram.CodeOf(err), core.String(), "its policy with what is set over it: %w", err)
}
