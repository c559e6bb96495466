package memories

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm"
	"github.com/seed-301d4374/engram/server"
)

// Every core segment has a policy that can be followed, and no policy is without one.
func TestEverySegmentHasAPolicy(t *testing.T) {
	for _, m := range All() {
		if len(m.Policies) != len(m.Segments) {
			t.Errorf("%s has %d core segments and %d policies", m.Name, len(m.Segments), len(m.Policies))
		}
		for _, s := range m.Segments {
			p, ok := m.Policies[s.ID.CoreSegment()]
			if !ok {
				t.Errorf("%v has no policy", s.ID)
			}
			if err := p.Validate(); err != nil {
				t.Errorf("%v: %v", s.ID, err)
			}
		}
	}
}

// Without a folder everything is volatile; with one, what does not come again is
// logged, and the folder's policies go over the defaults.
func TestDurabilityNeedsAFolder(t *testing.T) {
	durability := func(c server.Config, id string) engram.Durability {
		t.Helper()
		c.Memories = All()
		s, err := server.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		d, err := s.Describe(t.Context(), engram.MustPattern(id))
		if err != nil || len(d) != 1 {
			t.Fatalf("%v, %v", d, err)
		}
		return d[0].Durability
	}
	if d := durability(server.Config{}, "Skill/Execution"); d != engram.Volatile {
		t.Errorf("without a folder it is %v", d)
	}
	store := func(policies string) *ltm.Store {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(policies), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ltm.Open(t.Context(), ltm.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if d := durability(server.Config{Store: store("version: 1\n")}, "Skill/Execution"); d != engram.Logged {
		t.Errorf("with a folder it is %v", d)
	}
	if d := durability(server.Config{Store: store("version: 1\npolicies:\n  Skill/*: {durability: synced}\n")}, "Skill/Execution"); d != engram.Synced {
		t.Errorf("with a policy it is %v", d)
	}
}
