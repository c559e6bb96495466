package episode

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// openSuffix is what the name of an episode ends in until it is sealed.
const openSuffix = ".open"

const (
	// maxPending bounds the coded bytes that wait to be written: at this many they
	// are written, and while the disk refuses them four times as many are taken.
	maxPending = 4 << 20
	// maxRaw bounds the payloads, as they were given, of what waits: readers are
	// given them until it is written. The same holds for them.
	maxRaw = 32 << 20
	// maxRunRaw and maxRunVersions end an entity's run that is small in coded bytes.
	maxRunRaw      = 8 << 20
	maxRunVersions = 4096
	// maxChannels is how many channels a file can have.
	maxChannels = math.MaxUint16
	// maxSnapshot bounds one version, so that it fits into a chunk that is read.
	maxSnapshot = maxChunk / 2
)

// ErrFull is the cause of the error of [Writer.Add] when the episode has as many
// channels as a file can have.
var ErrFull = errors.New("seal it and begin another")

// Writer writes one episode. Add and Seal may be called by one goroutine at a
// time, the methods of Source by any.
//
// What is added is coded at once, gathered into runs, one for each entity, and
// written as chunks when enough of it waits, in the order of time. Until then readers
// get it from memory.
type Writer struct {
	coder
}

// coder is what a writer holds, and codes the versions of entities into their runs.
type coder struct {
	opts Options
	path string // of the sealed episode
	id   string // tells its metadata records from those of other files
	*container
	named int // metadata records; protected by mu
	// known are types of the episode that this one is made of.
	known map[string]engram.TypeDef

	// mu protects what is written. It is held during I/O, so no reader takes it.
	mu struct {
		sync.Mutex
		closed    bool
		sealed    bool
		renamed   bool  // sealed, but the new name is not durable yet
		failed    error // the disk refused to sync
		timer     *time.Timer
		timed     bool   // the timer runs
		offset    int64  // where the file's whole records end
		torn      bool   // something may stand behind offset
		dataCRC   uint32 // of all up to offset
		order     []*writeEntity
		schemas   []*schemaState
		byName    map[string][]*schemaState
		channels  []*channelState
		next      uint16 // the last channel given
		pending   int    // coded bytes that wait
		raw       int    // bytes of their payloads as they were given
		staged    []staged
		floor     uint64 // the least log time of what stands at the beginning
		newest    uint64 // the latest log time of what was added and has its own
		latest    uint64 // the latest log time of what was written
		envelopes *channelState
		scratch   []byte // what the last flush was put together in
		dicts     map[string]bool
		stats     mcap.Statistics
		chunks    []*mcap.ChunkIndex
		attach    []*mcap.AttachmentIndex
		meta      []*mcap.MetadataIndex
		notes     []topRecord // that wait to be written
		noted     bool        // what the episode says of itself has changed since it was written
	}

	// pub is what readers see; it is locked for moments only, after mu where both are.
	pub struct {
		sync.RWMutex
		info     Info
		losses   Losses // of info
		entities map[engram.ID]*writeEntity
		channels map[uint16]*channelDef
	}
}

// staged is what stands at the beginning, and waits for the first version that does not.
type staged struct {
	entity  *writeEntity
	coding  *coding
	s       *engram.Snapshot
	inForce bool
}

func (o *Options) setDefaults() {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Types == nil {
		o.Types = idf.NewRegistry()
	}
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = 256 << 10
	}
	if o.FlushEvery <= 0 {
		o.FlushEvery = 5 * time.Second
	}
	if o.Mode == 0 {
		o.Mode = 0o600
	}
}

// Create begins an episode in a folder, under a name that ends in ".mcap.open"
// until it is sealed: name is the sealed file's, such as
// "2026-11-20T12-51-46Z-000123.mcap". Of info, Robot, Epoch, Marks, Losses, Labels,
// Recovered, Supersedes and First are taken; the rest is counted.
func Create(dir, name string, info Info, o Options) (*Writer, error) {
	return create(filepath.Join(dir, name), filepath.Join(dir, name+openSuffix), info, o)
}

// create begins an episode that is written to the file open and will be sealed as path.
func create(path, open string, info Info, o Options) (*Writer, error) {
	o.setDefaults()
	if _, err := o.FS.Stat(path); err == nil && open == path+openSuffix {
		return nil, engram.Errorf(engram.AlreadyExists, path, "an episode of this name is there")
	}
	f, err := o.FS.OpenFile(open, os.O_RDWR|os.O_CREATE|os.O_EXCL, o.Mode)
	if err != nil {
		return nil, fileError(open, err)
	}
	w := &Writer{coder{opts: o, path: path, id: strings.ToLower(rand.Text()[:13])}}
	w.container = newContainer(open, f, &w.opts, w.channel)
	w.pub.info = Info{
		Name: filepath.Base(path), Version: formatVersion, Robot: info.Robot, Epoch: info.Epoch,
		Marks: append([]Mark(nil), info.Marks...), Labels: map[string]string{}, Recovered: info.Recovered, Supersedes: info.Supersedes, First: info.First,
	}
	for _, why := range info.Losses {
		w.pub.losses.Add(why)
	}
	w.pub.info.Losses = w.pub.losses.Texts()
	maps.Copy(w.pub.info.Labels, info.Labels)
	w.pub.entities = map[engram.ID]*writeEntity{}
	w.pub.channels = map[uint16]*channelDef{}
	w.mu.byName = map[string][]*schemaState{}
	w.mu.dicts = map[string]bool{}
	w.mu.stats.ChannelMessageCounts = map[uint16]uint64{}
	w.mu.stats.MessageStartTime = math.MaxUint64
	if err = w.begin(); err == nil {
		// A flush is to survive a loss of power, and so must the file's name.
		if err = o.FS.SyncDir(filepath.Dir(open)); err != nil {
			err = fileError(open, err)
		}
	}
	if err != nil {
		f.Close()
		o.FS.Remove(open)
		return nil, err
	}
	return w, nil
}

// begin writes what an episode begins with: enough to know it by when it is never sealed.
func (w *Writer) begin() error {
	b := append([]byte(nil), mcap.Magic...)
	b = appendHeader(b, library)
	w.mu.noted = true
	if err := w.envelopeChannelLocked(); err != nil {
		return err
	}
	if err := w.writeLocked(b); err != nil {
		return err
	}
	return w.flushLocked()
}

// Add stores a version of an entity's snapshot, which it keeps. inForce says that
// it is a value in force at the start; those come before all others. The channel is
// made at the first one of an entity. Exhausted says that the episode is full
// ([ErrFull]) or that too much waits for a disk that refuses it, Invalid that this
// version cannot be stored; whatever the error, the version is not stored then.
func (w *Writer) Add(ctx context.Context, ch *Channel, s *engram.Snapshot, inForce bool) error {
	return w.add(ctx, ch, s, inForce, inForce)
}

// AddPlain is Add without the channel's codec, for what that cannot code.
func (w *Writer) AddPlain(ctx context.Context, ch *Channel, s *engram.Snapshot) error {
	return w.add(ctx, ch, s, false, true)
}

func (w *Writer) add(ctx context.Context, ch *Channel, s *engram.Snapshot, inForce, plain bool) error {
	switch {
	case ch.Entity.Level() != engram.LevelEntity:
		return engram.Errorf(engram.Invalid, ch.Entity.String(), "is a %s; an episode holds entities", ch.Entity.Level())
	case len(s.Instances) == 0 || len(s.Instances) > engram.MaxIndex+1:
		return engram.Errorf(engram.Invalid, ch.Entity.String(), "a snapshot of %d instances cannot be stored", len(s.Instances))
	case s.Time == engram.MaxTime:
		return engram.Errorf(engram.OutOfRange, ch.Entity.String(), "the end of time is no time of data")
	case s.Size() > maxSnapshot:
		return engram.Errorf(engram.Invalid, ch.Entity.String(), "the snapshot has %d bytes; an episode takes at most %d", s.Size(), maxSnapshot)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usableLocked(); err != nil {
		return err
	}
	if err := w.flushFullLocked(); err != nil { // it was refused before
		return engram.Errorf(engram.Exhausted, ch.Entity.String(), "%d bytes, which hold %d bytes of payloads, wait to be written to %s: %w", w.mu.pending, w.mu.raw, w.path, err)
	}
	atBeginning := inForce || Timeless(s.Time)
	e, c, err := w.codingLocked(ch, s, plain, atBeginning)
	if err != nil {
		return err
	}
	if atBeginning && w.mu.floor == 0 {
		w.mu.staged = append(w.mu.staged, staged{e, c, s, inForce})
	} else {
		if err := w.unstageLocked(ctx, s, atBeginning); err != nil {
			return err
		}
		if err := w.encodeLocked(ctx, e, c, s, inForce); err != nil {
			return err
		}
	}
	e.show(s, inForce)
	w.countLocked(s, inForce)
	w.flushFullLocked() // what the disk refuses now waits for another try
	if (w.mu.pending > 0 || e.waitsInColumns()) && !w.mu.timed {
		w.startTimerLocked()
	}
	return nil
}

// flushFullLocked writes what waits if it is enough. All of it is written together, so
// that it lies in the order of time.
func (w *coder) flushFullLocked() error {
	if w.mu.pending >= maxPending || w.mu.raw >= maxRaw {
		return w.flushLocked()
	}
	return nil
}

func (w *coder) countLocked(s *engram.Snapshot, inForce bool) {
	w.pub.Lock()
	defer w.pub.Unlock()
	i := &w.pub.info
	i.Snapshots++
	i.Span, i.Arrived = extend(i.Span, s.Time), extend(i.Arrived, s.Arrived)
	if inForce {
		i.InForce++
	} else if !Timeless(s.Time) {
		i.Recorded = extend(i.Recorded, s.Time)
	}
}

// unstageLocked codes what stands at the beginning and waits for the first version that
// does not: viewers are to see it from its time on, not years before.
func (w *coder) unstageLocked(ctx context.Context, first *engram.Snapshot, atBeginning bool) error {
	if first != nil && !atBeginning && w.mu.floor == 0 {
		w.mu.floor = max(logTime(first.Time), 1)
	}
	for len(w.mu.staged) > 0 {
		v := w.mu.staged[0]
		if err := w.encodeLocked(ctx, v.entity, v.coding, v.s, v.inForce); err != nil {
			return err
		}
		w.mu.staged = w.mu.staged[1:]
	}
	return nil
}

func (w *coder) usableLocked() error {
	switch {
	case w.mu.closed:
		return engram.Errorf(engram.Unavailable, w.path, "the episode's writer is closed")
	case w.mu.sealed:
		return engram.Errorf(engram.Conflict, w.path, "the episode is sealed; begin another one")
	}
	return w.mu.failed
}

func (w *coder) startTimerLocked() {
	w.mu.timed = true
	if w.mu.timer == nil {
		w.mu.timer = time.AfterFunc(w.opts.FlushEvery, w.flushTimed)
		return
	}
	w.mu.timer.Reset(w.opts.FlushEvery)
}

// flushTimed writes what has waited long enough. What the disk refuses is tried
// again after the same time.
func (w *coder) flushTimed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.timed = false
	if w.usableLocked() == nil && (w.endColumnsLocked() != nil || w.flushLocked() != nil) {
		w.startTimerLocked()
	}
}

// Flush ends the open chunks and syncs: what was added before survives a crash.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usableLocked(); err != nil {
		return err
	}
	if err := w.drainLocked(ctx); err != nil {
		return err
	}
	return w.syncLocked()
}

// drainLocked codes and writes all that was added.
func (w *coder) drainLocked(ctx context.Context) error {
	if err := w.unstageLocked(ctx, nil, false); err != nil {
		return err
	}
	for _, e := range w.mu.order {
		if err := w.endCodingLocked(ctx, e); err != nil {
			return err
		}
	}
	return w.flushLocked()
}

// syncLocked syncs the file. When that fails, nobody knows what of it is on the
// disk, and a later sync may succeed without it: the file is not used any more.
func (w *coder) syncLocked() error {
	if err := w.f.Sync(); err != nil {
		w.mu.failed = engram.Errorf(engram.Corrupt, w.path, "the disk refused to sync the episode; repair it into a new file: %w", err)
		return w.mu.failed
	}
	return nil
}

// Close ends the writer and releases what it holds. An episode that is not sealed
// stays as ".mcap.open", for [Repair].
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.closed {
		return nil
	}
	w.mu.closed = true
	if w.mu.timer != nil {
		w.mu.timer.Stop()
	}
	for _, e := range w.mu.order {
		if e.encoder != nil {
			e.encoder.Close()
			e.encoder = nil
		}
	}
	return w.container.close()
}

// Mark notes a mark. Safe for concurrent use, as are Lose and Label.
func (w *Writer) Mark(m Mark) {
	w.note(func(i *Info) { i.Marks = AddMark(slices.Clone(i.Marks), m) })
}

// Lose notes why something that happened in the episode's span is not in it. It returns
// what [Losses.Add] does.
func (w *Writer) Lose(why string) (times uint64) {
	w.note(func(i *Info) {
		times = w.pub.losses.Add(why)
		i.Losses = w.pub.losses.Texts()
	})
	return times
}

// Label notes a label.
func (w *Writer) Label(key, value string) {
	w.note(func(i *Info) {
		labels := make(map[string]string, len(i.Labels)+1)
		maps.Copy(labels, i.Labels)
		labels[key] = value
		i.Labels = labels
	})
}

// note changes the episode's own account, and has it written with what is written next,
// for [Repair].
func (w *coder) note(change func(*Info)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pub.Lock()
	change(&w.pub.info)
	w.pub.Unlock()
	if w.mu.sealed || w.mu.closed {
		return
	}
	w.mu.noted = true
	if !w.mu.timed {
		w.startTimerLocked()
	}
}

// codecConfig is the configuration of an encoder for a channel.
func (w *coder) codecConfig(ch *Channel, typ *idf.Type) codec.Config {
	c := ch.Codec
	if c.Payload == nil {
		c.Payload = typ
	}
	if c.Types == nil {
		c.Types = w.opts.Types
	}
	return c
}
