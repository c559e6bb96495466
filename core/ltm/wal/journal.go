package wal

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// JournalOptions configure a journal.
type JournalOptions struct {
	FS    vfs.FS        // nil means vfs.OS
	Dir   string        // holds a folder for each memory, and one for the definitions; made if it is not there
	Types *idf.Registry // where the types of payloads are looked up: the working memory's
	// Manifest is the path of the file that says which files of the logs are there, and how
	// long they are; "" keeps none.
	Manifest string
	// AcceptLoss has the journal open though something that was on the disk is gone.
	AcceptLoss bool
	// Log configures the memories' logs; FS, Dir, Memory and Health are not used. What
	// waits in all of them is bounded by twice its MaxPending.
	Log Options
	// Health is called when writing a memory's log begins to fail and, with nil, when
	// it works again. The memory "" is the log of definitions. It must not use the
	// journal.
	Health func(memory string, err error)
	// Unwritten is that of the log of a memory.
	Unwritten func(memory string, u Unwritten)
	// ManifestHealth is the same for the manifest.
	ManifestHealth func(error)
}

// Journal is the logs of all memories of a server, and a log of what was defined at
// run-time: types, core segments and provider segments. It implements wm.Journal.
// Safe for concurrent use.
type Journal struct {
	opts   JournalOptions
	taking atomic.Bool // Restore was called
	logs   atomic.Pointer[map[string]*Log]
	known  atomic.Pointer[map[string]bool] // names of types that a reader of the logs will know
	losses []Loss                          // found while opening
	shared pendingBytes

	// Of the manifest.
	folders     map[string]bool // of logs, that were there when it was opened
	gone        []Loss
	writing     sync.Mutex    // it
	changed     chan struct{} // it is to be written
	closing     chan struct{}
	keeping     sync.WaitGroup
	definitions [2]*Log // the log of what is defined, and its copy; they do not change

	// mu is held while logs are opened and definitions written; it protects changes of
	// logs and known.
	mu struct {
		sync.Mutex
		inForce definitions
		closed  bool
	}
}

var _ wm.Journal = (*Journal)(nil)

// OpenJournal opens the logs that are there; those of other memories are made with
// their first record. Until [Journal.Restore] was called it takes no records, and
// what is defined is not logged: such definitions are part of the program.
func OpenJournal(o JournalOptions) (j *Journal, err error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Health == nil {
		o.Health = func(string, error) {}
	}
	if o.Unwritten == nil {
		o.Unwritten = func(string, Unwritten) {}
	}
	if o.ManifestHealth == nil {
		o.ManifestHealth = func(error) {}
	}
	if o.Types == nil {
		o.Types = idf.NewRegistry()
	}
	j = &Journal{opts: o, folders: map[string]bool{}, changed: make(chan struct{}, 1), closing: make(chan struct{})}
	j.shared.max = 2 * o.Log.withDefaults().MaxPending
	known := map[string]bool{}
	for _, name := range idf.NewRegistry().Names() {
		known[name] = true
	}
	j.known.Store(&known)
	j.logs.Store(&map[string]*Log{})
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close())
		}
	}()
	expected, err := j.readManifest()
	if err != nil {
		return j, err
	}
	if err := j.openDefinitions(expected); err != nil {
		return j, err
	}
	if err := o.FS.SyncDir(filepath.Dir(filepath.Clean(o.Dir))); err != nil {
		return j, engram.Errorf(engram.Unavailable, o.Dir, "the folder of the logs cannot be made durable: %w", err)
	}
	entries, err := o.FS.ReadDir(o.Dir)
	if err != nil {
		return j, engram.Errorf(engram.Unavailable, o.Dir, "the folder of the logs cannot be read: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == definitionsFolder || e.Name() == definitionsCopy {
			continue
		}
		if _, err := j.openFolder(e, expected.Logs[e.Name()]); err != nil {
			return j, err
		}
	}
	j.gone = append(j.gone, j.missingLogs(expected)...)
	if len(j.gone) > 0 && !o.AcceptLoss {
		return j, j.errorOf(j.gone)
	}
	j.losses = append(j.losses, j.gone...)
	return j, nil
}

// open opens the log in a folder of the journal's, of which files must be there.
func (j *Journal) open(memory, folder string, expected State) (*Log, error) {
	o := j.opts.Log
	o.shared, o.Expected, o.AcceptLoss = &j.shared, expected, j.opts.AcceptLoss
	o.FS, o.Dir, o.Memory = j.opts.FS, filepath.Join(j.opts.Dir, folder), memory
	o.Health = func(err error) { j.opts.Health(memory, err) }
	o.Unwritten = func(u Unwritten) { j.opts.Unwritten(memory, u) }
	o.changed = j.change
	l, losses, err := Open(o)
	for _, loss := range losses {
		loss.File, loss.Memory = filepath.Join(folder, loss.File), memory
		if loss.Gone {
			j.gone = append(j.gone, loss)
		} else {
			j.losses = append(j.losses, loss)
		}
	}
	return l, err
}

// openFound is open for a log that is there. It returns no log, and no error, if
// something of it is gone: what is gone of all of them is told together.
func (j *Journal) openFound(memory, folder string, expected State) (*Log, error) {
	j.folders[folder] = true
	l, err := j.open(memory, folder, expected)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return l, err
}

// change has the manifest written: before it returns, if the disk takes that and now is
// set, or else soon.
func (j *Journal) change(now bool) {
	if j.opts.Manifest == "" || now && j.writeManifest() == nil {
		return
	}
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

// openFolder opens the log of a memory that is there.
func (j *Journal) openFolder(e fs.DirEntry, expected State) (*Log, error) {
	memory, ok := memoryOf(e.Name())
	if !ok { // its files say it
		var err error
		if memory, err = readMemory(j.opts.FS, filepath.Join(j.opts.Dir, e.Name())); err != nil || memory == "" {
			return nil, err // nothing of ours
		}
		if folderOf(memory) != e.Name() { // a copy, perhaps: there is one log of a memory
			j.losses = append(j.losses, Loss{File: e.Name(), Reason: "the folder is not read: the log of " + strconv.Quote(memory) + " is in " + folderOf(memory)})
			return nil, nil
		}
	}
	l, err := j.openFound(memory, e.Name(), expected)
	if err == nil && l != nil {
		j.addLog(memory, l)
	}
	return l, err
}

func (j *Journal) addLog(memory string, l *Log) {
	logs := maps.Clone(*j.logs.Load())
	logs[memory] = l
	j.logs.Store(&logs)
}

// log returns a memory's log, which it makes if there is none.
func (j *Journal) log(memory string) (*Log, error) {
	if l := (*j.logs.Load())[memory]; l != nil {
		return l, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.closed {
		return nil, errClosed
	}
	if l := (*j.logs.Load())[memory]; l != nil {
		return l, nil
	}
	l, err := j.open(memory, folderOf(memory), State{})
	if err == nil {
		j.addLog(memory, l)
	}
	return l, err
}

// Memories returns the names of the memories that have a log, sorted.
func (j *Journal) Memories() []string { return slices.Sorted(maps.Keys(*j.logs.Load())) }

// Log returns a memory's log, nil if it has none yet. Its records are appended by the
// journal only.
func (j *Journal) Log(memory string) *Log { return (*j.logs.Load())[memory] }

// Rotate lets the next record of each memory begin a new file, and returns the
// positions of these. Call it in wm.WM.Barrier to know which updates lie before them:
// when those are kept elsewhere, the logs can be cut off there, and nothing of them is
// left to read back.
func (j *Journal) Rotate() map[string]Position {
	logs := *j.logs.Load()
	ends := make(map[string]Position, len(logs))
	for memory, l := range logs {
		ends[memory] = l.Rotate()
	}
	return ends
}

// Ends returns where the log of each memory ends now. Like Rotate, it is to be called in
// wm.WM.Barrier.
func (j *Journal) Ends() map[string]Position {
	logs := *j.logs.Load()
	ends := make(map[string]Position, len(logs))
	for memory, l := range logs {
		ends[memory] = l.End()
	}
	return ends
}

// Moves counts how often records that waited for a disk that failed got places behind
// those that they had been given: what lay before a position then may lie behind it.
func (j *Journal) Moves() (n uint64) {
	for _, l := range *j.logs.Load() {
		n += l.moves.Load()
	}
	return n
}

// Begin implements wm.Journal.
func (j *Journal) Begin(ctx context.Context, entity engram.ID, s *engram.Snapshot) (wm.JournalEntry, error) {
	if !j.taking.Load() {
		return nil, engram.Errorf(engram.Unavailable, entity.String(), "the log has not been read back yet")
	}
	known := *j.known.Load()
	for i := range s.Instances {
		if name := s.Instances[i].Payload.Type; !known[name] {
			if err := j.addUsedType(name); err != nil {
				return nil, err
			}
		}
	}
	l, err := j.log(entity.Memory())
	if err != nil {
		return nil, err
	}
	e, err := l.Begin(ctx, entity, s)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Gone returns what was on the disk and is not any more, and was accepted as lost. It is
// found again the next time unless [Journal.Restore] is called in this one.
func (j *Journal) Gone() []Loss { return slices.Clone(j.gone) }

// Settle waits until all that was appended is on the disk, also while the disk refuses
// that, or until ctx ends.
func (j *Journal) Settle(ctx context.Context) {
	for _, l := range *j.logs.Load() {
		l.Settle(ctx)
	}
}

// Unwritten returns how many versions of each memory that were acknowledged as logged Close
// could not write.
func (j *Journal) Unwritten() map[string]uint64 {
	lost := map[string]uint64{}
	for memory, l := range *j.logs.Load() {
		if n := l.Unwritten().Versions(); n > 0 {
			lost[memory] = n
		}
	}
	return lost
}

// Close writes and syncs what is waiting, and closes the logs.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.mu.closed {
		return nil
	}
	j.mu.closed = true
	close(j.closing)
	j.keeping.Wait()
	var errs []error
	for _, l := range *j.logs.Load() {
		errs = append(errs, l.Close())
	}
	for _, l := range j.definitions {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if j.taking.Load() && j.opts.Manifest != "" {
		_ = j.writeManifest() // what it said before is still true
	}
	return errors.Join(errs...)
}
