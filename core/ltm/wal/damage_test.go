package wal

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// written returns a folder with a log of records 0 to n-1, and where each begins.
func written(t testing.TB, n, size int, segmentBytes int64) (dir string, at []Position) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	l, _, err := Open(Options{FS: Unsynced, Dir: dir, Memory: "Test", SegmentBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		add(t, l, i, size)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _, err = Open(Options{FS: Unsynced, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Replay(t.Context(), 0, func(r Record) error { at = append(at, r.Position); return nil }); err != nil {
		t.Fatal(err)
	}
	return dir, at
}

// files returns the files of a folder that hold records.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() > recordsAt {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

func lostBytes(losses []Loss) (n int64) {
	for _, l := range losses {
		n += l.Bytes
	}
	return n
}

// A log that is cut anywhere gives back what lies whole before the cut.
func TestCutAnywhere(t *testing.T) {
	dir, at := written(t, 4, 30, 0)
	name := files(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := recordsAt; cut <= len(whole); cut += testkit.Repeats(3, 1) {
		copied := filepath.Join(t.TempDir(), "log")
		os.Mkdir(copied, 0o700)
		os.WriteFile(filepath.Join(copied, filepath.Base(name)), whole[:cut], 0o600)
		l, losses, err := Open(Options{FS: Unsynced, Dir: copied})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		got, more := replay(t, l, 0)
		kept, end := 0, int64(recordsAt)
		for i := range at {
			next := int64(len(whole))
			if i+1 < len(at) {
				next = at[i+1].offset()
			}
			if next <= int64(cut) {
				kept, end = i+1, next
			}
		}
		want(t, got, 0, kept-1)
		if torn := int64(cut) - end; lostBytes(losses) != torn || len(more) > 0 {
			t.Errorf("cut at %d: %d records, losses %v %v; want %d bytes", cut, kept, losses, more, torn)
		}
		add(t, l, kept, 10)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, losses, err = Open(Options{FS: Unsynced, Dir: copied})
		if err != nil {
			t.Fatal(err)
		}
		got, more = replay(t, l, 0)
		if want(t, got, 0, kept); len(losses)+len(more) > 0 {
			t.Errorf("cut at %d and opened again: losses %v %v", cut, losses, more)
		}
		l.Close()
	}
}

// A flipped bit costs the record it is in.
func TestFlippedBits(t *testing.T) {
	dir, at := written(t, 5, 40, 0)
	name := files(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if i < recordsAt && i%41 != 0 || i%testkit.Repeats(3, 1) != 0 {
			continue
		}
		whole[i] ^= 1 << (i % 8)
		copied := filepath.Join(t.TempDir(), "log")
		os.Mkdir(copied, 0o700)
		os.WriteFile(filepath.Join(copied, filepath.Base(name)), whole, 0o600)
		whole[i] ^= 1 << (i % 8)
		l, losses, err := Open(Options{FS: Unsynced, Dir: copied})
		if err != nil {
			t.Fatalf("bit in byte %d: %v", i, err)
		}
		var got []int
		more, err := l.Replay(t.Context(), 0, func(r Record) error { got = append(got, int(r.Snapshot.Time)); return nil })
		l.Close()
		if err != nil {
			t.Fatal(err)
		}
		hit := -1 // the record that the byte belongs to
		for k := range at {
			if int64(i) >= at[k].offset() {
				hit = k
			}
		}
		expect := []int{0, 1, 2, 3, 4}
		if hit >= 0 {
			expect = slices.Delete(expect, hit, hit+1)
		}
		if !slices.Equal(got, expect) || (hit >= 0) != (len(losses)+len(more) > 0) {
			t.Errorf("bit in byte %d, of record %d: got %v, losses %v %v", i, hit, got, losses, more)
		}
	}
}

// Whatever is done to the files, opening and replaying give whole records in their
// order, and say that something is lost.
func TestRandomDamage(t *testing.T) {
	dir, at := written(t, 120, 700, 16<<10)
	for seed := range uint64(40) {
		chance := rand.New(rand.NewPCG(seed, 7))
		copied := filepath.Join(t.TempDir(), "log")
		os.CopyFS(copied, os.DirFS(dir))
		all := files(t, copied)
		victim := all[chance.IntN(len(all))]
		b, err := os.ReadFile(victim)
		if err != nil {
			t.Fatal(err)
		}
		what := ""
		switch chance.IntN(5) {
		case 0:
			what = "zeros"
			from := chance.IntN(len(b))
			clear(b[from:min(len(b), from+1+chance.IntN(3000))])
		case 1:
			what = "noise"
			from := chance.IntN(len(b))
			for i := from; i < min(len(b), from+1+chance.IntN(3000)); i++ {
				b[i] = byte(chance.Uint32())
			}
		case 2:
			what = "a hole closed up"
			from := recordsAt + chance.IntN(len(b)-recordsAt)
			b = slices.Delete(b, from, min(len(b), from+1+chance.IntN(2000)))
		case 3:
			what = "something put in"
			b = slices.Insert(b, recordsAt+chance.IntN(len(b)-recordsAt), bytes.Repeat([]byte("x"), 1+chance.IntN(3000))...)
		case 4:
			what = "missing"
			b = nil
		}
		if b == nil {
			os.Remove(victim)
		} else {
			os.WriteFile(victim, b, 0o600)
		}
		what = fmt.Sprintf("seed %d, %s in %s", seed, what, filepath.Base(victim))
		l, losses, err := Open(Options{FS: Unsynced, Dir: copied, AcceptLoss: true})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, more := replay(t, l, 0)
		l.Close()
		inFile := 0
		for _, p := range at {
			if fileName(p.file()) == filepath.Base(victim) {
				inFile++
			}
		}
		if !slices.IsSorted(got) || len(got) < len(at)-inFile {
			t.Errorf("%s: %d of %d records: %v", what, len(got), len(at), got)
		}
		// A missing or cut first or last file cannot be told from a shorter log.
		if len(got) < len(at) && len(losses)+len(more) == 0 && victim != all[0] && victim != all[len(all)-1] {
			t.Errorf("%s: %d of %d records, and no loss is told", what, len(got), len(at))
		}
	}
}

// What looks like a record inside of a payload is not taken for one.
func TestRecordsInsidePayloads(t *testing.T) {
	dir, at := written(t, 3, 60, 0)
	name := files(t, dir)[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	inner := b[at[1].offset():at[2].offset()]
	l, _, err := Open(Options{FS: Unsynced, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	id := engram.MustID("Test/Core/Provider/log")
	e, err := l.Begin(t.Context(), id, &engram.Snapshot{Time: 7, Instances: []engram.Instance{{Payload: engram.Payload{Type: "a", Bytes: bytes.Repeat(inner, 5)}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Append(1, true); err != nil || e.Wait() != nil {
		t.Fatal(err, e.Wait())
	}
	end := l.End()
	l.Close()
	outer := filepath.Join(dir, fileName(end.file()))
	if b, err = os.ReadFile(outer); err != nil {
		t.Fatal(err)
	}
	b[recordsAt+5] ^= 1 // its length
	os.WriteFile(outer, b, 0o600)
	l, _ = open(t, Options{Dir: dir})
	got, _ := replay(t, l, 0)
	want(t, got, 0, 2)
}

func TestHeaders(t *testing.T) {
	change := func(t *testing.T, f func(b []byte) []byte) (*Log, []Loss, error) {
		dir, _ := written(t, 3, 60, 0)
		name := files(t, dir)[0]
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile(name, f(b), 0o600)
		l, losses, err := Open(Options{FS: Unsynced, Dir: dir, AcceptLoss: true})
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		return l, losses, err
	}
	t.Run("one copy damaged", func(t *testing.T) {
		l, losses, err := change(t, func(b []byte) []byte { b[30]++; return b })
		if err != nil || len(losses) > 0 {
			t.Fatal(losses, err)
		}
		got, _ := replay(t, l, 0)
		want(t, got, 0, 2)
	})
	t.Run("both copies damaged", func(t *testing.T) {
		l, losses, err := change(t, func(b []byte) []byte { b[30]++; b[headerCopy+30]++; return b })
		if err != nil || len(losses) != 1 || !strings.Contains(losses[0].Reason, "header") {
			t.Fatal(losses, err)
		}
		if got, _ := replay(t, l, 0); len(got) > 0 {
			t.Errorf("without a header %v are read", got)
		}
	})
	t.Run("of a newer version", func(t *testing.T) {
		_, _, err := change(t, func(b []byte) []byte {
			h, _, _, _ := parseHeader(b)
			return append(h.encodeAs(Version+1), b[recordsAt:]...)
		})
		if engram.CodeOf(err) != engram.Unsupported || !strings.Contains(err.Error(), "version 2") {
			t.Errorf("%v; want Unsupported that names version 2", err)
		}
	})
	t.Run("of another memory", func(t *testing.T) {
		dir, _ := written(t, 3, 60, 0)
		l, losses := open(t, Options{Dir: dir, Memory: "Other", AcceptLoss: true})
		if got, _ := replay(t, l, 0); len(got) > 0 || len(losses) != 1 || !strings.Contains(losses[0].Reason, `"Test"`) {
			t.Errorf("records %v, losses %v", got, losses)
		}
	})
}

// Power is lost at any moment, and any part of what was not synced is on the disk.
func TestPowerLoss(t *testing.T) {
	for seed := range uint64(testkit.Repeats(15, 60)) {
		chance := rand.New(rand.NewPCG(seed, 3))
		base := t.TempDir()
		root := filepath.Join(base, "root")
		os.Mkdir(root, 0o700)
		fs := vfs.NewFaulty(Unsynced, root)
		l, _, err := Open(Options{FS: fs, Dir: filepath.Join(root, "log"), Memory: "Test", SegmentBytes: 4 << 10})
		if err != nil {
			t.Fatal(err)
		}
		durable, refused, next := -1, map[int]bool{}, 0
		for range 40 {
			switch chance.IntN(12) {
			case 0:
				fs.Inject(vfs.Fault{
					Op: []vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpCreate, vfs.OpTruncate, ""}[chance.IntN(6)], Skip: chance.IntN(4),
					Times: 1 + chance.IntN(3), Short: chance.IntN(200), Err: []error{vfs.ErrFull, vfs.ErrIO}[chance.IntN(2)],
				})
			case 1:
				fs.Heal()
			case 2, 3, 4:
				e := begin(t, l, next, chance.IntN(300))
				err := e.Append(engram.Time(1000+next), true)
				if err == nil {
					err = e.Wait()
				}
				if err == nil {
					durable = next
				} else {
					refused[next] = true
				}
				next++
			default:
				if begin(t, l, next, chance.IntN(300)).Append(engram.Time(1000+next), false) != nil {
					refused[next] = true
				}
				next++
			}
		}
		healed := chance.IntN(2) == 0
		if healed { // a refused record must not come back when the log works again
			fs.Heal()
			for l.Sync(t.Context(), l.End()) != nil {
			}
			durable = next - 1
		}
		image := filepath.Join(base, "image")
		if err := fs.CrashImage(image, chance); err != nil {
			t.Fatal(err)
		}
		fs.Heal()
		if err := l.Close(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, dir := range []string{image, root} {
			var got []int
			for life := range 2 {
				back, losses, err := Open(Options{FS: Unsynced, Dir: filepath.Join(dir, "log"), Memory: "Test"})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				before := got
				var more []Loss
				got, more = replay(t, back, 0)
				back.Close()
				for _, l := range append(losses, more...) {
					if !l.Torn {
						t.Errorf("seed %d, %s, life %d: what was not on the disk is told as a loss: %+v", seed, filepath.Base(dir), life, l)
					}
				}
				if life > 0 && !slices.Equal(got, before) {
					t.Errorf("seed %d, %s: the next epoch has %v, the one before had %v", seed, filepath.Base(dir), got, before)
				}
			}
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("seed %d: the order or the number of the records is wrong: %v", seed, got)
			}
			for i := 0; i <= durable; i++ {
				if !refused[i] && !slices.Contains(got, i) {
					t.Errorf("seed %d, %s: record %d is lost; all up to %d were on the disk: %v", seed, filepath.Base(dir), i, durable, got)
				}
			}
			for _, i := range got {
				if refused[i] && (healed || dir == root) {
					t.Errorf("seed %d, %s: record %d was refused, and came back", seed, filepath.Base(dir), i)
				}
			}
		}
	}
}

// After a failure the records that wait are written again, at other positions. Who asks
// whether all up to a position from before is on the disk is told so only when it is.
func TestSyncKnowsWhatIsWrittenAgain(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	os.Mkdir(root, 0o700)
	faulty := vfs.NewFaulty(Unsynced, root)
	var log atomic.Pointer[Log]
	var end atomic.Uint64
	var images []string // the flusher's until the log is closed
	over, cancel := context.WithCancel(t.Context())
	cancel()
	fs := vfs.Before(faulty, func() {
		l, end := log.Load(), Position(end.Load())
		if end == 0 || l.Sync(over, end) != nil {
			return
		}
		image := filepath.Join(base, fmt.Sprint("image", len(images)))
		if err := faulty.CrashImage(image, rand.New(rand.NewPCG(0, 0))); err != nil {
			t.Error(err)
		}
		images = append(images, image)
	})
	l, _, err := Open(Options{FS: fs, Dir: filepath.Join(root, "log"), Memory: "Test"})
	if err != nil {
		t.Fatal(err)
	}
	log.Store(l)
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Times: 1})
	for i := range 3 {
		if err := begin(t, l, i, 100).Append(engram.Time(1000+i), false); err != nil {
			t.Fatal(err)
		}
	}
	before := l.End()
	if err := l.Sync(t.Context(), before); err == nil {
		t.Fatal("the disk did not refuse")
	}
	end.Store(uint64(before))
	testkit.Until(t, func() (string, bool) { return "the log does not heal", l.Failure() == nil })
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(images) == 0 {
		t.Error("nothing was looked at after the records were on the disk")
	}
	for _, image := range images {
		back, _, err := Open(Options{FS: Unsynced, Dir: filepath.Join(image, "log"), Memory: "Test"})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := replay(t, back, 0); len(got) != 3 {
			t.Errorf("all three records are said to be on the disk, which has %v", got)
		}
		back.Close()
	}
}

func FuzzRecord(f *testing.F) {
	id, s := record(1, 30)
	meta := appendSnapshot(nil, id, s)
	f.Add(meta, s.Instances[0].Payload.Bytes)
	for _, r := range someDefinitions() {
		meta, data := appendDefinition(nil, r)
		f.Add(meta, data)
	}
	f.Add([]byte{1, 2, 3}, []byte{})
	f.Fuzz(func(t *testing.T, meta, data []byte) {
		r, err := parseRecord(frame{meta: meta, data: data}, newNames("Test"))
		if err != nil {
			return
		}
		var again, rest []byte
		if r.Kind == KindSnapshot {
			again = appendSnapshot(nil, r.Entity, r.Snapshot)
			for _, in := range r.Snapshot.Instances {
				rest = append(rest, in.Payload.Bytes...)
			}
		} else {
			again, rest = appendDefinition(nil, &r)
		}
		back, err := parseRecord(frame{meta: again, data: rest}, newNames("Test"))
		if err != nil || fmt.Sprintf("%+v", back) != fmt.Sprintf("%+v", r) && r.Kind != KindSnapshot {
			t.Errorf("%+v is read back as %+v, %v", r, back, err)
		}
	})
}

// bytesFile is a file in memory that can be read.
type bytesFile struct {
	vfs.File
	b []byte
}

func (f bytesFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, off)
}

// Records of any content are read to their end, and what is read is in order.
func FuzzScan(f *testing.F) {
	from := &logFile{header: header{marker: 0x61626364, number: 3}}
	var b []byte
	for i := range 3 {
		id, s := record(i, 20)
		e := &Entry{meta: appendSnapshot(make([]byte, frameSize), id, s), dataLen: 20}
		data := s.Instances[0].Payload.Bytes
		putFrame(e.meta, from.marker, position(from.number, recordsAt+int64(len(b))), 20, crc32.Checksum(data, castagnoli))
		b = append(append(b, e.meta...), data...)
	}
	f.Add(b)
	f.Add(b[:len(b)-7])
	f.Add(b[7:])
	f.Add(append(slices.Clone(b), b...))
	f.Add(bytes.Repeat([]byte("dcba"), 50))
	f.Fuzz(func(t *testing.T, b []byte) {
		limit := recordsAt + int64(len(b))
		s := newScan(bytesFile{b: append(make([]byte, recordsAt), b...)}, from, limit)
		end := int64(recordsAt)
		for {
			fr, ok := s.next()
			if !ok {
				break
			}
			if fr.pos.offset() < end || s.offset <= fr.pos.offset() || s.offset > limit {
				t.Fatalf("a record at %v, after %d, up to %d of %d", fr.pos, end, s.offset, limit)
			}
			end = s.offset
			_, _ = parseRecord(fr, newNames("Test"))
		}
	})
}

func FuzzHeader(f *testing.F) {
	h := newHeader("Test", 7, position(6, 9000))
	f.Add(h.encode()[:headerSize])
	f.Add(h.encodeAs(2)[:headerSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, _, ok, err := parseHeader(b)
		if !ok || err != nil {
			return
		}
		if again, _, ok, err := parseHeader(h.encode()); !ok || err != nil || !again.created.Equal(h.created) ||
			again.number != h.number || again.marker != h.marker || again.cut != h.cut || again.memory != h.memory {
			t.Errorf("%+v is read back as %+v, %v", h, again, err)
		}
	})
}
