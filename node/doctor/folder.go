package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram/core/ltm/policy"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// How full and slow a disk may be.
const (
	fullShare = 0.95
	leastFree = 1 << 30
	slowSync  = 100 * time.Millisecond
)

// Folder looks at the data folder of a server, which may be running.
func Folder(dir string) (found Findings) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && canMake(dir):
		found.ok("folder", dir+" is not there yet; the server makes it")
		return found
	case errors.Is(err, fs.ErrNotExist):
		found.problem("folder", dir+" is not there, and "+me()+" may not make it", "make it, owned by the user of the server; under systemd StateDirectory=engram does")
		return found
	case err != nil:
		found.problem("folder", fmt.Sprintf("%s cannot be looked at: %s", dir, cause(err)), "check the path and who may read it")
		return found
	case !info.IsDir():
		found.problem("folder", dir+" is no folder", "give a folder with --data")
		return found
	}
	running := found.lock(dir)
	found.space(dir)
	found.speed(dir)
	found.files(dir)
	if !running {
		found.log(dir)
	}
	return found
}

// lock looks whether a server has the folder open. It takes no lock itself that another
// program could meet: it asks for a shared one and lets go at once. running says that a
// server has it.
func (f *Findings) lock(dir string) (running bool) {
	file, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false // no server ever had it, or it says so itself below
	}
	defer file.Close()
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		running = true
		pid := make([]byte, 32)
		n, _ := file.Read(pid)
		f.warn("lock", fmt.Sprintf("the server with process ID %s has %s open", strings.TrimSpace(string(pid[:n])), dir), "if it is the server that you mean, all is well; another one needs another folder")
	case err != nil:
		f.problem("lock", fmt.Sprintf("%s cannot be locked: %s", dir, cause(err)), "use a local file system; some network file systems have no locks")
	default:
		f.ok("lock", "no server has "+dir+" open")
	}
	return running
}

func (f *Findings) space(dir string) {
	total, free, err := vfs.OS.Space(dir)
	var st unix.Statfs_t
	if err == nil {
		err = unix.Statfs(dir, &st)
	}
	if err != nil {
		f.warn("disk", fmt.Sprintf("the disk of %s does not tell its space: %s", dir, cause(err)), "check the disk")
		return
	}
	what := fmt.Sprintf("%s: %s of %s are free", dir, gib(free), gib(total))
	switch {
	case free < 64<<20:
		f.problem("disk", what, "free some space; a server that is there forgets by itself what its policies let go: 'engram ltm policy', 'engram ltm forget'")
	case float64(free) < (1-fullShare)*float64(total), free < leastFree:
		f.warn("disk", what, "the server forgets, lowest priority first, what its policies let go; give it more room, or let less be kept: 'engram ltm policy'")
	default:
		f.ok("disk", what)
	}
	if st.Files > 0 && st.Ffree < 1000 {
		f.problem("disk", fmt.Sprintf("the disk of %s has %d inodes left", dir, st.Ffree), "remove files that are not needed")
	}
}

func (f *Findings) speed(dir string) {
	var worst time.Duration
	for range 5 {
		took, err := health.Probe(dir)
		switch {
		case vfs.IsFull(err):
			f.problem("disk", "the disk of "+dir+" is full", "free some space")
			return
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			f.problem("disk", fmt.Sprintf("%s may not be written by %s: %s", dir, me(), cause(err)), "let the folder belong to the user of the server ('chown -R'), on a disk that is not mounted read-only")
			return
		case err != nil:
			f.problem("disk", fmt.Sprintf("%s cannot be written: %s", dir, cause(err)), "check the disk ('dmesg')")
			return
		}
		worst = max(worst, took)
	}
	what := fmt.Sprintf("writing 4 KiB to %s and syncing it takes up to %v", dir, worst.Round(10*time.Microsecond))
	if worst > slowSync {
		f.warn("disk", what, "commits to synced segments wait as long; use an SSD, or let them be logged")
		return
	}
	f.ok("disk", what)
}

// files looks at what a server reads when it starts.
func (f *Findings) files(dir string) {
	damaged, _ := filepath.Glob(filepath.Join(dir, "episodes", "*.damaged"))
	if len(damaged) > 0 {
		f.warn("episodes", fmt.Sprintf("%d episodes are damaged, such as %s", len(damaged), filepath.Base(damaged[0])), "'engram ltm repair' saves what can be saved of them")
	}
	for _, name := range []string{"episodes", "log", "manifest.json", "state.json", "account.json", "policies.yaml", "catalogue.db"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil && unix.Access(path, unix.R_OK|unix.W_OK) != nil {
			f.problem("folder", path+" may not be read and written by "+me(), "let the whole folder belong to the user of the server: 'chown -R'")
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "policies.yaml"))
	if err != nil {
		return
	}
	if _, err := policy.ParseFile(text); err != nil {
		f.problem("policies", filepath.Join(dir, "policies.yaml")+": "+err.Error(), "mend the file, or move it away")
	}
}

// log looks whether all of the log is there, which no server has open.
func (f *Findings) log(dir string) {
	gone, err := wal.Check(wal.JournalOptions{Dir: filepath.Join(dir, "log"), Manifest: filepath.Join(dir, "manifest.json")})
	if err != nil {
		f.problem("log", "the log cannot be looked at: "+cause(err), "check the disk, and which release wrote it")
	}
	for _, g := range gone {
		if g.Copy != "" {
			f.warn("log", filepath.Join(dir, "log", g.File)+", one of the two logs of types and segments, is damaged: "+g.Reason+"; nothing is lost: log/"+g.Copy+" has the same", "start the server: it writes the damaged one anew")
			continue
		}
		f.problem("log", filepath.Join(dir, "log", g.File)+": "+g.Reason, "put the file back if there is a copy; 'engram serve --accept-loss' goes on without what was in it, and tells from then on that it is lost")
	}
	aside, _ := filepath.Glob(filepath.Join(dir, "*"+vfs.DamagedSuffix))
	logs, _ := filepath.Glob(filepath.Join(dir, "log", "*", "*"+vfs.DamagedSuffix))
	copies, _ := filepath.Glob(filepath.Join(dir, "copies", "*"+vfs.DamagedSuffix))
	for _, path := range slices.Concat(aside, logs, copies) {
		f.warn("folder", path+" was damaged, and put aside", "nothing reads it; remove it once you do not need it")
	}
}

func gib(n uint64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
