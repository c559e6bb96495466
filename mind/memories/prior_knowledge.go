package memories

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// PriorKnowledgeProvider is the provider segment that prior knowledge is committed
// to.
const PriorKnowledgeProvider = lookup.PriorKnowledge

// PriorKnowledge returns a Start hook that commits folders of prior knowledge; see
// [LoadPriorKnowledge].
func PriorKnowledge(dirs ...fs.FS) func(ctx context.Context, svc engram.Service) error {
	return func(ctx context.Context, svc engram.Service) error {
		for _, dir := range dirs {
			if _, err := LoadPriorKnowledge(ctx, svc, dir); err != nil {
				return err
			}
		}
		return nil
	}
}

// LoadPriorKnowledge reads a folder of JSON and YAML files and commits what they
// say, to the provider segments [PriorKnowledgeProvider]. It returns the IDs of the
// stored snapshots, sorted. docs/memories.md describes the files; in short:
//
//	Object/Class/cup.yaml          the entity Object/Class/PriorKnowledge/cup
//	Object/Class/KIT/cup.yaml      the entity "KIT/cup"
//	Navigation/Location.yaml       several entities by name
//	Skill/Description/Arm/Wave.yaml  what the provider Arm offers: Skill/Description/Arm/Wave
//
// All files are read before anything is committed. If some are wrong nothing is,
// and the error, Invalid, has a line for each that names the file and the member.
// What only the server can refuse, such as a name that is too long, is told in the
// same way after the rest was stored. Unavailable if the server is away.
func LoadPriorKnowledge(ctx context.Context, svc engram.Service, dir fs.FS) ([]engram.ID, error) {
	r := knowledgeReader{ctx: ctx, svc: svc, dir: dir, types: map[string]*idf.Type{}, from: map[engram.ID]string{}}
	err := fs.WalkDir(dir, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return engram.Errorf(engram.NotFound, file, "%w", err)
		}
		if file != "." && strings.ContainsAny(entry.Name()[:1], "._") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if ext := path.Ext(file); !entry.IsDir() && (ext == ".json" || ext == ".yaml" || ext == ".yml") {
			err := r.file(file)
			if c := engram.CodeOf(err); c == engram.Unavailable || c == engram.Canceled {
				return err // not the file's fault
			}
			if err != nil {
				r.problems = append(r.problems, err)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	if len(r.problems) > 0 {
		return nil, problems("prior knowledge", r.problems)
	}
	return r.commit()
}

// problems makes one error of several; it shows the first twenty.
func problems(thing string, errs []error) error {
	const shown = 20
	n := len(errs)
	if n > shown {
		errs = append(errs[:shown:shown], fmt.Errorf("… and %d more", n-shown))
	}
	return engram.Errorf(engram.Invalid, thing, "%w", errors.Join(errs...))
}

// knowledgeReader makes entity updates from files.
type knowledgeReader struct {
	ctx      context.Context
	svc      engram.Service
	dir      fs.FS
	types    map[string]*idf.Type
	updates  []engram.EntityUpdate
	from     map[engram.ID]string // the file that a snapshot is from
	problems []error
}

// file reads one file, whose path says what it is about.
func (r *knowledgeReader) file(file string) error {
	b, err := readKnowledge(r.dir, file)
	if err != nil {
		return err
	}
	content, err := parseKnowledge(file, b)
	if err != nil {
		return engram.Errorf(engram.Invalid, file, "%w", err)
	}
	parts := strings.Split(strings.TrimSuffix(file, path.Ext(file)), "/")
	if len(parts) < 2 {
		return engram.Errorf(engram.Invalid, file, "the file lies in no memory's folder; write Memory/CoreSegment/entity%s", path.Ext(file))
	}
	segment, err := engram.NewID(parts[0], parts[1], PriorKnowledgeProvider)
	if err != nil {
		return engram.Errorf(engram.Invalid, file, "%w", err)
	}
	typ, err := r.segmentType(segment)
	if err != nil {
		return engram.Errorf(engram.CodeOf(err), file, "%w", err)
	}
	if len(parts) > 2 {
		return r.entity(file, segment, parts[2:], content, typ)
	}
	entities, ok := content.(map[string]any)
	if !ok {
		return engram.Errorf(engram.Invalid, file, "a file about a whole core segment holds a mapping from entities' names to what is known of them")
	}
	for _, name := range slices.Sorted(maps.Keys(entities)) {
		if err := r.entity(file, segment, strings.Split(name, "/"), entities[name], typ); err != nil {
			return err
		}
	}
	return nil
}

// ofProviders are the core segments of which each provider segment is called as who offers what is in it, which prior
// knowledge names, too: what is known of a skill stays where its provider describes it anew.
var ofProviders = map[string]bool{"Skill/Description": true}

// entityOf returns the entity that a path in a segment of prior knowledge names.
func entityOf(segment engram.ID, path []string) (engram.ID, error) {
	core := segment.Parent()
	if !ofProviders[core.String()] {
		return segment.Child(strings.Join(path, "/"))
	}
	if len(path) < 2 {
		return engram.ID{}, engram.Errorf(engram.Invalid, core.String(), "%s is known of no provider; write PROVIDER/%[1]s, such as Arm/Wave", path[0])
	}
	return engram.NewID(core.Memory(), core.CoreSegment(), path[0], strings.Join(path[1:], "/"))
}

// segmentType returns the name of the type of what is committed to the segment.
func (r *knowledgeReader) segmentType(provider engram.ID) (string, error) {
	core := provider.Parent()
	segments, err := r.svc.Describe(r.ctx, engram.PatternOf(core))
	if err != nil {
		return "", err
	}
	typ := ""
	for _, d := range segments {
		if d.ID == core && typ == "" || d.ID == provider {
			typ = d.Type
		}
	}
	if typ == "" {
		return "", engram.Errorf(engram.NotFound, core.String(), "the memory server has no such core segment")
	}
	return typ, nil
}

// idfType returns a type that the server knows.
func (r *knowledgeReader) idfType(name string) (*idf.Type, error) {
	if t := r.types[name]; t != nil {
		return t, nil
	}
	def, err := r.svc.Type(r.ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := idf.ParseType(def)
	if err == nil {
		r.types[name] = t
	}
	return t, err
}

// commit commits the updates in portions.
func (r *knowledgeReader) commit() ([]engram.ID, error) {
	var stored []engram.ID
	for portion := range slices.Chunk(r.updates, 256) {
		results, err := r.svc.Commit(r.ctx, engram.Commit{Updates: portion, Recorded: true})
		if err != nil {
			return stored, err
		}
		for i, res := range results {
			if res.Err != nil {
				file := r.from[portion[i].Entity.At(portion[i].Time)]
				r.problems = append(r.problems, engram.Errorf(engram.CodeOf(res.Err), file, "%w", res.Err))
				continue
			}
			stored = append(stored, res.ID)
		}
	}
	slices.SortFunc(stored, engram.ID.Compare)
	if len(r.problems) > 0 {
		return stored, problems("prior knowledge", r.problems)
	}
	return stored, nil
}
