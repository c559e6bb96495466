package skill

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// recordTypes are the full names of the records' types.
var recordTypes = map[reflect.Type]string{
	reflect.TypeFor[Description]():   "engram.skill.Description",
	reflect.TypeFor[ProviderState](): "engram.skill.Provider",
	reflect.TypeFor[Switch]():        "engram.skill.Switch",
	reflect.TypeFor[Request]():       "engram.skill.Request",
	reflect.TypeFor[AbortOrder]():    "engram.skill.Abort",
	reflect.TypeFor[Execution]():     "engram.skill.Execution",
	reflect.TypeFor[Order]():         "engram.skill.Call",
	reflect.TypeFor[Report]():        "engram.skill.Report",
	reflect.TypeFor[Transition]():    "engram.skill.Transition",
	reflect.TypeFor[Plan]():          "engram.skill.Plan",
}

// Types are the types of records, as a memory knows them. Safe for concurrent use.
type Types struct {
	find func(name string) (*idf.Type, error)

	mu    sync.Mutex
	known map[string]*idf.Type
}

// loaded are the types of the services that were used last.
var loaded struct {
	mu   sync.Mutex
	last []loadedTypes
}

type loadedTypes struct {
	svc   engram.Types
	types *Types
}

// LoadTypes returns the types of a memory, read when they are needed first, and kept for the
// services that were used last. The error is NotFound if the memory knows no skills.
func LoadTypes(ctx context.Context, svc engram.Types) (*Types, error) {
	const most = 8
	comparable := reflect.TypeOf(svc).Comparable()
	loaded.mu.Lock()
	defer loaded.mu.Unlock()
	if i := slices.IndexFunc(loaded.last, func(l loadedTypes) bool { return comparable && l.svc == svc }); i >= 0 {
		return loaded.last[i].types, nil
	}
	lasting := context.WithoutCancel(ctx)
	t := NewTypes(func(name string) (*idf.Type, error) {
		def, err := svc.Type(lasting, name)
		if err != nil {
			return nil, err
		}
		return idf.ParseType(def)
	})
	def, err := svc.Type(ctx, "engram.skill.Execution")
	if err != nil {
		return nil, err
	}
	if t.known[def.Name], err = idf.ParseType(def); err != nil {
		return nil, err
	}
	if comparable {
		loaded.last = append(loaded.last[max(0, len(loaded.last)-most+1):], loadedTypes{svc, t})
	}
	return t, nil
}

// NewTypes returns types that find looks up.
func NewTypes(find func(name string) (*idf.Type, error)) *Types {
	return &Types{find: find, known: map[string]*idf.Type{}}
}

// Type returns a type by its full name.
func (t *Types) Type(name string) (*idf.Type, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.known[name]; known != nil {
		return known, nil
	}
	found, err := t.find(name)
	if err != nil {
		return nil, err
	}
	t.known[name] = found
	return found, nil
}

// Encode returns a record, such as a *[Request], as a payload.
func (t *Types) Encode(record any) (engram.Payload, error) {
	v := reflect.Indirect(reflect.ValueOf(record))
	name := recordTypes[v.Type()]
	if name == "" {
		return engram.Payload{}, engram.Errorf(engram.Invalid, v.Type().String(), "this is no record of the memory %s", Memory)
	}
	typ, err := t.Type(name)
	if err != nil {
		return engram.Payload{}, err
	}
	b, err := typ.Encode(plain(v))
	return engram.Payload{Type: name, Bytes: b}, err
}

// Decode reads a payload into a record, such as a *[Execution]. The error is Corrupt, or
// TypeMismatch if it is of another type.
func (t *Types) Decode(p engram.Payload, record any) error {
	v := reflect.ValueOf(record).Elem()
	name := recordTypes[v.Type()]
	if p.Type != name {
		return engram.Errorf(engram.TypeMismatch, p.Type, "expected a payload of type %s", name)
	}
	typ, err := t.Type(name)
	if err != nil {
		return err
	}
	value, err := typ.Decode(p.Bytes)
	if err != nil {
		return err
	}
	return fill(v, value, "")
}

// DecodeSnapshot is Decode of an entity's first instance.
func (t *Types) DecodeSnapshot(s *engram.Snapshot, record any) error {
	if s == nil || len(s.Instances) == 0 {
		return engram.Errorf(engram.Corrupt, "", "there is no instance")
	}
	return t.Decode(s.Instances[0].Payload, record)
}

// Update returns a record as an update of an entity.
func (t *Types) Update(entity engram.ID, at engram.Time, record any) (engram.EntityUpdate, error) {
	p, err := t.Encode(record)
	if err != nil {
		return engram.EntityUpdate{}, err
	}
	return engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(p)}}, nil
}

// text shows a payload in one line.
func text(ctx context.Context, svc engram.Types, p engram.Payload) string {
	def, err := svc.Type(ctx, p.Type)
	if err != nil {
		return p.Type
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		return p.Type
	}
	s, err := typ.Text(p.Bytes, idf.TextOptions{})
	if err != nil {
		return p.Type
	}
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
