package crashtest

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// startServer starts a server in this process with its log in a folder.
func startServer(t *testing.T, fs vfs.FS, dir string) *server.Server {
	t.Helper()
	types := idf.NewRegistry()
	j, err := wal.OpenJournal(wal.JournalOptions{
		FS: fs, Dir: filepath.Join(dir, "log"), Types: types,
		Log: wal.Options{SegmentBytes: 64 << 10, SyncEvery: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{
		Types: types, Journal: j, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Memories: []server.Memory{{Name: segments[0].Memory()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// faults are what a disk does to a server.
var faults = []vfs.Fault{
	{Op: vfs.OpWrite, Err: vfs.ErrFull, Short: 300},
	{Op: vfs.OpWrite, Err: vfs.ErrFull},
	{Op: vfs.OpWrite, Short: 50},
	{Op: vfs.OpSync},
	{Op: vfs.OpCreate, Err: vfs.ErrFull},
	{Op: vfs.OpSyncDir},
	{Op: vfs.OpTruncate},
	{Err: vfs.ErrFull},
}

// TestPowerLoss takes the power from a server while clients commit and the disk fails
// now and then: what was not synced survives by chance, sector by sector.
func TestPowerLoss(t *testing.T) {
	var sum stats
	for round := range testkit.Repeats(8, 15) {
		chance := rand.New(rand.NewPCG(uint64(round), 11))
		root := t.TempDir()
		known := newBook(3)
		for life := range 3 {
			dir := filepath.Join(root, string(rune('a'+life)))
			if life == 0 {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			fs := vfs.NewFaulty(vfs.OS, dir)
			s := startServer(t, fs, dir)
			if life > 0 {
				if problems := known.check(t.Context(), s, time.Time{}, &sum); len(problems) > 0 {
					t.Fatalf("round %d, life %d: %d problems, such as %s", round, life, len(problems), problems[0])
				}
			}
			if err := addSegments(t.Context(), s, false); err != nil {
				t.Fatal(err)
			}
			loseGoesOn(t, s, fs, life == 1, known, chance, filepath.Join(root, string(rune('a'+life+1))))
		}
	}
	t.Log(&sum)
	if sum.commits == 0 {
		t.Error("nothing was acknowledged")
	}
}

// loseGoesOn has clients commit while the disk fails, and makes the image of what
// survives a loss of power at a random moment in the folder image; that is after something
// was acknowledged, if it is some.
func loseGoesOn(t *testing.T, s *server.Server, fs *vfs.Faulty, some bool, known *book, chance *rand.Rand, image string) {
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for i := range known.tracks {
		writers.Go(func() {
			if err := known.write(ctx, s, i, true); err != nil {
				t.Error(err)
			}
		})
	}
	if some {
		known.wait(t, 1)
	}
	for range chance.IntN(4) {
		time.Sleep(time.Duration(chance.Int64N(int64(8 * time.Millisecond))))
		f := faults[chance.IntN(len(faults))]
		f.Skip, f.Times = chance.IntN(3), 1+chance.IntN(4)
		fs.Inject(f)
	}
	time.Sleep(time.Duration(chance.Int64N(int64(20 * time.Millisecond))))
	// What is acknowledged up to here is to survive; what is sent up to there may.
	known.Lock()
	acked := make([]int, 0, len(known.tracks)*len(segments))
	for i := range known.tracks {
		for d := range segments {
			acked = append(acked, len(known.tracks[i][d].acks))
		}
	}
	known.Unlock()
	if err := fs.CrashImage(image, chance); err != nil {
		t.Fatal(err)
	}
	cancel()
	writers.Wait()
	known.Lock()
	for i := range known.tracks {
		for d := range segments {
			tr := &known.tracks[i][d]
			tr.acks = tr.acks[:acked[i*len(segments)+d]]
		}
	}
	known.Unlock()
	fs.Heal()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
