package episode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Reader reads a sealed episode. Safe for concurrent use.
type Reader struct {
	*container
	sum    *summary
	tables []*blockTable // of the entities of sum, if that was found by looking through the file

	mu struct {
		damage *Damage    // beyond that of sum
		again  *recovered // found because of that
		looked bool
		sync.Mutex
		defs     map[uint16]*channelDef
		learned  bool              // the registry was told of the types
		sources  map[string]source // how types were written; nil until they are needed
		dictsRaw map[string][]byte
	}
}

// source is how a type's definition was written.
type source struct{ text, format string }

// Open opens a sealed episode. It reads the summary only. If that is not whole, all of
// the file is looked through, and what is whole can be read: its Info tells the damage.
// Corrupt if nothing is.
func Open(path string, o Options) (*Reader, error) {
	return OpenContext(context.Background(), path, o)
}

// OpenContext is Open, which gives up looking through the file when ctx ends.
func OpenContext(ctx context.Context, path string, o Options) (*Reader, error) {
	o.setDefaults()
	f, err := o.FS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, fileError(path, err)
	}
	r := &Reader{}
	r.sum, err = readSummary(f, path, false)
	if engram.CodeOf(err) == engram.Corrupt && !errors.Is(err, ErrRewritten) {
		err = r.recover(ctx, f, path, err)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r.container = newContainer(path, f, &o, r.channelDef)
	r.mu.defs = map[uint16]*channelDef{}
	r.mu.dictsRaw = map[string][]byte{}
	return r, nil
}

// recover looks through a file whose summary is not whole.
func (r *Reader) recover(ctx context.Context, f vfs.File, path string, cause error) error {
	st, err := f.Stat()
	if err != nil {
		return fileError(path, err)
	}
	found, err := recoverIndex(ctx, f, path)
	if ctx.Err() != nil {
		return engram.Errorf(engram.Canceled, path, "looking through the damaged file was given up: %w", context.Cause(ctx))
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	r.sum, r.tables = found.summary()
	r.sum.info.Name, r.sum.info.Bytes, r.sum.info.Sealed = filepath.Base(path), st.Size(), true
	r.sum.info.Damage = found.damage(cause)
	return nil
}

// Close closes the file when the last call that uses it has ended.
func (r *Reader) Close() error { return r.container.close() }

// Info implements [Source]. Its Damage is what was found so far.
func (r *Reader) Info() Info {
	info := r.sum.info
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.damage != nil {
		info.Damage = r.mu.damage
	}
	return info
}

// Entities implements [Source].
func (r *Reader) Entities() []Entity {
	list := make([]Entity, len(r.sum.entities))
	for i := range list {
		list[i] = r.sum.entities[i].Entity
	}
	return list
}

// Timeline implements [Source]. It makes the types of the entity's payloads known.
func (r *Reader) Timeline(entity engram.ID) (Timeline, error) {
	i, ok := slices.BinarySearchFunc(r.sum.entities, entity, func(e dirEntity, id engram.ID) int { return e.ID.Compare(id) })
	if !ok {
		return nil, engram.Errorf(engram.NotFound, entity.String(), "the episode %s holds nothing of it", r.path)
	}
	e := &r.sum.entities[i]
	if r.tables != nil {
		return r.timelineOf(entity, e.number, r.tables[i], nil, true), r.learn()
	}
	key := cacheKey{source: r.source, kind: cacheTable, offset: e.number}
	if v, ok := r.cache.get(key); ok {
		return r.timelineOf(entity, e.number, v.(*blockTable), nil, true), nil
	}
	done, err := r.use()
	if err != nil {
		return nil, err
	}
	defer done()
	refs, err := r.table(e)
	if err != nil {
		if refs, err = r.lookThrough(entity, err); err != nil {
			return nil, err
		}
	}
	r.learnTypes()
	table := newBlockTable(refs)
	size := int64(0)
	for _, ref := range refs {
		size += 160 + int64(len(ref.segments))*16
	}
	r.cache.put(key, table, size)
	return r.timelineOf(entity, e.number, table, nil, true), nil
}

// table reads the block table of an entity.
func (r *Reader) table(e *dirEntity) ([]*blockRef, error) {
	b, err := r.readAt(r.sum.indexAt+int64(e.offset), int(e.length))
	if err != nil {
		return nil, err
	}
	if crc32c(b) != e.crc {
		return nil, engram.Errorf(engram.Corrupt, r.path, "the CRC of the block table of %s does not fit it", e.ID)
	}
	refs, err := parseTable(b)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, r.path, "the index of %s: %w", e.ID, err)
	}
	return refs, nil
}

// lookThrough finds the blocks of an entity whose block table is damaged by looking
// through the file, once for all of them.
func (r *Reader) lookThrough(entity engram.ID, cause error) ([]*blockRef, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.looked {
		r.mu.looked = true
		if found, err := recoverIndex(context.Background(), r.f, r.path); err == nil {
			r.mu.again, r.mu.damage = found, found.damage(cause)
		}
	}
	if r.mu.again != nil {
		if e := r.mu.again.entities[entity.String()]; e != nil {
			return e.blocks, nil
		}
	}
	return nil, cause
}

// learn is learnTypes for who does not use the file yet.
func (r *Reader) learn() error {
	done, err := r.use()
	if err != nil {
		return err
	}
	defer done()
	r.learnTypes()
	return nil
}

// learnTypes makes the episode's types known to the registry, once. Where it knows
// another type of that name, that one stays: protobuf's rules for changes say how
// far the payloads can be read with it. A type that makes no sense is left out:
// payloads are no less readable as bytes.
func (r *Reader) learnTypes() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.learned {
		return
	}
	r.sourcesLocked()
	for _, s := range r.sum.schemas {
		written := r.mu.sources[s.Name]
		r.types.Add(engram.TypeDef{Name: s.Name, Descriptors: s.Data, Source: written.text, Format: written.format})
	}
	r.mu.learned = true
}

// sourcesLocked reads how the episode's types were written, as far as that is whole: it
// is for people.
func (r *Reader) sourcesLocked() {
	if r.mu.sources != nil {
		return
	}
	sources := map[string]source{}
	t := fileTail{f: r.f, size: r.sum.info.Bytes, from: r.sum.info.Bytes}
	for _, x := range r.sum.meta {
		if metadataKind(x.Name) != metadataType {
			continue
		}
		m, err := r.sum.metadata(&t, x)
		if err != nil {
			if r.mu.damage == nil {
				r.mu.damage = &Damage{Why: "how a type was written: " + err.Error(), Known: true}
			}
			continue
		}
		sources[m.Metadata["name"]] = source{m.Metadata["source"], m.Metadata["format"]}
	}
	r.mu.sources = sources
}

// Types returns the types of the episode's payloads, sorted by name.
func (r *Reader) Types() ([]engram.TypeDef, error) {
	done, err := r.use()
	if err != nil {
		return nil, err
	}
	defer done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sourcesLocked()
	var list []engram.TypeDef
	for _, s := range r.sum.schemas {
		written := r.mu.sources[s.Name]
		list = append(list, engram.TypeDef{Name: s.Name, Descriptors: s.Data, Source: written.text, Format: written.format})
	}
	slices.SortFunc(list, func(a, b engram.TypeDef) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list, nil
}

// channelDef returns what is to be known of a channel, or nil.
func (r *Reader) channelDef(id uint16) *channelDef {
	r.mu.Lock()
	defer r.mu.Unlock()
	if def, ok := r.mu.defs[id]; ok {
		return def
	}
	ch := r.sum.channels[id]
	if ch == nil {
		return nil
	}
	def, err := channelDefOf(ch, r.sum.schemas, r.dictionaryLocked)
	if err != nil {
		return nil // Verify tells why
	}
	r.mu.defs[id] = def
	return def
}

func (r *Reader) dictionaryLocked(name string) ([]byte, error) {
	if d, ok := r.mu.dictsRaw[name]; ok {
		return d, nil
	}
	for _, x := range r.sum.attach {
		if x.Name != name {
			continue
		}
		if x.Length > uint64(r.sum.info.Bytes) {
			break
		}
		b, err := r.readAt(int64(x.Offset), int(x.Length))
		if err != nil {
			return nil, err
		}
		op, content, _, ok := cutRecord(b)
		a, whole := parseAttachment(content)
		if !ok || !whole || op != mcap.OpAttachment {
			break
		}
		r.mu.dictsRaw[name] = a.data
		return a.data, nil
	}
	return nil, engram.Errorf(engram.Corrupt, r.path, "the attachment %s is missing or damaged", name)
}
