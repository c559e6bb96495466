package codec

import (
	"context"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// DecodeNumbers implements [NumberDecoder]. It reads the columns that the numbers stand in. Where it depends on the single
// payload where they stand, it reads the payloads.
func (d *columnsDecoder) DecodeNumbers(ctx context.Context, m Message, rows *idf.NumberRows) ([][]float64, error) {
	coded := m
	body, times, err := openColumns(&coded)
	if err != nil {
		return nil, err
	}
	if body != nil {
		t, err := parseTree(body.structure, body.data, times, func(which []int64, root int) idf.Kept {
			return keptOf(m.Snapshots, which, root, rows)
		}, &d.leaves)
		defer d.leaves.empty()
		if err != nil {
			return nil, err
		}
		out, ok, err := t.numbers(m.Snapshots, rows, &d.leaves)
		if ok || err != nil {
			return out, err
		}
	} else if coded.Key && coded.Instance == 0 && len(m.Snapshots) == 1 && len(m.Snapshots[0].Instances) == 1 { // as viewers see them
		d.plain.parts = d.plain.parts[:0]
		out := newRows(1, rows.Len())
		if rows.Instance() > 0 {
			idf.Unset(out[0])
		} else if rows.ReadPayload(coded.Type, coded.Bytes, out[0]) != nil {
			out[0] = nil
		}
		return out, nil
	}
	all, err := d.Decode(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	return RowsOf(all, rows), nil
}

// keptOf returns what is to be read of a root: what the numbers of its first payload that is asked for stand in.
func keptOf(snapshots []*engram.Snapshot, which []int64, root int, rows *idf.NumberRows) idf.Kept {
	payload := rows.Instance()
	for _, s := range snapshots {
		if n := len(s.Instances); rows.Instance() < n && which[payload] == int64(root)+1 {
			return rows.Of(s.Instances[rows.Instance()].Payload.Type).Kept()
		}
		payload += len(s.Instances)
	}
	return idf.Kept{}
}

// rootRows are the rows whose payloads have one root.
type rootRows struct {
	typ string
	row []int32
	at  []int32 // of each, which occurrence of the root it is
}

// numbers reads a row of each snapshot; ok is false where that needs the payloads. All columns but counts are unread.
func (t *tree) numbers(snapshots []*engram.Snapshot, rows *idf.NumberRows, spare *leaves) (out [][]float64, ok bool, err error) {
	out = newRows(len(snapshots), rows.Len())
	roots, seen := make([]rootRows, len(t.roots)), make([]int32, len(t.roots)+1)
	payload := 0
	for i, s := range snapshots {
		idf.Unset(out[i])
		for k := range s.Instances {
			w := t.which[payload]
			at := seen[w]
			seen[w]++
			payload++
			if k != rows.Instance() {
				continue
			}
			typ := s.Instances[k].Payload.Type
			if w == 0 {
				if rows.ReadPayload(typ, t.kept[at], out[i]) != nil {
					out[i] = nil
				}
				continue
			}
			r := &roots[w-1]
			if r.row == nil {
				r.typ, r.row, r.at = typ, make([]int32, 0, len(snapshots)), make([]int32, 0, len(snapshots))
			} else if r.typ != typ {
				return nil, false, nil
			}
			r.row, r.at = append(r.row, int32(i)), append(r.at, at)
		}
	}
	for i := range roots {
		r := &roots[i]
		if len(r.row) == 0 {
			continue
		}
		of := rows.Of(r.typ)
		for k, place := range of.Places() {
			if place == nil {
				return nil, false, nil
			}
			c := numberColumn{place: place, node: t.roots[i], at: r.at, column: of.Columns[k]}
			if !c.follow() {
				return nil, false, nil
			}
			if ok, err := c.fill(out, r.row, spare); !ok || err != nil {
				return nil, false, err
			}
		}
	}
	return out, true, nil
}

// numberColumn is on its way from a root to the column of a number.
type numberColumn struct {
	place   *idf.NumberPlace
	node    *node   // nil if no payload has it
	at      []int32 // by row: which occurrence of the node is its own; -1 for none
	unnamed bool    // the node is a list without an element of the name
	column  int     // of rows
}

// follow goes to the node of the number. It reports whether that is the same node in all payloads.
func (c *numberColumn) follow() (ok bool) {
	for _, step := range c.place.Steps {
		if c.node == nil { // no payload has it
			return true
		}
		of := c.node
		f := of.field(step.Member)
		if f == nil || step.List != (f.occurs == occursList || f.occurs == occursPacked) {
			return false
		}
		if !step.List {
			if step.Maybe != (f.occurs == occursMaybe) { // another definition of the type wrote it
				return false
			}
			if c.node = f; step.Maybe {
				c.within(f.present.v, 0)
			}
			continue
		}
		item := step.Item
		if step.Names != 0 {
			if item, ok = of.named(f, step); !ok {
				return false
			}
			if c.unnamed = item < 0; c.unnamed {
				return true
			}
		}
		if c.node = f.rest; item < len(f.elems) {
			c.node = f.elems[item]
			c.within(f.count.v, int64(item))
		} else {
			c.beyond(f.count.v, int64(len(f.elems)), int64(item))
		}
	}
	return true
}

// field returns a member of a message, nil if it has no such one.
func (n *node) field(number protowire.Number) *node {
	for _, f := range n.fields {
		if f.number == number {
			return f
		}
	}
	return nil
}

// within goes from the occurrences of a message to those of what is in it where a count is above least.
func (c *numberColumn) within(counts []int64, least int64) {
	if !slices.ContainsFunc(counts, func(n int64) bool { return n <= least }) {
		return // it is in all
	}
	places := make([]int32, len(counts))
	next := int32(0)
	for i, n := range counts {
		if places[i] = -1; n > least {
			places[i] = next
			next++
		}
	}
	c.through(places)
}

// beyond goes on to an element of a list that shares a column with all from the element first on.
func (c *numberColumn) beyond(counts []int64, first, item int64) {
	places := make([]int32, len(counts))
	next := int64(0)
	for i, n := range counts {
		if places[i] = -1; n > item {
			places[i] = int32(next + item - first)
		}
		next += max(n-first, 0)
	}
	c.through(places)
}

func (c *numberColumn) through(places []int32) {
	at, none := make([]int32, len(c.at)), true
	for i, a := range c.at {
		if at[i] = -1; a >= 0 {
			at[i] = places[a]
			none = none && at[i] < 0
		}
	}
	if c.at = at; none {
		c.node = nil
	}
}

// named returns the index of the element with a name in a list f of the message, -1 if there is none. It reports whether
// that is the same in all payloads.
func (n *node) named(f *node, step idf.NumberStep) (item int, ok bool) {
	beside := n.field(step.Names)
	if beside == nil || len(f.count.v) == 0 || !allEqual(f.count.v) {
		return 0, false
	}
	if !beside.asked {
		beside.asked, beside.ones = true, beside.constant()
	}
	if beside.ones == nil {
		return 0, false
	}
	if int64(len(beside.ones)) == f.count.v[0] {
		for i, name := range beside.ones {
			if string(name) == step.Name {
				return i, true
			}
		}
	}
	return -1, true
}

// constant returns the elements of a list of texts whose columns are unread, if all such lists are the same.
func (n *node) constant() [][]byte {
	if n.occurs != occursList || n.kind != kindText || n.rest != nil || len(n.count.v) == 0 || !allEqual(n.count.v) {
		return nil
	}
	ones := make([][]byte, len(n.elems))
	for i, e := range n.elems {
		at := e.unread.at
		var ok bool
		if e.unread.n == 0 {
			return nil
		}
		if ones[i], ok = at.OneText(); !ok {
			return nil
		}
	}
	return ones
}

// fill puts the numbers into the column of the rows.
func (c *numberColumn) fill(out [][]float64, row []int32, spare *leaves) (ok bool, err error) {
	if c.unnamed {
		for i, a := range c.at {
			if a >= 0 {
				out[row[i]][c.column] = idf.Unnamed()
			}
		}
		return true, nil
	}
	n := c.node
	if n == nil {
		return true, nil
	}
	inSeconds := n.kind == kindTime || n.kind == kindDuration
	if n.kind == kindMessage || n.kind == kindText || inSeconds != c.place.InSeconds() || n.kind.wire() != c.place.Wire() {
		return false, nil
	}
	if err := n.load(spare); err != nil {
		return false, err
	}
	for i, a := range c.at {
		if a < 0 {
			continue
		}
		var num uint64
		switch n.kind {
		case kindFloat, kindDouble:
			num = n.floats[a]
		case kindZigzag:
			num = protowire.EncodeZigZag(n.ints.v[a])
		default:
			num = uint64(n.ints.v[a])
		}
		out[row[i]][c.column] = c.place.Value(num)
	}
	return true, nil
}
