package memories

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill"
	"github.com/seed-301d4374/engram/world"
)

// symbols turn names in parameters into what they stand for, and poses into names, by what a description
// calls symbolic:
//
//	location       a Navigation/Location, by its name, or else an item: its pose
//	item           an item of the world: its pose
//	class          an entity of Object/Class, by its name: its ID
//	location_name  of a pose: the location or item nearest to it, at most nearName away
//	item_name      of a pose: the nearest item
//
// A pose is {frame_id, pose} where the parameter's type has these members or there is no type; of a
// parameter of type Pose or Position it is in the root of the frame. A parameter of type String stays the name, if there
// is such a thing. One goroutine uses them.
type symbols struct {
	present *conditionPresent
	types   *skill.Types
}

// nearName is how far from a place a pose may be that goes by its name, metres.
const nearName = 0.5

// ResolveNames returns how the memory Skill resolves names in the parameters of skills, over a service that has the
// memories Navigation, World and Object. Its result is used by one goroutine, until close.
func ResolveNames(svc engram.Service) (resolve skill.Resolver, close func()) {
	there := &elsewhere{}
	var s *symbols
	return func(ctx context.Context, d *skill.Description, parameters any) (any, error) {
		if s == nil {
			types, err := skill.LoadTypes(ctx, svc)
			if err != nil {
				return nil, err
			}
			s = &symbols{newConditionPresent(svc, there, nil), types}
		}
		return s.resolve(ctx, d, parameters)
	}, there.close
}

// symbolPlace is something with a name and a place.
type symbolPlace struct {
	name  string
	frame string
	pose  pose.Pose
}

// resolve returns parameters with what their names stand for. The error names the parameters and what is not
// known.
func (s *symbols) resolve(ctx context.Context, d *skill.Description, parameters any) (any, error) {
	given, ok := parameters.(map[string]any)
	if !ok || len(d.Symbolic) == 0 {
		return parameters, nil
	}
	all := maps.Clone(given)
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(d.Symbolic)) {
		v := all[name]
		if v == nil {
			continue
		}
		resolved, err := s.value(ctx, s.memberType(d, name), d.Symbolic[name], v)
		if err != nil {
			wrong = append(wrong, engram.Errorf(engram.CodeOf(err), name, "%w", err))
			continue
		}
		all[name] = resolved
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return all, nil
}

// memberType returns the type of a parameter in IDF's words; "" if it has none.
func (s *symbols) memberType(d *skill.Description, name string) string {
	if d.ParameterType == "" {
		return ""
	}
	t, err := s.types.Type(d.ParameterType)
	if err != nil {
		return ""
	}
	for _, m := range t.Members() {
		if m.Name == name {
			return m.Type
		}
	}
	return ""
}

func (s *symbols) value(ctx context.Context, typ, kind string, v any) (any, error) {
	text, isName := v.(string)
	if base, ok := strings.CutSuffix(kind, "_name"); ok {
		if isName {
			_, err := s.named(ctx, base, text)
			return v, err
		}
		return s.nearest(ctx, base, v)
	}
	if !isName || text == "" {
		return v, nil // it is no symbol
	}
	if kind == "class" {
		id, err := s.class(ctx, text)
		if err != nil || typ == "String" {
			return v, err
		}
		return id, nil
	}
	at, err := s.named(ctx, kind, text)
	if err != nil || typ == "String" {
		return v, err
	}
	whole := posevalue.To(at.pose)
	switch typ {
	case "Pose":
		return whole, nil
	case "Position", "Orientation", "Quaternion":
		if typ == "Position" {
			return whole["position"], nil
		}
		return whole["orientation"], nil
	}
	return map[string]any{"frame_id": at.frame, "pose": whole}, nil
}

// named returns what a name of a kind stands for.
func (s *symbols) named(ctx context.Context, kind, name string) (symbolPlace, error) {
	var names []string
	if kind == "location" {
		locations, err := s.locations(ctx)
		if err != nil {
			return symbolPlace{}, err
		}
		for _, l := range locations {
			if l.name == name {
				return l, nil
			}
			names = append(names, l.name)
		}
	}
	f, err := s.present.view(ctx)
	if err == nil && f.Has(name) {
		if frame, at, ok := world.Root(f, name); ok {
			return symbolPlace{name, frame, at}, nil
		}
		return symbolPlace{}, engram.Errorf(engram.NotFound, name, "nobody says where the item %s is", name)
	}
	if err == nil {
		for m := range f.All() {
			names = append(names, m.Name)
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		return symbolPlace{}, engram.Errorf(engram.NotFound, name, "there is no %s of this name; did you mean %s?", kind, near)
	}
	return symbolPlace{}, engram.Errorf(engram.NotFound, name, "there is no %s of this name", kind)
}

// locations returns the named locations, each once for each of its names.
func (s *symbols) locations(ctx context.Context) (all []symbolPlace, err error) {
	found, err := s.present.Newest(ctx, engram.MustPattern("Navigation/Location"))
	if err != nil {
		return nil, err
	}
	for _, it := range found {
		m, err := s.decode(ctx, it)
		if err != nil {
			return nil, err
		}
		at, ok := posevalue.Of(m["pose"])
		if !ok {
			continue
		}
		frame, _ := m["frame_id"].(string)
		names, _ := m["names"].([]any)
		for _, name := range append([]any{it.ID.Entity()}, names...) {
			if text, ok := name.(string); ok {
				all = append(all, symbolPlace{text, frame, at})
			}
		}
	}
	return all, nil
}

func (s *symbols) decode(ctx context.Context, it engram.Item) (map[string]any, error) {
	p := it.Snapshot.Instances[0].Payload
	t := s.present.Type(ctx, p.Type)
	if t == nil {
		return nil, engram.Errorf(engram.NotFound, p.Type, "the type is not known")
	}
	v, err := t.Decode(p.Bytes)
	m, _ := v.(map[string]any)
	return m, err
}

// class returns the entity of a class, by its name or by what it is called.
func (s *symbols) class(ctx context.Context, name string) (engram.ID, error) {
	found, err := s.present.Newest(ctx, engram.MustPattern("Object/Class"))
	if err != nil {
		return engram.ID{}, err
	}
	var names []string
	for _, it := range found {
		id := it.ID.Truncate(engram.LevelEntity)
		m, err := s.decode(ctx, it)
		if err != nil {
			return engram.ID{}, err
		}
		spoken, _ := m["spoken_names"].([]any)
		for _, called := range append([]any{id.Entity(), m["name"]}, spoken...) {
			text, _ := called.(string)
			if text == name {
				return id, nil
			}
			if text != "" {
				names = append(names, text)
			}
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		return engram.ID{}, engram.Errorf(engram.NotFound, name, "there is no class of this name; did you mean %s?", near)
	}
	return engram.ID{}, engram.Errorf(engram.NotFound, name, "there is no class of this name")
}

// nearest returns the name of what is nearest to a pose.
func (s *symbols) nearest(ctx context.Context, kind string, v any) (string, error) {
	m, _ := v.(map[string]any)
	frame, _ := m["frame_id"].(string)
	at, ok := posevalue.Of(m["pose"])
	if !ok {
		if at, ok = posevalue.Of(m); !ok {
			return "", engram.Errorf(engram.TypeMismatch, "", "it is neither a name nor a pose with its frame_id")
		}
	}
	best, within := "", nearName
	try := func(name, in string, p pose.Pose) {
		from := pose.Identity()
		if in != frame && frame != "" {
			var err error
			if from, err = s.present.locate(ctx, frame, in); err != nil {
				return
			}
		}
		if d := from.Mul(p).T.Sub(at.T).Norm(); d < within {
			best, within = name, d
		}
	}
	if kind == "location" {
		locations, err := s.locations(ctx)
		if err != nil {
			return "", err
		}
		for _, l := range locations {
			try(l.name, l.frame, l.pose)
		}
		if best != "" {
			return best, nil
		}
	}
	f, err := s.present.view(ctx)
	if err != nil {
		return "", err
	}
	for item := range f.All() {
		if in, p, ok := world.Root(f, item.Name); ok && in != item.Name {
			try(item.Name, in, p)
		}
	}
	if best == "" {
		return "", engram.Errorf(engram.NotFound, "", "there is no %s within %g m of the pose", kind, nearName)
	}
	return best, nil
}
