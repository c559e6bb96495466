// Package fabrics makes message fabrics for tests, and connections to them.
//
// It is no public API: tests of several wings share it.
package fabrics

import (
	"testing"

	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Start embeds a message fabric until the test ends.
func Start(t testing.TB, o embedded.Options) *embedded.Server {
	t.Helper()
	o.Log = testkit.Quiet
	s, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Connect connects to a message fabric until the test ends.
func Connect(t testing.TB, o backbone.Options) *backbone.Backbone {
	t.Helper()
	o.Log = testkit.Quiet
	b, err := backbone.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}
