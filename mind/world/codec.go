package world

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// The core segments of the memory World that a codec reads and writes.
const (
	itemSegment  = "Item"
	jointSegment = "Articulation"
	stateSegment = "State"
	lookSegment  = "Observation"
	mapSegment   = "Map"
	dataSegment  = "MapData"
	partSegment  = "Component"
	clockSegment = "Clock"
)

// Codec turns what a world is made of into payloads of the memory World and back. It is safe
// for concurrent use.
type Codec struct {
	types map[string]*idf.Type // by core segment of World, or name
	robot string               // whose memories bear no robot's name; "" if it is not known
}

// inWorld matches what of the memory World a world is made of.
var inWorld = engram.MustPattern(ownMemory + "/~" + itemSegment + "|" + jointSegment + "|" + stateSegment + "|" + mapSegment + "|" + partSegment)

// NewCodec returns a codec of the types that a server with the memory World knows. The robot is
// named by the method Robot of types, if it has one, as clients and servers do. The error is that of
// asking for the types.
func NewCodec(ctx context.Context, types engram.Types) (*Codec, error) {
	c := &Codec{types: map[string]*idf.Type{}}
	if of, ok := types.(interface{ Robot() string }); ok {
		c.robot = of.Robot()
	}
	segments := []string{itemSegment, jointSegment, stateSegment, lookSegment, mapSegment, dataSegment, partSegment}
	names := slices.Clone(segments)
	for i := range names {
		names[i] = "engram.world." + names[i]
	}
	names = append(names, besideTypes...)
	defs, failed := make([]engram.TypeDef, len(names)), make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names { // at once: each may take a way to a server and back
		asked.Go(func() { defs[i], failed[i] = types.Type(ctx, name) })
	}
	asked.Wait()
	for i, name := range names {
		if i < len(segments) {
			name = segments[i]
		} else if engram.CodeOf(failed[i]) == engram.NotFound {
			continue
		}
		err := failed[i]
		if err == nil {
			c.types[name], err = idf.ParseType(defs[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Patterns match what a world is made of, as far as the server has it.
func (c *Codec) Patterns() []engram.Pattern {
	patterns := []engram.Pattern{inWorld}
	for _, name := range besideTypes {
		if c.types[name] != nil {
			patterns = append(patterns, engram.MustPattern(beside[name]))
		}
	}
	if c.types[clockType] != nil {
		patterns = append(patterns, engram.MustPattern(ownMemory+"/"+clockSegment))
	}
	return patterns
}

// PatternsIn match what of a memory, whose name may begin with a robot's, a world is made of, but for clocks.
func PatternsIn(memory string) (patterns []engram.Pattern) {
	name := memory[strings.IndexByte(memory, ':')+1:]
	if name == ownMemory {
		return []engram.Pattern{inMemory(inWorld, engram.OneOf(memory))}
	}
	for _, typ := range besideTypes {
		if p := engram.MustPattern(beside[typ]); typ != clockType && p.Levels[0].String() == name {
			patterns = append(patterns, inMemory(p, engram.OneOf(memory)))
		}
	}
	return patterns
}

// EncodeItem returns an item as a payload of World/Item, in which a source that is not set is perception.
func (c *Codec) EncodeItem(it *Item) (engram.Payload, error) {
	return c.encode(itemSegment, itemValue(it))
}

// EncodeJoint returns an articulation as a payload of World/Articulation.
func (c *Codec) EncodeJoint(a *Articulation) (engram.Payload, error) {
	return c.encode(jointSegment, jointValue(a))
}

// EncodeState returns a state as a payload of World/State.
func (c *Codec) EncodeState(s *State) (engram.Payload, error) {
	return c.encode(stateSegment, stateValue(s))
}

// EncodeLook returns a look as a payload of World/Observation.
func (c *Codec) EncodeLook(l *Look) (engram.Payload, error) {
	return c.encode(lookSegment, lookValue(l))
}

// Encode returns an Item, Articulation, State, Map or Component, or a pointer to one, as its payload. The error is that of
// values that no payload can hold.
func (c *Codec) Encode(what any) (p engram.Payload, err error) {
	switch v := what.(type) {
	case Item:
		what = &v
	case Articulation:
		what = &v
	case State:
		what = &v
	case Map:
		what = &v
	case Component:
		what = &v
	}
	_, p, err = c.encodeAny(what)
	return p, err
}

// encodeAny returns what an update says as a payload, and the core segment of it.
func (c *Codec) encodeAny(what any) (segment string, p engram.Payload, err error) {
	switch v := what.(type) {
	case *Item:
		p, err = c.EncodeItem(v)
		return itemSegment, p, err
	case *Articulation:
		p, err = c.EncodeJoint(v)
		return jointSegment, p, err
	case *State:
		p, err = c.EncodeState(v)
		return stateSegment, p, err
	case *Map:
		p, err = c.EncodeMap(v)
		return mapSegment, p, err
	case *Component:
		p, err = c.EncodeComponent(v)
		return partSegment, p, err
	case []byte:
		p, err = c.EncodeMapData(v)
		return dataSegment, p, err
	}
	return "", p, engram.Errorf(engram.Internal, "world", "a statement of %T", what)
}

// Decode reads a payload that Encode has made: an Item, Articulation, State, Map or Component as it is said there, and nothing is
// checked of it. The error is Corrupt if it cannot be read, TypeMismatch if it is of another type.
func (c *Codec) Decode(p engram.Payload) (any, error) {
	for _, segment := range []string{itemSegment, jointSegment, stateSegment, mapSegment, partSegment} {
		t := c.types[segment]
		if t.Name() != p.Type {
			continue
		}
		if segment == itemSegment {
			if it, ok := wireItem(p.Bytes); ok {
				return *it, nil
			}
		}
		decoded, err := t.Decode(p.Bytes)
		if err != nil {
			return nil, engram.Errorf(engram.Corrupt, p.Type, "%w", err)
		}
		v, _ := decoded.(map[string]any)
		switch segment {
		case itemSegment:
			return *itemOf(v), nil
		case jointSegment:
			return *jointOf(v), nil
		case stateSegment:
			return *stateOf(v), nil
		case mapSegment:
			return *mapOf(v), nil
		}
		return *componentOf(v), nil
	}
	return nil, engram.Errorf(engram.TypeMismatch, p.Type, "the world is made of no such payloads; state an item, articulation, state, map or component")
}

func (c *Codec) encode(segment string, v map[string]any) (engram.Payload, error) {
	t := c.types[segment]
	b, err := t.Encode(v)
	return engram.Payload{Type: t.Name(), Bytes: b}, err
}

// Statement reads a snapshot of World/Item. The error is Corrupt if it is none.
func (c *Codec) Statement(id engram.ID, s *engram.Snapshot) (Statement, error) {
	if len(s.Instances) > 0 {
		if it, ok := wireItem(s.Instances[0].Payload.Bytes); ok {
			return Statement{id.Entity(), c.said(id, s), it}, nil
		}
	}
	v, err := c.decode(itemSegment, id, s)
	if err != nil {
		return Statement{}, err
	}
	return Statement{id.Entity(), c.said(id, s), itemOf(v)}, nil
}

// Joint reads a snapshot of World/Articulation.
func (c *Codec) Joint(id engram.ID, s *engram.Snapshot) (JointStatement, error) {
	v, err := c.decode(jointSegment, id, s)
	if err != nil {
		return JointStatement{}, err
	}
	j := jointOf(v)
	if withdrawn := !j.describes() && j.Value == nil; !withdrawn {
		// A value that was measured counts, although it is a little out of the limits.
		if err := j.Check(id.Entity()); err != nil && engram.CodeOf(err) != engram.OutOfRange {
			return JointStatement{}, engram.Errorf(engram.Corrupt, id.String(), "%w", err)
		}
	}
	return JointStatement{id.Entity(), c.said(id, s), j}, nil
}

// State reads a snapshot of World/State.
func (c *Codec) State(id engram.ID, s *engram.Snapshot) (StateStatement, error) {
	v, err := c.decode(stateSegment, id, s)
	if err != nil {
		return StateStatement{}, err
	}
	return StateStatement{id.Entity(), c.said(id, s), stateOf(v)}, nil
}

// Look reads a snapshot of World/Observation.
func (c *Codec) Look(id engram.ID, s *engram.Snapshot) (Look, error) {
	v, err := c.decode(lookSegment, id, s)
	if err != nil {
		return Look{}, err
	}
	l := lookOf(v)
	l.Sensor, l.Said = id.Entity(), c.said(id, s)
	return l, nil
}

func (c *Codec) decode(segment string, id engram.ID, s *engram.Snapshot) (object, error) {
	if len(s.Instances) == 0 {
		return nil, engram.Errorf(engram.Corrupt, id.String(), "a snapshot without instances")
	}
	v, err := c.types[segment].Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, id.String(), "%w", err)
	}
	o, _ := v.(map[string]any)
	return o, nil
}

// robotOf returns whose memory it is. Another robot's is called "robot:World".
func (c *Codec) robotOf(memory string) string {
	robot, _ := engram.SplitName(memory)
	return cmp.Or(robot, c.robot)
}

// said returns who says a snapshot.
func (c *Codec) said(id engram.ID, s *engram.Snapshot) Said {
	said := Said{Provider: id.ProviderSegment(), Robot: c.robotOf(id.Memory()), Entity: id.Entity(), Time: s.Time, Arrived: s.Arrived}
	if len(s.Instances) > 0 {
		said.Confidence = float64(s.Instances[0].Confidence)
	}
	return said
}
