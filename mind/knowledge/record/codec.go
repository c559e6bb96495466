package record

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// Memory is the name of the memory that records lie in.
const Memory = "Knowledge"

// Codec turns records into payloads of the memory Knowledge and back. It is safe for
// concurrent use.
type Codec struct {
	types   [len(kindNames)]*idf.Type
	layouts [len(kindNames)]layout
	shared  interned
}

// NewCodec returns a codec of the types that a server with the memory Knowledge knows. The error
// is that of asking for the types.
func NewCodec(ctx context.Context, types engram.Types) (*Codec, error) {
	c := &Codec{}
	for k, name := range kindNames {
		def, err := types.Type(ctx, "engram.knowledge."+name)
		if err != nil {
			return nil, err
		}
		if c.types[k], err = idf.ParseType(def); err != nil {
			return nil, err
		}
		c.layouts[k] = newLayout(Kind(k), c.types[k])
	}
	return c, nil
}

// Statement is a record as a memory has it.
type Statement struct {
	Record
	// ID is the snapshot's: who says it, and since when.
	ID engram.ID
	// Arrived is when the memory knew it.
	Arrived engram.Time
}

// Provider returns who says it.
func (s *Statement) Provider() string { return s.ID.ProviderSegment() }

// Since returns since when it is so.
func (s *Statement) Since() engram.Time {
	t, _ := s.ID.Time()
	return t
}

// Scope returns what the labels of a provider's blank nodes begin with, so that those of several
// providers and memories differ.
func Scope(memory, provider string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(memory + "/" + provider))
	return "p" + strconv.FormatUint(h.Sum64(), 36)
}

// Decode reads a snapshot of an entity of Knowledge. Blank nodes have labels that begin with
// [Scope]. The error is Corrupt if it is none.
func (c *Codec) Decode(id engram.ID, s *engram.Snapshot) (Statement, error) {
	r, err := c.decode(id, s, Scope(id.Memory(), id.ProviderSegment()))
	if err != nil {
		return Statement{}, err
	}
	return Statement{Record: r, ID: id.Truncate(engram.LevelEntity).At(s.Time), Arrived: s.Arrived}, nil
}

func (c *Codec) decode(id engram.ID, s *engram.Snapshot, scope string) (Record, error) {
	k := slices.Index(kindNames[:], id.CoreSegment())
	if k < 0 || len(s.Instances) == 0 {
		return Record{}, engram.Errorf(engram.Corrupt, id.String(), "not a snapshot of knowledge")
	}
	payload := s.Instances[0].Payload.Bytes
	r := Record{Kind: Kind(k), Name: id.Entity()}
	var usual bool
	if r.Triples, usual = c.layouts[k].triples(payload, rdf.NewIRI(r.Name), scope, &c.shared); usual {
		return r, nil
	}
	v, err := c.types[k].Decode(payload)
	if err != nil {
		return Record{}, engram.Errorf(engram.Corrupt, id.String(), "%w", err)
	}
	o, _ := v.(map[string]any)
	d := reader{object: o, entity: rdf.NewIRI(r.Name), scope: scope}
	r.Triples = d.triples(r.Kind)
	if from, ok := o["document"].(map[string]any); ok {
		r.Document = documentOf(from)
	}
	return r, nil
}

// Encode returns a record as a payload of its kind's core segment. Its triples come back as they are, in
// another order. The error is Invalid if one of them is none, or has a text that is not UTF-8.
func (c *Codec) Encode(r *Record) (engram.Payload, error) {
	t := c.types[r.Kind]
	v, err := valueOf(r)
	if err != nil {
		return engram.Payload{}, err
	}
	b, err := t.Encode(v)
	return engram.Payload{Type: t.Name(), Bytes: b}, err
}
