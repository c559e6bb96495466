package sim

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/memories"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a time with a fraction, so that nothing works by chance.
const start engram.Time = 1_767_225_600_123_456_789

// small returns a robot with images that are cheap to render.
func small(t testing.TB, seed uint64) *Robot {
	t.Helper()
	r, err := New(Config{Start: start, Seed: seed, Width: 64, Height: 48})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decode returns a payload's members.
func decode(t testing.TB, p engram.Payload) map[string]any {
	t.Helper()
	v, err := typeOf(t, p.Type).Decode(p.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("a %s decodes to a %T", p.Type, v)
	}
	return m
}

func typeOf(t testing.TB, name string) *idf.Type {
	t.Helper()
	typ, ok := memories.Type(name)
	if !ok {
		t.Fatalf("the type %s is not known", name)
	}
	return typ
}

// lived is a robot of which only the movements matter.
var lived = sync.OnceValue(func() *Robot {
	r, err := New(Config{})
	if err != nil {
		panic(err)
	}
	return r
})

// stateAt returns the world at a time.
func stateAt(t float64) state {
	s, _ := lived().state(t)
	return s
}
