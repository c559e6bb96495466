package memories

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// node is what may be said about a snapshot or an instance beside its payload,
// under keys that begin with "$". What is said further out holds further in.
type node struct {
	file       string
	where      string // in the file, for messages
	core       string // the segment's type
	typ        string
	time       engram.Time
	confidence float32
}

func (n node) errorf(format string, args ...any) error {
	return engram.Errorf(engram.Invalid, n.file, n.where+": "+format, args...)
}

func (r *knowledgeReader) entity(file string, segment engram.ID, path []string, content any, typ string) error {
	entity, err := entityOf(segment, path)
	if err != nil {
		return engram.Errorf(engram.Invalid, file, "%w", err)
	}
	name := strings.Join(path, "/")
	n := node{file: file, where: name, core: typ, typ: typ, confidence: 1}
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
	t, err := r.instanceType(n)
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

// instanceType returns the type of an instance's payload, which extends the
// segment's.
func (r *knowledgeReader) instanceType(n node) (*idf.Type, error) {
	t, err := r.idfType(n.typ)
	if err != nil || n.typ == n.core {
		return t, err
	}
	core, err := r.idfType(n.core)
	if err != nil {
		return nil, err
	}
	return t, t.CheckExtends(core)
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
