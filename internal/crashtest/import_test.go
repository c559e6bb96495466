package crashtest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

// TestImportIsOnDisk kills a server as soon as an import into it has returned: all of it is
// there when it starts again, as it was where it was exported, and once, also after a second
// import.
func TestImportIsOnDisk(t *testing.T) {
	binary := program.Engram(t)
	folder := func() string {
		dir, err := os.MkdirTemp("", "import") // short: the path of a socket is bounded
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	engramAt := func(p *process, args ...string) {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "ENGRAM_ADDRESS=unix:"+p.socket)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	const n = 500
	entity := engram.MustID("GeneralPurpose/CrashVolatile/p/e")
	file := filepath.Join(folder(), "recording.mcap")
	p, c := startAndConnect(t, binary, folder())
	if err := addSegments(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	var commit engram.Commit
	for i := range n {
		commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: entity, Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(testkit.Value(t, i))}})
	}
	results, err := c.Commit(t.Context(), commit)
	if err := errors.Join(err, engram.FirstError(results)); err != nil {
		t.Fatal(err)
	}
	engramAt(p, "export", "GeneralPurpose", file)

	dir := folder()
	p, _ = startAndConnect(t, binary, dir)
	engramAt(p, "import", file)
	p.kill()
	p, c = startAndConnect(t, binary, dir)
	check := func(when string) {
		t.Helper()
		q := engram.SelectID(entity, engram.All())
		q.Target = engram.TargetLTM
		r, err := c.Query(t.Context(), q)
		if err != nil || len(r.Items()) != n {
			t.Fatalf("%s, of %d imported %d are on disk, %v", when, n, len(r.Items()), err)
		}
		for i, it := range r.Items() {
			if want := testkit.Value(t, i); int(it.Time) != i || len(it.Instances) != 1 || !bytes.Equal(it.Instances[0].Payload.Bytes, want.Bytes) {
				t.Errorf("%s, snapshot %d is %+v", when, i, it)
			}
		}
	}
	check("after the kill")
	engramAt(p, "import", file)
	check("after a second import")
}
