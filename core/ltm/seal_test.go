package ltm_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Who wants an episode sealed while the disk refuses is told so, and need not wait; it is
// sealed by itself when the disk works again.
func TestSealingIsRefusedAndGoesOn(t *testing.T) {
	const cup = "Test/Synced/p/cup"
	for what, faults := range map[string]vfs.Fault{
		"the end of the file":       {Op: vfs.OpWrite, Name: ".mcap.open", Err: vfs.ErrFull},
		"the file's name":           {Op: vfs.OpRename, Name: ".mcap"},
		"the folder":                {Op: vfs.OpSyncDir, Name: "episodes"},
		"the beginning of the file": {Op: vfs.OpCreate, Name: ".mcap.open", Err: vfs.ErrFull},
	} {
		t.Run(what, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T) {
				root := fastDir(t)
				faulty := vfs.NewFaulty(vfs.OS, root)
				l := begin(t, ltm.Options{Dir: filepath.Join(root, "data"), FS: faulty})
				if faults.Op != vfs.OpCreate {
					l.commit(t, cup, 0, 0)
					l.wantTimes(t, "before", cup, engram.TargetLTM, engram.All(), 0)
				}
				faulty.Inject(faults)
				l.commit(t, cup, 1, 1)
				for range 2 {
					if err := l.Seal(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), "goes on by itself") {
						t.Fatalf("while the disk refuses: %v", err)
					}
				}
				sealed := func() (any bool) {
					t.Helper()
					infos, err := l.Episodes(t.Context(), engram.Always())
					if err != nil {
						t.Fatal(err)
					}
					for i := range infos {
						if !infos[i].Sealed {
							continue
						}
						any = true
						if problems, err := l.Verify(t.Context(), infos[i].Name); err != nil || len(problems) > 0 {
							t.Fatalf("a sealed episode has %v, error %v", problems, err)
						}
					}
					return any
				}
				if sealed() {
					t.Error("an episode is sealed though the disk refuses")
				}
				faulty.Heal()
				for !sealed() {
					time.Sleep(time.Millisecond)
				}
				if err := l.Seal(t.Context(), "test"); err != nil {
					t.Errorf("when the disk works again: %v", err)
				}
				l.wantTimes(t, "afterwards", cup, engram.TargetLTM, engram.In(engram.Interval{Start: 1, End: 2}), 1)
			})
		})
	}
}
