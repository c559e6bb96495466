package episode

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/foxglove/mcap/go/mcap"
)

// Seal ends the episode, writes its summary, syncs, and renames it. Afterwards the
// Writer remains readable until Close. After an error it may be tried again, unless
// the code is Corrupt: then the disk refused to sync, and only [Repair] of the file
// can save what is there.
func (w *Writer) Seal(ctx context.Context) (Info, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.renamed && !w.mu.closed { // and its name may not be durable
		return w.endSealLocked()
	}
	if err := w.usableLocked(); err != nil {
		return Info{}, err
	}
	if err := w.drainLocked(ctx); err != nil {
		return Info{}, err
	}
	end, err := w.endingLocked()
	if err != nil {
		return Info{}, err
	}
	if err := w.untearLocked(); err != nil {
		return Info{}, err
	}
	// The ending counts when all of it is there: until then it is written anew.
	w.mu.torn = true
	if n, err := w.f.Write(end); err != nil || n < len(end) {
		if err == nil {
			err = io.ErrShortWrite
		}
		return Info{}, fileError(w.container.path, err)
	}
	if err := w.syncLocked(); err != nil {
		return Info{}, err
	}
	if err := w.opts.FS.Rename(w.container.path, w.path); err != nil {
		return Info{}, fileError(w.container.path, err)
	}
	w.mu.sealed, w.mu.renamed = true, true
	w.pub.Lock()
	w.pub.info.Sealed = true
	w.pub.info.Bytes = w.mu.offset + int64(len(end))
	w.pub.Unlock()
	if w.mu.timer != nil {
		w.mu.timer.Stop()
	}
	return w.endSealLocked()
}

// endSealLocked makes the sealed episode's name durable.
func (w *Writer) endSealLocked() (Info, error) {
	if err := w.opts.FS.SyncDir(filepath.Dir(w.path)); err != nil {
		return Info{}, fileError(w.path, err)
	}
	w.mu.renamed = false
	return w.Info(), nil
}

// endingLocked returns all that follows the last chunk: the index, the episode's
// metadata, the end of the data section, the summary, the footer.
func (w *Writer) endingLocked() ([]byte, error) {
	base := uint64(w.mu.offset)
	var index indexBuilder
	entities := slices.Clone(w.mu.order)
	slices.SortFunc(entities, func(a, b *writeEntity) int { return a.id.Compare(b.id) })
	for _, e := range entities {
		e.view.Lock()
		entity, blocks := e.view.Entity, e.view.blocks
		e.view.Unlock()
		if entity.Snapshots == 0 { // nothing of it could be stored
			continue
		}
		if err := index.add(&entity, blocks); err != nil {
			return nil, err
		}
	}
	data, err := index.end()
	if err != nil {
		return nil, err
	}
	stats := w.mu.stats
	if stats.MessageCount == 0 {
		stats.MessageStartTime = 0
	}
	at := stats.MessageEndTime
	b := appendAttachment(nil, attachmentIndex, indexMediaType, at, at, data)
	attach := append(slices.Clip(w.mu.attach), &mcap.AttachmentIndex{
		Offset: base, Length: uint64(len(b)), LogTime: at, CreateTime: at,
		DataSize: uint64(len(data)), Name: attachmentIndex, MediaType: indexMediaType,
	})
	w.pub.RLock()
	info := w.pub.info
	w.pub.RUnlock()
	metaAt, name := len(b), w.metadataName(metadataEpisode)
	told := infoMetadata(&info)
	told[keyIndexAt] = strconv.FormatUint(base, 10)
	told[keyCRC] = metadataCRC(told)
	b = appendMetadata(b, name, told)
	meta := append(slices.Clip(w.mu.meta), &mcap.MetadataIndex{Offset: base + uint64(metaAt), Length: uint64(len(b) - metaAt), Name: name})
	stats.AttachmentCount++
	stats.MetadataCount++

	b = appendDataEnd(b, crc32.Update(w.mu.dataCRC, crc32.IEEETable, b))
	summary := len(b)
	type group struct {
		op     mcap.OpCode
		append func([]byte) []byte
	}
	var offsets []byte
	for _, g := range []group{
		{mcap.OpSchema, func(b []byte) []byte {
			for _, s := range w.mu.schemas {
				if s.written {
					b = appendSchema(b, &s.Schema)
				}
			}
			return b
		}},
		{mcap.OpChannel, w.appendChannelsLocked},
		{mcap.OpStatistics, func(b []byte) []byte { return appendStatistics(b, &stats) }},
		{mcap.OpChunkIndex, func(b []byte) []byte {
			for _, c := range w.mu.chunks {
				b = appendChunkIndex(b, c)
			}
			return b
		}},
		{mcap.OpAttachmentIndex, func(b []byte) []byte {
			for _, x := range attach {
				b = appendAttachmentIndex(b, x)
			}
			return b
		}},
		{mcap.OpMetadataIndex, func(b []byte) []byte {
			for _, x := range meta {
				b = appendMetadataIndex(b, x)
			}
			return b
		}},
	} {
		from := len(b)
		if b = g.append(b); len(b) > from {
			offsets = appendSummaryOffset(offsets, g.op, base+uint64(from), uint64(len(b)-from))
		}
	}
	offsetsAt := len(b)
	b = append(b, offsets...)
	b, footer := beginRecord(b, mcap.OpFooter)
	b = binary.LittleEndian.AppendUint64(b, base+uint64(summary))
	b = binary.LittleEndian.AppendUint64(b, base+uint64(offsetsAt))
	// The summary's CRC includes the footer's head, whose length counts the CRC.
	binary.LittleEndian.PutUint64(b[footer+1:], footerLen)
	b = binary.LittleEndian.AppendUint32(b, crcIEEE(b[summary:]))
	return append(b, mcap.Magic...), nil
}

func (w *Writer) appendChannelsLocked(b []byte) []byte {
	var list []*channelState
	add := func(ch *channelState) {
		if ch.written {
			list = append(list, ch)
		}
	}
	add(w.mu.envelopes)
	for _, ch := range w.mu.channels {
		add(ch)
	}
	slices.SortFunc(list, func(a, b *channelState) int { return int(a.ID) - int(b.ID) })
	for _, ch := range list {
		b = appendChannel(b, &ch.Channel)
	}
	return b
}

// Info implements [Source].
func (w *coder) Info() Info {
	w.pub.RLock()
	defer w.pub.RUnlock()
	return w.pub.info
}
