package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// part is what one episode holds of an entity; the episode is opened when it is
// needed.
type part struct {
	span    engram.Interval // of its times
	arrived engram.Interval
	count   int
	times   int // different ones; 0 if not known
	handle  *handle
	entity  engram.ID
	source  episode.Source // nil until it is open
	run     *run
}

// run is an entity's timeline in one episode.
type run struct {
	handle   *handle
	epoch    uint64
	upTo     uint64 // no version has a higher number
	timeline episode.Timeline
	blocks   []episode.Block
}

// open opens the episode; NotFound says that it holds nothing of the entity.
func (p *part) open() (err error) {
	if p.run != nil {
		return nil
	}
	if p.source == nil {
		if p.source, err = p.handle.open(); err != nil {
			return err
		}
	}
	tl, err := p.source.Timeline(p.entity)
	p.handle.look(p.source)
	if err != nil {
		return err
	}
	p.run = &run{handle: p.handle, epoch: p.handle.info.Epoch, upTo: p.handle.upTo, timeline: tl, blocks: tl.Blocks()}
	return nil
}

// slots returns how many times a reader sees of the part, 0 if that is not known.
func (p *part) slots(a *admission) int {
	epoch, upTo := uint64(0), uint64(0)
	if p.run != nil {
		epoch, upTo = p.run.epoch, p.run.upTo
	} else {
		epoch, upTo = p.handle.info.Epoch, p.handle.upTo
	}
	if !a.admitsAll(epoch, upTo) {
		return 0
	}
	return p.times
}

func (r *run) span(block int) engram.Interval { return r.blocks[block].Span }

// slots returns how many times a reader sees of a block, 0 if that is not known.
func (r *run) slots(a *admission, block int) int {
	if !a.admitsAll(r.epoch, r.upTo) {
		return 0
	}
	return r.blocks[block].Times
}

// close releases the episode.
func (p *part) close() {
	if p.source != nil {
		p.handle.close()
		p.source = nil
	}
}

// cursor is a place in a block whose index was read.
type cursor struct {
	run   *run
	block int
	index *episode.Versions
	pos   int

	loaded []*engram.Snapshot // with payloads
	first  int                // the index of loaded[0]

	rows     [][]float64 // instead of loaded, where numbers are read
	firstRow int
	rowsOnce int // how many are loaded at once
}

func (c *cursor) time() engram.Time { return c.index.Time(c.pos) }

// there reports whether the cursor stands at a version for which the disk is asked.
func (c *cursor) there(v *view, dir direction) bool {
	if c.pos < 0 || c.pos >= c.index.Len() {
		return false
	}
	return dir == descending || c.time() <= v.floor
}

func (c *cursor) advance(dir direction) {
	if dir == descending {
		c.pos--
	} else {
		c.pos++
	}
}

// load returns a version with its payload, nil if it cannot be read. Who goes on in
// order gets what follows in growing runs.
func (c *cursor) load(v *view, pos int) *engram.Snapshot {
	if i := pos - c.first; i >= 0 && i < len(c.loaded) {
		return c.loaded[i]
	}
	lo, hi := pos, pos+1
	if n := len(c.loaded); n > 0 {
		size := c.loaded[n-1].Size()
		switch {
		case pos >= c.first+n && pos < c.first+2*n:
			hi = min(pos+window(n, size), c.index.Len())
		case pos < c.first && pos >= c.first-n:
			lo = max(hi-window(n, size), 0)
		}
	}
	loaded, err := c.run.timeline.Load(v.ctx, c.block, lo, hi)
	if err != nil && hi-lo > 1 { // perhaps another one of them is damaged
		lo, hi = pos, pos+1
		loaded, err = c.run.timeline.Load(v.ctx, c.block, lo, hi)
	}
	if err != nil {
		t := c.index.Time(pos)
		v.fail(c.run.handle, err, engram.Interval{Start: t, End: t + 1}, 1)
		return nil
	}
	c.loaded, c.first = loaded, lo
	return loaded[pos-lo]
}

// row returns the numbers of a version, nil if it cannot be read, for who goes on in order up to a time. The error is Corrupt:
// it can be read, and its payload is not one of its type.
func (c *cursor) row(v *view, pos int, last engram.Time, of *idf.NumberRows) ([]float64, error) {
	if i := pos - c.firstRow; i < 0 || i >= len(c.rows) {
		if !c.loadRows(v, pos, last, of) {
			return nil, nil
		}
	}
	row := c.rows[pos-c.firstRow]
	if row != nil {
		return row, nil
	}
	s := c.load(v, pos)
	if s == nil {
		return nil, nil
	}
	row = make([]float64, of.Len())
	return row, of.Read(s, row)
}

// loadRows loads the rows of a version and of those behind it. It reports whether that can be read.
func (c *cursor) loadRows(v *view, pos int, last engram.Time, of *idf.NumberRows) bool {
	most := max(1, aheadBytes/(8*of.Len()+24))
	if c.rowsOnce = min(2*c.rowsOnce, most); c.rowsOnce == 0 {
		c.rowsOnce = most
	}
	hi := pos + max(1, min(c.rowsOnce, c.index.Search(last+1)-pos))
	rows, err := c.run.timeline.Numbers(v.ctx, c.block, pos, hi, of)
	if err != nil && hi-pos > 1 { // perhaps another one of them is damaged
		c.rowsOnce = 1
		rows, err = c.run.timeline.Numbers(v.ctx, c.block, pos, pos+1, of)
	}
	if err != nil {
		t := c.index.Time(pos)
		v.fail(c.run.handle, err, engram.Interval{Start: t, End: t + 1}, 1)
		return false
	}
	c.rows, c.firstRow = rows, pos
	return true
}
