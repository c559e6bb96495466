package follow

import (
	"context"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
)

// none is a scope with nothing in it.
type none struct{}

func (none) Visibility(engram.ID) engram.Visibility { return engram.Hidden }

// seen is a service that notes the scopes in which it is called.
type seen struct {
	engram.Service
	scopes *[]engram.Scope
}

func (s seen) note(ctx context.Context) { *s.scopes = append(*s.scopes, engram.ScopeOf(ctx)) }

func (s seen) Query(ctx context.Context, _ engram.Query) (*engram.Result, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) QueryParts(ctx context.Context, _ engram.Query, _ func(*engram.Result) error) error {
	s.note(ctx)
	return nil
}

func (s seen) Latest(ctx context.Context, _ engram.ID) (*engram.Snapshot, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) AtOrBefore(ctx context.Context, _ engram.ID, _ engram.Time) (*engram.Snapshot, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) Subscribe(ctx context.Context, _ engram.Subscription) (engram.UpdateStream, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) Predict(ctx context.Context, _ []engram.ID) ([]engram.Prediction, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) Describe(ctx context.Context, _ engram.Pattern) ([]engram.Description, error) {
	s.note(ctx)
	return nil, nil
}

func (s seen) Stats(ctx context.Context, _ engram.Pattern, _ engram.Level) ([]engram.Stats, error) {
	s.note(ctx)
	return nil, nil
}

// Whatever is read through a scope is read in it: a method of a service either reads, and is called here,
// or is one of those that are known to tell of no entity.
func TestScopedReadsInItsScope(t *testing.T) {
	tellsNothing := map[string]bool{
		"Commit": true, "CommitStream": true, "AddCoreSegment": true, "AddProviderSegment": true, "RemoveSegment": true,
		"AddType": true, "Type": true, "TypeNames": true,
	}
	services := reflect.TypeFor[engram.Service]()
	for i := range services.NumMethod() {
		m := services.Method(i)
		if tellsNothing[m.Name] {
			continue
		}
		var scopes []engram.Scope
		s := scoped{seen{scopes: &scopes}, none{}}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type.NumIn(); j++ {
			in = append(in, reflect.Zero(m.Type.In(j)))
		}
		reflect.ValueOf(s).MethodByName(m.Name).Call(in)
		if len(scopes) != 1 || scopes[0] != (none{}) {
			t.Errorf("%s is called in the scopes %v", m.Name, scopes)
		}
	}
}
