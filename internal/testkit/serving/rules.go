package serving

import (
	"testing"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Rules returns access rules as a file has them, closed when the test ends.
func Rules(t testing.TB, text string) *access.Control {
	t.Helper()
	control := access.New(access.Options{Log: testkit.Quiet})
	t.Cleanup(func() { _ = control.Close() }) // nothing was audited that could be lost
	policy, err := access.Parse([]byte(text))
	if err == nil {
		err = control.Set(policy)
	}
	if err != nil {
		t.Fatal(err)
	}
	return control
}
