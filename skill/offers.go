package skill

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
)

// Offer is a skill with what is known of its state.
type Offer struct {
	ID engram.ID // of the description's entity
	*Description
	Provider *ProviderState // nil if none was heard of
	Switch   *Switch        // nil if it was never enabled or disabled
}

// State says in a word whether the skill can be run at a time: "in service", "disabled", "no
// provider", "ended" or "lost".
func (o *Offer) State(now engram.Time) string {
	switch {
	case o.Switch != nil && !o.Switch.Enabled:
		return "disabled"
	case o.Provider == nil:
		return "no provider"
	case !o.Provider.InService:
		return "ended"
	case now >= o.Provider.Timestamp.Add(o.Provider.Lease):
		return "lost"
	}
	return "in service"
}

// Offers returns the skills of a memory ("" for [Memory]), sorted by name and provider.
func Offers(ctx context.Context, svc engram.Service, memory string) ([]*Offer, error) {
	memory = cmp.Or(memory, Memory)
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return nil, err
	}
	all, err := Descriptions(ctx, svc, memory)
	if err != nil {
		return nil, err
	}
	providers := map[string]*ProviderState{}
	if err := eachLatest(ctx, svc, types, memory+"/Provider", func(id engram.ID, p *ProviderState) { providers[id.ProviderSegment()] = p }); err != nil {
		return nil, err
	}
	switches := map[string]*Switch{}
	err = eachLatest(ctx, svc, types, memory+"/Switch", func(_ engram.ID, s *Switch) {
		key := s.Skill.ProviderSegment() + "/" + s.Skill.Entity()
		if was := switches[key]; was == nil || was.Timestamp < s.Timestamp {
			switches[key] = s
		}
	})
	var offers []*Offer
	for id, d := range all {
		offers = append(offers, &Offer{id, d, providers[id.ProviderSegment()], switches[id.ProviderSegment()+"/"+id.Entity()]})
	}
	slices.SortFunc(offers, func(a, b *Offer) int {
		return cmp.Or(cmp.Compare(a.ID.Entity(), b.ID.Entity()), a.ID.Compare(b.ID))
	})
	return offers, err
}

// Parameter is what a skill takes.
type Parameter struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // in IDF's words, or "any"
	Default any    `json:"default,omitempty"`
	Names   string `json:"names,omitempty"` // what it may name
	Doc     string `json:"doc,omitempty"`
}

// ParametersOf returns what a skill takes: by its type, or by its defaults.
func ParametersOf(ctx context.Context, svc engram.Types, d *Description) (all []Parameter, err error) {
	defaults, _ := d.DefaultParameters.(map[string]any)
	if d.ParameterType == "" || d.ParameterType == engram.ValueType {
		for _, name := range slices.Sorted(maps.Keys(defaults)) {
			all = append(all, Parameter{Name: name, Type: "any", Default: defaults[name], Names: d.Symbolic[name]})
		}
		return all, nil
	}
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return nil, err
	}
	t, err := types.Type(d.ParameterType)
	if err != nil {
		return nil, err
	}
	for _, m := range t.Members() {
		all = append(all, Parameter{Name: m.Name, Type: m.Type, Default: defaults[m.Name], Names: d.Symbolic[m.Name], Doc: m.Doc})
	}
	return all, nil
}

// Executions returns the executions of a memory ("" for [Memory]) that are wanted, in the order
// they were asked for.
func Executions(ctx context.Context, svc engram.Service, memory string, wanted func(*Execution) bool) (all []*Execution, err error) {
	types, err := LoadTypes(ctx, svc)
	if err != nil {
		return nil, err
	}
	err = eachLatest(ctx, svc, types, cmp.Or(memory, Memory)+"/Execution", func(id engram.ID, e *Execution) {
		if e.ID = id; wanted(e) {
			all = append(all, e)
		}
	})
	slices.SortFunc(all, func(a, b *Execution) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), a.ID.Compare(b.ID))
	})
	return all, err
}

// eachLatest reads the newest states of the entities of a segment.
func eachLatest[R any](ctx context.Context, m engram.Reader, types *Types, segment string, each func(engram.ID, *R)) error {
	p, err := engram.ParsePattern(segment)
	if err != nil {
		return err
	}
	r, err := m.Query(ctx, p.Select(engram.Latest(1)))
	if err != nil {
		return err
	}
	for it := range r.All() {
		record := new(R)
		if err := types.Decode(it.Snapshot.Instances[0].Payload, record); err != nil {
			return engram.Errorf(engram.CodeOf(err), it.ID.String(), "%w", err)
		}
		each(it.ID, record)
	}
	return nil
}
