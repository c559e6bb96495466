package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// Disk finds out whether a folder can be written, and how long that takes. A finding
// holds for a while, so that asking often does not wear the disk.
type Disk struct {
	dir string

	mu    sync.Mutex
	last  time.Time
	took  time.Duration
	wrong error
}

// How long a finding of a [Disk] holds, and from when on a disk is called slow.
const (
	diskHolds = 10 * time.Second
	slowDisk  = 500 * time.Millisecond
)

// NewDisk returns a Disk of a folder, which must exist.
func NewDisk(dir string) *Disk { return &Disk{dir: dir} }

// Check is a [Check].
func (d *Disk) Check(context.Context) (Status, string) {
	took, err := d.Write()
	switch {
	case vfs.IsFull(err):
		return Failed, fmt.Sprintf("the disk of %s is full; free some space, or drop an episode: 'engram episode ls' and 'engram episode drop'", d.dir)
	case err != nil:
		return Failed, fmt.Sprintf("%s cannot be written: %v", d.dir, err)
	case took > slowDisk:
		return Degraded, fmt.Sprintf("writing 4 KiB to %s and syncing it took %v; commits to synced segments wait as long", d.dir, took.Round(time.Millisecond))
	}
	return OK, ""
}

// Write returns how long it takes to write and sync a small file, or why it cannot be.
func (d *Disk) Write() (time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.last) > diskHolds {
		d.took, d.wrong = Probe(d.dir)
		d.last = time.Now()
	}
	return d.took, d.wrong
}

// Probe writes and syncs 4 KiB in a folder, and removes it.
func Probe(dir string) (took time.Duration, err error) {
	begin := time.Now()
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return 0, err
	}
	name := filepath.Join(dir, filepath.Base(f.Name()))
	_, err = f.Write(make([]byte, 4096))
	if err == nil {
		err = f.Sync()
	}
	took = time.Since(begin)
	return took, errors.Join(err, f.Close(), os.Remove(name))
}
