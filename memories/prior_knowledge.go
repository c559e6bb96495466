package memories

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// PriorKnowledgeProvider is the provider segment that prior knowledge is committed
// to.
const PriorKnowledgeProvider = "PriorKnowledge"

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
//
// All files are read before anything is committed. If some are wrong nothing is,
// and the error, Invalid, has a line for each that names the file and the member.
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
			if err := r.file(file); err != nil {
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
		return r.entity(file, segment, strings.Join(parts[2:], "/"), content, typ)
	}
	entities, ok := content.(map[string]any)
	if !ok {
		return engram.Errorf(engram.Invalid, file, "a file about a whole core segment holds a mapping from entities' names to what is known of them")
	}
	for _, name := range slices.Sorted(maps.Keys(entities)) {
		if err := r.entity(file, segment, name, entities[name], typ); err != nil {
			return err
		}
	}
	return nil
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

// node is what may be said about a snapshot or an instance beside its payload,
// under keys that begin with "$". What is said further out holds further in.
type node struct {
	file       string
	where      string // in the file, for messages
	typ        string
	time       engram.Time
	confidence float32
}

func (n node) errorf(format string, args ...any) error {
	return engram.Errorf(engram.Invalid, n.file, n.where+": "+format, args...)
}

func (r *knowledgeReader) entity(file string, segment engram.ID, name string, content any, typ string) error {
	entity, err := segment.Child(name)
	if err != nil {
		return engram.Errorf(engram.Invalid, file, "%w", err)
	}
	n := node{file: file, where: name, typ: typ, confidence: 1}
	m, isMap := content.(map[string]any)
	if !isMap || m["$snapshots"] == nil {
		return r.snapshot(n, entity, content)
	}
	if n, err = n.with(m, "$snapshots"); err != nil {
		return err
	}
	list, ok := m["$snapshots"].([]any)
	if !ok {
		return n.errorf("$snapshots holds no list")
	}
	for i, content := range list {
		inner := n
		inner.where = fmt.Sprintf("%s.$snapshots[%d]", name, i)
		if err := r.snapshot(inner, entity, content); err != nil {
			return err
		}
	}
	return nil
}

// with returns n with what the mapping says under keys that begin with "$"; holds
// is the one under which further nodes stand, and the only other one allowed.
func (n node) with(m map[string]any, holds string) (node, error) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		v, ok := m[key], true
		switch key {
		case "$time":
			text, isText := v.(string)
			if num, isNum := v.(json.Number); isNum {
				text, isText = num.String(), true
			}
			t, err := engram.ParseTime(text)
			if !isText || err != nil {
				return n, n.errorf("$time %v is not a time; write 2022-02-18 13:06:56 or RFC 3339", v)
			}
			n.time = t
		case "$confidence":
			num, isNum := v.(json.Number)
			f, err := num.Float64()
			if !isNum || err != nil || !(f >= 0 && f <= 1) {
				return n, n.errorf("$confidence %v is not a number from 0 to 1", v)
			}
			n.confidence = float32(f)
		case "$type":
			n.typ, ok = v.(string)
		case holds:
		default:
			ok = false
		}
		if !ok {
			return n, n.errorf("%q cannot stand here; beside %s there may be $time, $confidence and $type", key, holds)
		}
	}
	return n, nil
}

// snapshot takes a mapping with $instances, or what is one instance.
func (r *knowledgeReader) snapshot(n node, entity engram.ID, content any) (err error) {
	contents := []any{content}
	m, isMap := content.(map[string]any)
	several := isMap && m["$instances"] != nil
	if several {
		if n, err = n.with(m, "$instances"); err != nil {
			return err
		}
		var ok bool
		if contents, ok = m["$instances"].([]any); !ok || len(contents) == 0 {
			return n.errorf("$instances holds no list of instances")
		}
	} else if n, err = n.ofInstance(m); err != nil {
		return err
	}
	u := engram.EntityUpdate{Entity: entity, Time: n.time}
	for i, content := range contents {
		inner := n
		if several {
			inner.where = fmt.Sprintf("%s.$instances[%d]", n.where, i)
			if m, _ := content.(map[string]any); m["$time"] != nil {
				return inner.errorf("$time belongs to the snapshot, outside $instances")
			}
		}
		instance, err := r.instance(inner, content)
		if err != nil {
			return err
		}
		u.Instances = append(u.Instances, instance)
	}
	id := entity.At(n.time)
	if other, ok := r.from[id]; ok {
		return n.errorf("%s says something about the same entity and time already", other)
	}
	r.from[id] = n.file
	r.updates = append(r.updates, u)
	return nil
}

// ofInstance takes the "$" keys that stand among a payload's members.
func (n node) ofInstance(m map[string]any) (node, error) {
	said := map[string]any{}
	if !isFileReference(m) {
		for key, v := range m {
			if strings.HasPrefix(key, "$") {
				said[key] = v
			}
		}
	}
	return n.with(said, "$payload")
}

// instance encodes one instance.
func (r *knowledgeReader) instance(n node, content any) (engram.Instance, error) {
	m, _ := content.(map[string]any)
	n, err := n.ofInstance(m)
	if err != nil {
		return engram.Instance{}, err
	}
	if payload, ok := m["$payload"]; ok {
		content = payload
		for key := range m {
			if !strings.HasPrefix(key, "$") {
				return engram.Instance{}, n.errorf("%q stands beside $payload, which is the whole payload", key)
			}
		}
	} else if m != nil && !isFileReference(m) {
		members := map[string]any{}
		for key, v := range m {
			if !strings.HasPrefix(key, "$") {
				members[key] = v
			}
		}
		content = members
	}
	if content, err = r.files(n, content); err != nil {
		return engram.Instance{}, err
	}
	t, err := r.idfType(n.typ)
	if err != nil {
		return engram.Instance{}, n.errorf("%w", err)
	}
	j, err := json.Marshal(content)
	if err != nil {
		return engram.Instance{}, n.errorf("%w", err)
	}
	b, err := t.FromJSON(j)
	if err != nil {
		return engram.Instance{}, n.errorf("%w", err)
	}
	return engram.Instance{Payload: engram.Payload{Type: t.Name(), Bytes: b}, Confidence: n.confidence}, nil
}

// isFileReference reports whether a mapping stands for a file's content.
func isFileReference(m map[string]any) bool {
	return len(m) == 1 && (m["$text"] != nil || m["$bytes"] != nil)
}

// files puts the content of files where {"$text": path} or {"$bytes": path} stand.
func (r *knowledgeReader) files(n node, v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = r.files(n, v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if isFileReference(v) {
			return r.fileContent(n, v)
		}
		for key := range v {
			if v[key], err = r.files(n, v[key]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func (r *knowledgeReader) fileContent(n node, m map[string]any) (any, error) {
	_, isText := m["$text"]
	name, ok := cmp.Or(m["$text"], m["$bytes"]).(string)
	if !ok {
		return nil, n.errorf("$text and $bytes take a path, from the file's own folder")
	}
	file := path.Join(path.Dir(n.file), name)
	b, err := readKnowledge(r.dir, file)
	if err != nil {
		return nil, n.errorf("%w", err)
	}
	if !isText {
		return base64.StdEncoding.EncodeToString(b), nil
	}
	if !utf8.Valid(b) {
		return nil, n.errorf("%s is not UTF-8 text; use $bytes", file)
	}
	return string(b), nil
}

// maxKnowledgeFile bounds a file, in bytes.
const maxKnowledgeFile = 64 * mib

func readKnowledge(dir fs.FS, file string) ([]byte, error) {
	f, err := dir.Open(file)
	if err != nil {
		return nil, engram.Errorf(engram.NotFound, file, "%w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKnowledgeFile+1))
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, file, "%w", err)
	}
	if len(b) > maxKnowledgeFile {
		return nil, engram.Errorf(engram.Exhausted, file, "the file is larger than %d bytes", maxKnowledgeFile)
	}
	return b, nil
}

// commit commits the updates in portions.
func (r *knowledgeReader) commit() ([]engram.ID, error) {
	var stored []engram.ID
	for portion := range slices.Chunk(r.updates, 256) {
		results, err := r.svc.Commit(r.ctx, engram.Commit{Updates: portion})
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
