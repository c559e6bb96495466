package ltm

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// policies are the policies in force. What was set at run-time is in a file.
type policies struct {
	*policy.Table
	files *smallFiles
}

// load reads what was set at run-time. People write this file, too; one that is
// not understood leaves in force what was understood last.
func (p *policies) load() error {
	fsys, path := p.files.fs, p.files.path(policiesFile)
	set := func(path string) (text []byte, err error) {
		if text, err = vfs.ReadFile(fsys, path, maxStateFile); err != nil || text == nil {
			return nil, err
		}
		overrides, err := policy.ParseFile(text)
		if err == nil {
			err = p.SetOverrides(overrides)
		}
		return text, err
	}
	text, err := set(path)
	copied, copyErr := vfs.ReadFile(fsys, path+vfs.CopySuffix, maxStateFile)
	switch {
	case err == nil && text != nil:
		if copyErr != nil || !bytes.Equal(text, copied) {
			_ = vfs.ReplaceFile(fsys, path+vfs.CopySuffix, text) // else the copy is older
		}
		return nil
	case err == nil && copied == nil:
		return nil
	case err == nil:
		err = errors.New("the file is missing")
	}
	if last, copyErr := set(path + vfs.CopySuffix); copyErr != nil || last == nil {
		return engram.Errorf(engram.CodeOf(err), policiesFile, "%w; mend the file or move it away", err)
	}
	p.files.health.set(policiesFile, engram.Errorf(engram.CodeOf(err), policiesFile, "the policies that were understood last, in %s, are in force: %w; mend the file, or move both away for the defaults", policiesFile+vfs.CopySuffix, err))
	return nil
}

func (p *policies) save() error {
	text, err := policy.PrintFile(p.Overrides())
	if err != nil {
		return err
	}
	if err := p.files.write(policiesFile, text, vfs.ReplaceFile); err != nil {
		return err
	}
	p.files.health.set(policiesFile, nil)
	return nil
}

// describe returns a policy in a few words for an episode's channel.
func describe(p policy.Policy) string {
	mode := p.Record
	if mode == "" {
		mode = policy.All
	}
	if p.MaxRate > 0 {
		return fmt.Sprintf("%s, at most %g Hz", mode, p.MaxRate)
	}
	return string(mode)
}

// all reports whether everything of a segment is recorded.
func (p *policies) all(id engram.ID) bool {
	of := p.Of(id)
	return (of.Record == "" || of.Record == policy.All) && of.MaxRate == 0
}

// some reports whether something of what is committed to an entity is recorded.
func (p *policies) some(entity engram.ID) bool { return p.Of(entity).Record != policy.Never }

// RecordsAll reports whether everything that was committed to a segment in this epoch is
// on disk, as far as it was not forgotten.
func (p *past) RecordsAll(id engram.ID) bool {
	return p.policies.all(id) && p.recorder != nil && p.recorder.counts.lost.Load() == 0
}

// AddPolicy gives a core segment its default policy, before recording begins. What was
// set at run-time goes over it.
func (a *administration) AddPolicy(core engram.ID, p policy.Policy) error {
	return a.policies.AddDefault(core, p)
}

// Policy returns the policy of a core segment.
func (a *administration) Policy(core engram.ID) policy.Policy { return a.policies.Of(core) }

// PolicyOverrides returns what was set over the defaults.
func (a *administration) PolicyOverrides() []policy.Override { return a.policies.Overrides() }

// SetPolicy changes settings of the core segments that a pattern matches, from now on
// and for later epochs. An empty text takes a setting back.
func (a *administration) SetPolicy(ctx context.Context, o policy.Override) error {
	old := a.policies.Overrides()
	if err := a.policies.Override(o); err != nil {
		return err
	}
	if err := a.policies.save(); err != nil {
		if back := a.policies.SetOverrides(old); back != nil {
			return back
		}
		return err
	}
	if a.recorder == nil {
		return nil
	}
	return a.recorder.do(ctx, func() error {
		a.recorder.policiesChanged()
		return nil
	})
}

// policiesChanged makes the recorder follow the policies as they are now.
func (r *recorder) policiesChanged() {
	r.filters.Changed()
	for core := range r.uncoded {
		r.health.set(coding+core.String(), nil)
	}
	clear(r.uncoded)
	for id, e := range r.entities {
		e.channel, e.durable = r.channel(id)
	}
}
