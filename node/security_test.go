package node

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Credentials that are replaced by narrower ones are told of where the server's health is,
// and copies are announced as far as those allow; both are over with wider ones.
func TestNarrowerCredentials(t *testing.T) {
	d := deployment.New(t)
	file := filepath.Join(t.TempDir(), "server")
	rotate := func(may credentials.Serving) {
		t.Helper()
		deployment.Write(t, file, d.Serving(t, "server", may))
	}
	def := memories.All()[0]
	whole := credentials.Serving{Own: []string{"robot1:*"}, Copies: []string{"*:*"}}
	rotate(whole)
	n := served(t, Config{Memories: memories.All()[:1], Robot: "robot1", Security: Security{Credentials: file}})
	n.holds([]string{"robot2:Object", "robot3:Object"})
	expect := func(status health.Status, reason string, copies ...string) {
		t.Helper()
		n.recertified()
		r := n.ops.health.Ready(t.Context())
		i := slices.IndexFunc(r.Checks, func(f health.Finding) bool { return f.Check == "credentials" })
		if i < 0 || r.Checks[i].Status != status || !strings.Contains(r.Checks[i].Reason, reason) {
			t.Errorf("health: %+v", r.Checks)
		}
		if got := n.kept.Copies(); !slices.Equal(got, copies) {
			t.Errorf("announced as held: %q, want %q", got, copies)
		}
	}
	expect(health.OK, "", "robot2:Object", "robot3:Object")
	rotate(credentials.Serving{Own: []string{"robot1:Other"}, Copies: []string{"robot2:*"}})
	expect(health.Failed, "robot1:"+def.Name, "robot2:Object")
	rotate(whole)
	expect(health.OK, "", "robot2:Object", "robot3:Object")
}
