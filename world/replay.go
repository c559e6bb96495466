package world

import (
	"context"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Replay makes the world of what memories held, snapshot by snapshot, without asking them. Not
// for concurrent use.
type Replay struct {
	codec    *Codec
	builder  *Builder
	segments []ofSegments // of which the world is made
}

// ofSegments are segments of a memory.
type ofSegments struct {
	memory string
	names  engram.NameMatcher
}

// NewReplay returns a world without statements. The error is NotFound where the types of the
// memory World are not known.
func NewReplay(ctx context.Context, types engram.Types, rules Rules) (*Replay, error) {
	codec, err := NewCodec(ctx, types)
	if err != nil {
		return nil, err
	}
	r := &Replay{codec: codec, builder: NewBuilder(rules)}
	r.builder.robot = codec.robot
	for _, p := range codec.Patterns() {
		of := ofSegments{memory: p.Levels[0].String()}
		names := engram.AllNames()
		if len(p.Levels) > 1 {
			names = p.Levels[1]
		}
		if of.names, err = names.Matcher(); err != nil {
			return nil, err
		}
		r.segments = append(r.segments, of)
	}
	return r, nil
}

// Put takes a snapshot, and reports whether the world may be another for it: that it says
// something which can be read, in a segment of which worlds are made.
func (r *Replay) Put(it engram.Item) bool {
	if !slices.ContainsFunc(r.segments, func(of ofSegments) bool { return isOf(it.ID, of.memory) && of.names.Match(it.ID.CoreSegment()) }) {
		return false
	}
	_, err := r.codec.put(r.builder, it)
	return err == nil
}

// Forest returns the world of what was put.
func (r *Replay) Forest() *Forest { return r.builder.Forest() }
