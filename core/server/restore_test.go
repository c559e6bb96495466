package server_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// Without a long-term memory, too, what was acknowledged as logged, and the disk refuses, is
// written when it works again while the end waits, and named as lost if it does not.
func TestLoggedThatTheDiskRefusesAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration
		heal   bool
	}{"until the end": {50 * time.Millisecond, false}, "until it works again": {testkit.Patience, true}} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			disk := vfs.NewFaulty(vfs.OS, root)
			open := func(failing chan error) (*server.Server, *wal.Journal) {
				types := idf.NewRegistry()
				j, err := wal.OpenJournal(wal.JournalOptions{FS: disk, Dir: filepath.Join(root, "log"), Types: types, Health: func(_ string, err error) {
					if err != nil {
						select {
						case failing <- err:
						default:
						}
					}
				}})
				if err != nil {
					t.Fatal(err)
				}
				s, err := server.New(server.Config{Journal: j, Types: types, Log: testkit.Quiet, CloseWithin: c.within,
					Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{{ID: engram.MustID("Test/Logged"), Durability: engram.Logged}}}}})
				if err != nil {
					t.Fatal(err)
				}
				return s, j
			}
			failing := make(chan error, 1)
			s, j := open(failing)
			p, err := idf.ValuePayload("x")
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			put := func(n int) {
				t.Helper()
				for range n {
					u := engram.EntityUpdate{Entity: engram.MustID(fmt.Sprint("Test/Logged/me/", taken)), Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}}
					if r := commit(t, s, u); r[0].Err == nil {
						taken++
					}
				}
			}
			put(1)
			j.Settle(t.Context())
			disk.Inject(vfs.Fault{Op: vfs.OpWrite, Err: vfs.ErrFull}, vfs.Fault{Op: vfs.OpCreate, Err: vfs.ErrFull})
			before := taken
			put(7)
			lost := taken - before
			<-failing
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			if c.heal {
				disk.Heal()
			}
			err = <-closed
			if want := fmt.Sprintf("Test: %d updates that were logged are lost", lost); c.heal && err != nil || !c.heal && !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("closing says %v", err)
			}
			disk.Heal()
			if !c.heal {
				taken = before
			}
			again, _ := open(nil)
			defer again.Close()
			if got := again.Number(); got != uint64(taken) {
				t.Errorf("%d are there again, want %d", got, taken)
			}
		})
	}
}
