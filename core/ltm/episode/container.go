package episode

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// container is a file of chunks that are read by their place: what the reader of a
// sealed episode and the writer of an open one have in common.
type container struct {
	path    string
	f       vfs.File
	source  uint64 // names it in the cache
	cache   *Cache
	types   *idf.Registry
	channel func(uint16) *channelDef // what is known of a channel, or nil

	// life is held for reading by every call that uses the file, and for writing by close.
	life   sync.RWMutex
	closed bool
	ahead  prefetcher

	decoders decoderPool
}

// channelDef is what a reader needs to know of a channel.
type channelDef struct {
	topic   string
	message string // the type of its messages
	typ     string // of the provider segment's payloads
	config  codec.Config
}

func newContainer(path string, f vfs.File, o *Options, channel func(uint16) *channelDef) *container {
	return &container{path: path, f: f, source: lastSource.Add(1), cache: o.Cache, types: o.Types, channel: channel}
}

// use holds the file open until done is called.
func (c *container) use() (done func(), err error) {
	c.life.RLock()
	if c.closed {
		c.life.RUnlock()
		return nil, engram.Errorf(engram.Unavailable, c.path, "the episode is closed")
	}
	return c.life.RUnlock, nil
}

// close closes the file when the last call that uses it has ended.
func (c *container) close() error {
	c.life.Lock()
	if c.closed {
		c.life.Unlock()
		return nil
	}
	c.closed = true
	c.life.Unlock()
	c.ahead.wg.Wait() // no more may begin
	c.decoders.close()
	c.cache.forget(c.source)
	if err := c.f.Close(); err != nil {
		return fileError(c.path, err)
	}
	return nil
}

// readAt returns n bytes of the file from off on.
func (c *container) readAt(off int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if m, err := c.f.ReadAt(b, off); m < n {
		if err == nil {
			err = errors.New("there are fewer bytes")
		}
		return nil, engram.Errorf(engram.Corrupt, c.path, "%d bytes at %d cannot be read: %w", n, off, err)
	}
	return b, nil
}

func (c *container) chunkKey(off int64) cacheKey {
	return cacheKey{source: c.source, kind: cacheChunk, offset: off}
}

// chunk returns the records of the chunk whose record of that length begins at off.
func (c *container) chunk(ctx context.Context, off int64, length uint64) ([]byte, error) {
	key := c.chunkKey(off)
	if v, ok := c.cache.get(key); ok {
		return v.([]byte), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if length < recordHead+chunkHead || length > maxChunk+1<<20 || off < 0 {
		return nil, engram.Errorf(engram.Corrupt, c.path, "a chunk of %d bytes at %d is referred to; there can be none", length, off)
	}
	b, err := c.readAt(off, int(length))
	if err != nil {
		return nil, err
	}
	op, content, rest, ok := cutRecord(b)
	if !ok || op != mcap.OpChunk || len(rest) > 0 {
		return nil, engram.Errorf(engram.Corrupt, c.path, "there is no chunk of %d bytes at %d; repair the episode", length, off)
	}
	records, _, err := openChunk(content)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), c.path, "the chunk at %d: %w", off, err)
	}
	c.cache.put(key, records, int64(cap(records)))
	return records, nil
}

// fileError is an error of the file system as one of the module.
func fileError(path string, err error) error {
	code := engram.Unavailable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = engram.NotFound
	case errors.Is(err, fs.ErrExist):
		code = engram.AlreadyExists
	case errors.Is(err, syscall.ENOSPC):
		code = engram.Exhausted
	}
	return engram.Errorf(code, path, "%w", err)
}
