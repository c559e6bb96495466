package episode

import "github.com/seed-301d4374/engram/core/ltm/codec"

// The encoder and the decoder that all share make channels when they are first used, which
// must not be inside the bubble of a test.
func init() {
	zstdEncoder().EncodeAll([]byte("x"), nil)
	zstdDecoder()
}

// Library is what the header says that wrote the file.
const Library = library

// SetCodecs adds codecs of a test to those of package codec, until undone.
func SetCodecs(encoder func(codec.Config) (codec.Encoder, []byte), decoder func(codec.Config) codec.Decoder) (undo func()) {
	newEncoder = func(c codec.Config) (codec.Encoder, codec.Config, error) {
		if e, params := encoder(c); e != nil {
			c.Params = params
			return e, c, nil
		}
		return codec.NewEncoder(c)
	}
	newDecoder = func(c codec.Config) (codec.Decoder, error) {
		if d := decoder(c); d != nil {
			return d, nil
		}
		return codec.NewDecoder(c)
	}
	return func() { newEncoder, newDecoder = codec.NewEncoder, codec.NewDecoder }
}

// ParseRun reads an envelope, for fuzzing, and writes it again.
func ParseRun(b []byte) ([]byte, error) {
	r, err := parseRun(b)
	if err != nil {
		return nil, err
	}
	return r.encode()
}

// ParseIndex reads an index as an attachment has it.
func ParseIndex(b []byte) error {
	if len(b) < indexTrailer {
		return nil
	}
	offset, length, crc, err := parseTrailer(b[len(b)-indexTrailer:], uint64(len(b)))
	if err != nil {
		return err
	}
	entities, err := parseDirectory(b[offset:][:length], crc, offset)
	if err != nil {
		return err
	}
	for _, e := range entities {
		if _, err := parseTable(b[e.offset:][:e.length]); err != nil {
			return err
		}
	}
	return nil
}

// RawWaiting returns how many bytes of payloads wait in w to be written.
func RawWaiting(w *Writer) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.raw
}

// PlacesWithRuns returns how many of the cache's entries of places hold a run; -1 if there are no such entries.
func (c *Cache) PlacesWithRuns() (n int) {
	n = -1
	for k, e := range c.mu.entries {
		if k.kind != cachePlaces {
			continue
		}
		n = max(n, 0)
		for _, m := range e.Value.(*cached).value.([]codedMessage) {
			if m.run != nil || m.Bytes != nil {
				n++
				break
			}
		}
	}
	return n
}
