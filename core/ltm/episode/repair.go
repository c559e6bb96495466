package episode

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"

	"github.com/seed-301d4374/engram"
)

// Repair writes what can be saved of a damaged or unsealed episode into a sealed
// one at path to, which may be the same, and returns what was lost. What is
// damaged is skipped; the file from stays, unless it is to.
func Repair(ctx context.Context, from, to string, o Options) (Info, []Problem, error) {
	return transfer(ctx, from, to, to+".repair", o, Change{}, false)
}

// ErrNothing says that a file holds nothing of an episode.
var ErrNothing = errors.New("nothing of an episode is found in the file")

// Salvage is Repair, but writes nothing if the disk does not give back all of the file:
// another time it may. The error is ErrNothing only if all of it was read.
func Salvage(ctx context.Context, from, to string, o Options) (Info, []Problem, error) {
	return transfer(ctx, from, to, to+".repair", o, Change{}, true)
}

// Change says what a rewritten episode is like.
type Change struct {
	// Keep says which versions stay. It is given them without their payloads' bytes, in
	// the order of the file.
	Keep   func(entity engram.ID, s *engram.Snapshot) bool
	Why    []string          // added to its losses
	Labels map[string]string // set in its labels
}

// Rewrite writes the episode anew with only the versions that the change keeps, without
// decoding what stays where the codec allows, and replaces it atomically: no byte of the
// other versions is in the file then. Readers that are open keep reading the old episode
// until they are closed.
func Rewrite(ctx context.Context, path string, c Change, o Options) (Info, error) {
	info, _, err := transfer(ctx, path, path, path+".rewrite", o, c, false)
	return info, err
}

// transfer makes the episode to of what is whole in from, by way of the file open.
// Without a Keep it is a repair. With all it fails if something of from cannot be read.
func transfer(ctx context.Context, from, to, open string, o Options, c Change, all bool) (Info, []Problem, error) {
	o.setDefaults()
	f, scan, err := openScan(from, &o, os.O_RDONLY)
	if err != nil {
		return Info{}, nil, err
	}
	defer f.Close()
	s := newSalvage(ctx, scan, c.Keep)
	s.readSummary(f)
	first, err := newScanner(f, from)
	if err == nil {
		err = first.walk(ctx, s.define)
	}
	if err == nil && all && first.refused != nil {
		err = fileError(from, first.refused)
	}
	if err != nil {
		return Info{}, nil, err
	}
	if !s.told && len(s.channels) == 0 {
		return Info{}, first.problems, engram.Errorf(engram.Corrupt, from, "%w", ErrNothing)
	}
	if err := o.FS.Remove(open); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, nil, fileError(open, err)
	}
	info := s.info
	info.Recovered = info.Recovered || c.Keep == nil
	info.Labels = withLabels(info.Labels, c.Labels)
	w, err := create(to, open, info, o)
	if err != nil {
		return Info{}, nil, err
	}
	info, err = s.into(w, c.Why, all)
	if err2 := w.Close(); err == nil {
		err = err2
	}
	if err != nil {
		o.FS.Remove(open)
		return Info{}, scan.problems, err
	}
	return info, scan.problems, nil
}

// withLabels returns labels with others over them.
func withLabels(labels, over map[string]string) map[string]string {
	if len(over) == 0 {
		return labels
	}
	all := map[string]string{}
	maps.Copy(all, labels)
	maps.Copy(all, over)
	return all
}

// takeInto takes all that is whole into w.
func (s *salvage) takeInto(w *Writer) error {
	s.out = w
	for _, schema := range s.schemas {
		written := s.sources[schema.Name]
		w.known[schema.Name] = engram.TypeDef{Name: schema.Name, Descriptors: schema.Data, Source: written.text, Format: written.format}
	}
	if err := s.scan.walk(s.ctx, s.take); err != nil {
		return err
	}
	return s.finish()
}

// into takes all into w and seals it. With all it fails if something cannot be read.
func (s *salvage) into(w *Writer, why []string, all bool) (Info, error) {
	w.known = map[string]engram.TypeDef{}
	if err := s.takeInto(w); err != nil {
		return Info{}, err
	}
	if all && s.scan.refused != nil {
		return Info{}, fileError(s.scan.path, s.scan.refused)
	}
	if have := w.Info().Snapshots + s.lost + s.dropped; have < s.sealed {
		s.scan.problem(s.scan.size, "%d versions are gone without a trace", s.sealed-have)
	}
	for _, why := range why {
		if why != "" {
			w.Lose(why)
		}
	}
	for _, p := range s.scan.problems {
		w.Lose("repaired: " + p.What)
	}
	return w.Seal(s.ctx)
}

// adopt takes messages of another episode as they are coded there: in plain form those of
// one snapshot.
func (w *Writer) adopt(ctx context.Context, o *origin, messages []groupMessage, inForce bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usableLocked(); err != nil {
		return err
	}
	e := w.entityLocked(&o.channel)
	c := e.adopted[o]
	if c == nil {
		schema, err := w.schemaLocked(o.channel.Type.Name, &o.channel.Type)
		if err != nil {
			return err
		}
		c = &coding{
			entity: e, config: o.channel.Codec, policy: o.channel.Policy, segment: o.channel.Segment, typ: o.channel.Type.Name, plain: o.plain, at: o.at,
			types: map[string]*schemaState{o.channel.Type.Name: schema}, channels: map[string]*channelState{},
		}
		if e.adopted == nil {
			e.adopted = map[*origin]*coding{}
		}
		e.adopted[o] = c
	}
	for i := range messages {
		if err := w.adoptTypesLocked(c, &messages[i]); err != nil {
			return err
		}
	}
	w.enterLocked(e)
	if err := w.endCodingLocked(ctx, e); err != nil {
		return err
	}
	r := e.openRun(c, inForce)
	for i := range messages {
		m := &messages[i]
		w.appendMessageLocked(r, c.channels[m.Type], m.Instance, m.log, m.publish, m.Bytes)
		if !o.plain {
			r.form = append(r.form, messageForm{uint32(len(m.Snapshots)), uint32(m.Instance), m.Key})
		}
		for _, v := range m.Snapshots {
			if inForce {
				r.inForce++
			}
			r.versions = append(r.versions, v)
			e.show(v, inForce)
			w.countLocked(v, inForce)
		}
	}
	return w.flushFullLocked()
}

// adoptTypesLocked makes the types and the channel known that a message needs.
func (w *Writer) adoptTypesLocked(c *coding, m *groupMessage) error {
	for _, v := range m.Snapshots {
		for i := range v.Instances {
			if t := v.Instances[i].Payload.Type; c.types[t] == nil && !c.plain {
				schema, err := w.schemaLocked(t, nil)
				if err != nil {
					return err
				}
				c.types[t] = schema
			}
		}
	}
	if c.channels[m.Type] != nil {
		return nil
	}
	if c.types[m.Type] == nil {
		schema, err := w.schemaLocked(m.Type, &m.typ)
		if err != nil {
			return err
		}
		c.types[m.Type] = schema
	}
	_, err := w.channelLocked(c, m.Type)
	return err
}
