package wal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// findFiles finds the files of the log, cuts off what a crash left at the end, and
// sets where the log ends.
func (l *Log) findFiles() (losses []Loss, err error) {
	entries, err := l.opts.FS.ReadDir(l.opts.Dir)
	if err != nil {
		return nil, l.classify("the log's folder cannot be read", err)
	}
	expected := l.expect()
	highest := uint64(0)
	for number := range expected {
		highest = max(highest, number) // no number is given twice
	}
	unread := map[uint64]*Loss{}
	last := highest // of those that are more than begun
	for _, e := range entries {
		number, ok := fileNumber(e.Name())
		if !ok || e.IsDir() {
			l.removeUnfinished(e.Name())
			continue
		}
		highest = max(highest, number)
		_, isExpected := expected[number]
		f, loss, err := l.readHeader(number, isExpected)
		switch {
		case err != nil:
			return nil, err
		case loss == nil && f == nil:
			continue
		case loss != nil && isExpected:
			unread[number] = loss
		case loss != nil:
			losses = append(losses, *loss)
		default:
			l.mu.files = append(l.mu.files, f)
			l.opts.Memory = cmp.Or(l.opts.Memory, f.memory)
		}
		last = max(last, number)
	}
	slices.SortFunc(l.mu.files, func(a, b *logFile) int { return cmp.Compare(a.number, b.number) })
	l.mu.end, l.mu.durable = position(highest, recordsAt), position(highest+1, 0)
	l.applyCuts()
	gone := l.compare(expected, unread)
	if len(gone) > 0 && !l.opts.AcceptLoss {
		return gone, engram.Errorf(engram.Corrupt, l.opts.Dir, "%w", ErrGone)
	}
	for number := range unread { // it is not found again
		name := filepath.Join(l.opts.Dir, fileName(number))
		if err := l.opts.FS.Rename(name, name+vfs.DamagedSuffix); err != nil {
			return gone, l.classify("a damaged file of the log cannot be put aside", err)
		}
	}
	if n := len(l.mu.files); n > 0 && l.mu.files[n-1].number == last {
		losses = append(losses, l.cutTorn(l.mu.files[n-1])...)
		l.mu.durable = position(last, l.mu.files[n-1].end)
	}
	for _, loss := range l.missing() {
		if !slices.ContainsFunc(gone, func(g Loss) bool { return g.File == loss.File }) {
			losses = append(losses, loss)
		}
	}
	return append(losses, gone...), nil
}

// syncFound has what was found on the disk for good: what a process wrote that was killed
// may be in no more than the system's memory, and the next file says that it was there.
func (l *Log) syncFound() {
	for _, f := range l.mu.files {
		if f.end <= recordsAt {
			continue
		}
		file, err := l.opts.FS.OpenFile(filepath.Join(l.opts.Dir, f.name), os.O_RDWR, 0)
		if err != nil {
			continue // it is read again at Replay, which tells
		}
		if file.Sync() == nil {
			f.durable = max(f.durable, f.end)
		}
		file.Close()
	}
}

// missing returns what later files say that was there, and counts.
func (l *Log) missing() (losses []Loss) {
	for i, f := range l.mu.files {
		void := slices.ContainsFunc(l.mu.files[i+1:], func(later *logFile) bool { return later.cut < f.cut })
		if i == 0 || void || f.cut.offset() <= recordsAt {
			continue
		}
		before := l.mu.files[i-1]
		switch {
		case before.number < f.cut.file():
			losses = append(losses, Loss{File: fileName(f.cut.file()), Bytes: f.cut.offset(), Reason: "the file is missing"})
		case before.number == f.cut.file() && before.end < f.cut.offset():
			losses = append(losses, Loss{File: before.name, Offset: before.end, Bytes: f.cut.offset() - before.end, Reason: "the file's end is missing"})
		}
	}
	return losses
}

// readHeader returns a file of the log, nothing for one that was only begun, unless it is
// expected to be there, or what is lost.
func (l *Log) readHeader(number uint64, expected bool) (f *logFile, loss *Loss, err error) {
	name := fileName(number)
	path := filepath.Join(l.opts.Dir, name)
	size := int64(0)
	lost := func(why string) (*logFile, *Loss, error) {
		if size <= recordsAt && !expected { // nothing
			return nil, nil, nil
		}
		return nil, &Loss{File: name, Bytes: size, Reason: why}, nil
	}
	file, err := l.opts.FS.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return lost("the file cannot be opened: " + err.Error())
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return lost("the file cannot be looked at: " + err.Error())
	}
	size = info.Size()
	b := make([]byte, headerSize)
	for _, at := range [...]int64{0, headerCopy} {
		if n, err := file.ReadAt(b, at); n < headerSize {
			if err != nil && !errors.Is(err, io.EOF) && at > 0 {
				return lost("the file cannot be read: " + err.Error())
			}
			continue
		}
		h, version, ok, err := parseHeader(b)
		switch {
		case err != nil:
			return nil, nil, engram.Errorf(engram.CodeOf(err), path, "%w", err)
		case ok && h.number != number:
			return lost("the file is a copy of " + fileName(h.number))
		case ok && l.opts.Memory != "" && h.memory != l.opts.Memory:
			return lost("the file is of another memory, " + strconv.Quote(h.memory))
		case ok:
			return &logFile{header: h, version: version, name: name, end: max(size, recordsAt), size: size}, nil, nil
		}
	}
	if size <= recordsAt && !expected { // it was never finished, so nothing was written behind it
		l.opts.FS.Remove(path)
		return nil, nil, nil
	}
	return lost("both copies of the file's header are damaged")
}

// applyCuts takes from each file what later ones say does not count.
func (l *Log) applyCuts() {
	cut := Position(1<<64 - 1)
	for i := len(l.mu.files) - 1; i >= 0; i-- {
		f := l.mu.files[i]
		if cut.file() < f.number {
			f.end = recordsAt
		} else if cut.file() == f.number {
			f.end = min(f.end, max(cut.offset(), recordsAt))
		}
		cut = min(cut, f.cut)
	}
}

// cutTorn cuts off what a crash left behind the last whole record of the last file. What
// was on the disk is damaged, and stays there; the next file's header says that it does
// not count. Of what was not, a crash leaves any sectors: whole records behind a hole are
// written anew into the next file, so that the hole is at the end.
func (l *Log) cutTorn(f *logFile) (losses []Loss) {
	path := filepath.Join(l.opts.Dir, f.name)
	file, err := l.opts.FS.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil // it is read again at Replay, which tells
	}
	defer file.Close()
	s := newScan(file, f, f.end)
	holes := func() []Loss {
		n, _ := slices.BinarySearchFunc(s.losses, f.durable, func(l Loss, durable int64) int { return cmp.Compare(l.Offset, durable) })
		return s.losses[n:]
	}
	var last engram.Time
	var behind []*Entry // holes
	for {
		fr, ok := s.next()
		if !ok {
			break
		}
		if len(holes()) > 0 {
			behind = append(behind, l.entryOf(fr))
		} else if at, ok := fr.arrived(); ok {
			last = at
		}
	}
	end := s.offset
	for _, hole := range holes() {
		if hole.Unread {
			return nil // the same
		}
		hole.Torn, end = true, min(end, hole.Offset)
		losses = append(losses, hole)
	}
	if s.broken != nil {
		return nil // the same
	}
	if damaged := min(f.end, f.durable) - end; damaged > 0 {
		losses = append(losses, Loss{File: f.name, Offset: end, Bytes: damaged, From: last, Until: f.until, Reason: "damaged records, which were on the disk"})
	} else {
		if torn := f.end - s.offset; torn > 0 {
			losses = append(losses, Loss{File: f.name, Offset: s.offset, Bytes: torn, Reason: "cut off in the middle of a record by a crash", Torn: true})
		}
		if end < f.end && len(behind) == 0 && file.Truncate(end) == nil {
			file.Sync()
		} // else the next file's header says that it does not count
	}
	f.until = max(f.until, last)
	f.end = end
	l.rewrite(behind)
	return losses
}

// entryOf returns a record as it is to be written anew.
func (l *Log) entryOf(fr frame) *Entry {
	return &Entry{
		log: l, again: true, meta: append(emptyFrame[:], fr.meta...), data: [][]byte{bytes.Clone(fr.data)},
		dataLen: len(fr.data), dataCRC: crc32.Checksum(fr.data, castagnoli),
	}
}

// rewrite has records that are in a file written into the next one that is begun.
func (l *Log) rewrite(records []*Entry) {
	f := &l.flusher
	for _, e := range records {
		f.cost += e.cost()
	}
	f.unsynced = records
	l.mu.waiting += f.cost
	l.opts.shared.add(f.cost)
}

// dropEmpty removes those of the first n files that have no records, but for those that
// say of an earlier one what does not count, and those that are expected to be there:
// these go with Truncate, which notes it.
func (l *Log) dropEmpty(n int) {
	kept := l.mu.files[:0]
	reach := Position(0) // of those that stay
	for i, f := range l.mu.files {
		if i >= n || f.end > recordsAt || f.durable > recordsAt || f.cut < reach || l.opts.FS.Remove(filepath.Join(l.opts.Dir, f.name)) != nil {
			kept = append(kept, f)
			reach = position(f.number, max(f.end, f.size))
		}
	}
	l.mu.files = kept
}

// Replay calls fn with the records from a position on that are in the files, in
// order; they are fn's to keep. What is damaged is left out and told in losses. An
// error of fn ends it and is returned. It may run while records are appended.
func (l *Log) Replay(ctx context.Context, from Position, fn func(Record) error) (losses []Loss, err error) {
	type part struct {
		*logFile
		limit int64
		until engram.Time
	}
	l.mu.Lock()
	var parts []part
	for _, f := range l.mu.files {
		if f.number >= from.file() {
			parts = append(parts, part{f, f.end, f.until})
		}
	}
	l.mu.Unlock()
	known := newNames(l.opts.Memory)
	for _, p := range parts {
		more, err := l.replayFile(ctx, p.logFile, p.limit, p.until, from, known, fn)
		losses = append(losses, more...)
		if err != nil {
			return losses, err
		}
	}
	return losses, nil
}

func (l *Log) replayFile(ctx context.Context, f *logFile, limit int64, until engram.Time, from Position, known *names, fn func(Record) error) ([]Loss, error) {
	file, err := l.opts.FS.OpenFile(filepath.Join(l.opts.Dir, f.name), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) && !l.has(f) {
		return nil, nil // Truncate was quicker
	}
	if err != nil {
		return []Loss{{File: f.name, Bytes: limit, Reason: "the file cannot be opened: " + err.Error(), Unread: true}}, nil
	}
	defer file.Close()
	s := newScan(file, f, limit)
	if from.file() == f.number && from.offset() > recordsAt {
		s.offset = from.offset()
	}
	parse := formats[f.version].parse
	var arrived engram.Time // of the record read last
	timed := 0              // losses whose times are set
	timeLosses := func(until engram.Time) {
		for ; timed < len(s.losses); timed++ {
			s.losses[timed].From, s.losses[timed].Until = arrived, until
		}
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return s.losses, engram.Errorf(engram.Canceled, l.opts.Dir, "given up while reading the log: %w", context.Cause(ctx))
		}
		before := s.offset
		fr, ok := s.next()
		if !ok {
			break
		}
		if at, ok := fr.arrived(); ok {
			timeLosses(at)
			arrived = at
		}
		r, err := parse(fr, known)
		if err != nil {
			s.losses = append(s.losses, Loss{File: f.name, Offset: max(before, fr.pos.offset()), Bytes: s.offset - fr.pos.offset(), Reason: err.Error()})
			continue
		}
		if err := fn(r); err != nil {
			return s.losses, err
		}
	}
	if rest := limit - s.offset; rest > 0 {
		s.lose(rest, "cut or damaged records")
	}
	timeLosses(until)
	return s.losses, nil
}

// has reports whether the file still belongs to the log.
func (l *Log) has(f *logFile) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.mu.files, f)
}
