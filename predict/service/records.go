package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/predict"
)

// The memory of predictions and its segments; package memories defines them.
const (
	Memory          = "Prediction"
	FollowSegment   = "Follow"
	ScoreSegment    = "Score"
	SurpriseSegment = "Surprise"
	ModelSegment    = "Model"
	ResetSegment    = "Reset"

	// SurpriseProvider is the provider segment of surprises.
	SurpriseProvider = "Surprise"
	// ModelProvider is the provider segment of models that [Train] makes.
	ModelProvider = "Training"

	followType   = "engram.prediction.Follow"
	scoreType    = "engram.prediction.Score"
	surpriseType = "engram.prediction.Surprise"
	modelType    = "engram.prediction.Model"
	resetType    = "engram.prediction.Reset"
)

// about returns the entity of the memory that is about another one; more is added to its name.
func about(segment, provider string, of engram.ID, more string) (engram.ID, error) {
	id, err := engram.NewID(Memory, segment, provider, of.String()+more)
	if err != nil {
		return id, engram.Errorf(engram.CodeOf(err), of.String(), "no entity can be named after it: %w", err)
	}
	return id, nil
}

// ModelOf returns the entity whose snapshots are the versions of the model of an entity.
func ModelOf(of engram.ID) (engram.ID, error) { return about(ModelSegment, ModelProvider, of, "") }

// SurpriseOf returns the entity that tells of an entity's surprises.
func SurpriseOf(of engram.ID) (engram.ID, error) {
	return about(SurpriseSegment, SurpriseProvider, of, "")
}

// TypeSource returns a payload type by its name.
type TypeSource func(name string) (*idf.Type, error)

// update makes an update of one instance.
func update(types TypeSource, entity engram.ID, at engram.Time, typ string, v map[string]any) (u engram.EntityUpdate, err error) {
	t, err := types(typ)
	if err != nil {
		return u, err
	}
	b, err := t.Encode(v)
	if err != nil {
		return u, err
	}
	return engram.EntityUpdate{Entity: entity, Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}}, nil
}

// Following says that an entity is to be predicted all the time.
type Following struct {
	Entity    engram.ID
	Horizons  []time.Duration // none is 200 ms and 1 s
	Threshold float64         // of sigma, from which a surprise is told; 0 is 4
	Enabled   bool
	Train     bool // a model is trained of what comes, while the CPU is free

	id engram.ID // of the snapshot that says so
}

// Update makes the update that says so, by somebody, at a time. The error is Invalid for what cannot be followed.
func (f *Following) Update(types TypeSource, by string, at engram.Time) (u engram.EntityUpdate, err error) {
	if err := f.check(); err != nil {
		return u, err
	}
	entity, err := about(FollowSegment, by, f.Entity, "")
	if err != nil {
		return u, err
	}
	horizons := make([]any, len(f.Horizons))
	for i, h := range f.Horizons {
		horizons[i] = h
	}
	v := map[string]any{"timestamp": at, "entity": f.Entity, "horizons": horizons, "enabled": f.Enabled, "train": f.Train}
	if f.Threshold != 0 {
		v["threshold"] = f.Threshold
	}
	return update(types, entity, at, followType, v)
}

// Followed reads what is followed below patterns, an entity once for each who asked for it. A memory without
// predictions follows nothing.
func Followed(ctx context.Context, from engram.Reader, types TypeSource, patterns []engram.Pattern) (followed []Following, err error) {
	match, err := matching(patterns)
	if err != nil {
		return nil, err
	}
	p := engram.Pattern{Levels: []engram.NameSelector{engram.OneOf(Memory), engram.OneOf(FollowSegment)}}
	r, err := from.Query(ctx, p.Select(engram.Latest(1)))
	if engram.CodeOf(err) == engram.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, item := range r.Items() {
		if len(item.Instances) == 0 {
			continue
		}
		f, err := decodeFollowing(types, &item.Instances[0].Payload)
		if err == nil && f.Enabled && match(f.Entity) {
			f.id = item.ID
			followed = append(followed, f)
		}
	}
	return followed, nil
}

// inFull returns it with what it leaves out.
func (f Following) inFull() Following {
	f.Threshold = cmp.Or(f.Threshold, DefaultThreshold)
	if len(f.Horizons) == 0 {
		f.Horizons = DefaultHorizons
	}
	return f
}

// By returns who asked for what [Followed] returned.
func (f Following) By() string { return f.id.ProviderSegment() }

// End makes the update that ends what [Followed] returned, at a time.
func (f Following) End(types TypeSource, at engram.Time) (engram.EntityUpdate, error) {
	if since, ok := f.id.Time(); ok && at <= since {
		at = since + 1 // the newest one counts
	}
	f.Enabled, f.Train = false, false
	u, err := f.Update(types, f.By(), at)
	u.Entity = f.id.Truncate(engram.LevelEntity)
	return u, err
}

// Followable refuses a snapshot of which following tells nothing: Unsupported for an image, and for a payload
// without numbers, as only numbers are judged.
func Followable(types TypeSource, n *engram.Snapshot) error {
	if len(n.Instances) == 0 {
		return nil
	}
	p := n.Instances[0].Payload
	t, err := types(p.Type)
	if err != nil {
		return err
	}
	if _, path, found := imageIn(t, p); found && path == "" {
		return engram.Errorf(engram.Unsupported, p.Type, "an image is predicted when it is asked for, and not followed")
	}
	if _, err = predict.MembersOf(t, p.Bytes); engram.CodeOf(err) == engram.Unsupported {
		return engram.Errorf(engram.Unsupported, p.Type, "only numbers are judged, and it is a payload without numbers")
	}
	return err
}

// matching returns whether one of some patterns matches an entity.
func matching(patterns []engram.Pattern) (func(engram.ID) bool, error) {
	matchers := make([]*engram.PatternMatcher, len(patterns))
	for i, p := range patterns {
		var err error
		if matchers[i], err = p.Matcher(); err != nil {
			return nil, err
		}
	}
	return func(id engram.ID) bool {
		return slices.ContainsFunc(matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) })
	}, nil
}

// maxHorizons bounds those of one entity that is followed.
const maxHorizons = 8

func (f *Following) check() error {
	if f.Entity.Level() != engram.LevelEntity {
		return engram.Errorf(engram.Invalid, f.Entity.String(), "an entity is followed, not a %s", f.Entity.Level())
	}
	if f.Entity.Memory() == Memory {
		return engram.Errorf(engram.Invalid, f.Entity.String(), "predictions of predictions are not followed")
	}
	if len(f.Horizons) > maxHorizons {
		return engram.Errorf(engram.Invalid, f.Entity.String(), "%d horizons; at most %d are followed", len(f.Horizons), maxHorizons)
	}
	for _, h := range f.Horizons {
		if h <= 0 {
			return engram.Errorf(engram.Invalid, f.Entity.String(), "the horizon %v is not above 0", h)
		}
	}
	if f.Threshold != 0 && !(f.Threshold >= 1) {
		return engram.Errorf(engram.Invalid, f.Entity.String(), "the threshold %v: a surprise is above 1 sigma", f.Threshold)
	}
	return nil
}

// decoded decodes a payload of one of the memory's types.
func decoded(types TypeSource, p *engram.Payload, typ string) (map[string]any, error) {
	if p.Type != typ {
		return nil, engram.Errorf(engram.TypeMismatch, p.Type, "the payload is not of type %s", typ)
	}
	t, err := types(typ)
	if err != nil {
		return nil, err
	}
	v, err := t.Decode(p.Bytes)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, engram.Errorf(engram.Corrupt, typ, "the payload is no object")
	}
	return o, nil
}

func decodeFollowing(types TypeSource, p *engram.Payload) (f Following, err error) {
	o, err := decoded(types, p, followType)
	if err != nil {
		return f, err
	}
	f.Entity, _ = o["entity"].(engram.ID)
	f.Threshold, _ = o["threshold"].(float64)
	f.Enabled, _ = o["enabled"].(bool)
	f.Train, _ = o["train"].(bool)
	list, _ := o["horizons"].([]any)
	for _, h := range list {
		d, _ := h.(time.Duration)
		f.Horizons = append(f.Horizons, d)
	}
	return f, f.check()
}

// Surprise returns which entity surprised, or does not any more, and by how many sigmas, by a
// payload of [SurpriseSegment].
func (s *Service) Surprise(p *engram.Payload) (entity engram.ID, sigma float64, err error) {
	o, err := decoded(s.typeOf, p, surpriseType)
	if err != nil {
		return entity, 0, err
	}
	entity, _ = o["entity"].(engram.ID)
	if sigma, _ = o["sigma"].(float64); entity.Level() != engram.LevelEntity || !(sigma >= 0) {
		return entity, 0, engram.Errorf(engram.Invalid, entity.String(), "no surprise of an entity: %v sigma", o["sigma"])
	}
	return entity, min(sigma, most), nil
}

// Version is a version of a model that was trained.
type Version struct {
	Entity, Input engram.ID // Input is the root if there is none
	Number        int64
	Episodes      []Episode // that it learned from; none holds what another one does
	Kept          bool
	Reason        string
	Members       []string
	Labels        []string // of the members, as [predict.Members] has them
	Horizons      []time.Duration
	// Level1 and Level2 are for each horizon the root mean square of the errors without and with the
	// model, in those of holding the last value, on episodes that it had not seen; Judged is how many
	// predictions that rests on.
	Level1, Level2 []float64
	Judged         int64
	Model          *predict.Model
}

func list[T any](of []T) []any {
	out := make([]any, len(of))
	for i, v := range of {
		out[i] = v
	}
	return out
}

func unlist[T any](v any) []T {
	all, _ := v.([]any)
	out := make([]T, len(all))
	for i, e := range all {
		out[i], _ = e.(T)
	}
	return out
}

// of reports whether the model is of these members.
func (v *Version) of(m *predict.Members) bool {
	return slices.Equal(v.Members, m.Paths) && (len(v.Labels) == 0 || slices.Equal(v.Labels, m.Labels))
}

// Update makes the update that tells of a version.
func (v *Version) Update(types TypeSource, at engram.Time) (u engram.EntityUpdate, err error) {
	entity, err := ModelOf(v.Entity)
	if err != nil {
		return u, err
	}
	sums := v.Model.Append(nil)
	names, begun, ended := []any{}, []any{}, []any{}
	for _, e := range v.Episodes {
		names, begun, ended = append(names, e.Name), append(begun, e.Span.Start), append(ended, e.Span.End)
	}
	o := map[string]any{
		"timestamp": at, "entity": v.Entity, "version": v.Number, "episodes": names, "begun": begun, "ended": ended, "kept": v.Kept, "reason": v.Reason,
		"members": list(v.Members), "labels": list(v.Labels), "horizons": list(v.Horizons), "level1": list(v.Level1), "level2": list(v.Level2),
		"judged": v.Judged, "size": int64(len(sums)), "sums": sums,
	}
	if v.Input.Level() == engram.LevelEntity {
		o["input"] = v.Input
	}
	return update(types, entity, at, modelType, o)
}

// DecodeVersion reads a payload of a model, which may come from anybody. The errors are TypeMismatch and Corrupt.
func DecodeVersion(types TypeSource, p *engram.Payload) (*Version, error) {
	o, err := decoded(types, p, modelType)
	if err != nil {
		return nil, err
	}
	v := &Version{
		Members: unlist[string](o["members"]), Labels: unlist[string](o["labels"]), Horizons: unlist[time.Duration](o["horizons"]),
		Level1: unlist[float64](o["level1"]), Level2: unlist[float64](o["level2"]),
	}
	begun, ended := unlist[engram.Time](o["begun"]), unlist[engram.Time](o["ended"])
	for i, name := range unlist[string](o["episodes"]) {
		e := Episode{Name: name}
		if i < min(len(begun), len(ended)) {
			e.Span = engram.Interval{Start: begun[i], End: ended[i]}
		}
		v.Episodes = append(v.Episodes, e)
	}
	v.Entity, _ = o["entity"].(engram.ID)
	v.Input, _ = o["input"].(engram.ID)
	v.Number, _ = o["version"].(int64)
	v.Kept, _ = o["kept"].(bool)
	v.Reason, _ = o["reason"].(string)
	v.Judged, _ = o["judged"].(int64)
	sums, _ := o["sums"].([]byte)
	if v.Model, err = predict.DecodeModel(sums); err != nil {
		return nil, err
	}
	if len(v.Members) != len(v.Model.Kinds) || len(v.Level1) != len(v.Horizons) || len(v.Level2) != len(v.Horizons) {
		return nil, engram.Errorf(engram.Corrupt, v.Entity.String(), "a trained model of %d members tells of %d", len(v.Model.Kinds), len(v.Members))
	}
	return v, nil
}
