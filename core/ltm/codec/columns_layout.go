package codec

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/internal/vector"
)

// append returns the tree's structure and the heads of its columns, compressed, and
// the columns' data. times are those of the payloads' snapshots; members that follow
// them cost nothing.
func (t *tree) append(times []int64, maxError float64) (structure, data []byte) {
	w := treeWriter{maxError: maxError}
	w.structure = binary.AppendUvarint(nil, uint64(len(t.roots)))
	w.ints(t.which, nil)
	w.vectors.Texts(t.kept)
	for i, r := range t.roots {
		w.body(r, t.timesOf(i, times))
	}
	t.changing = w.changing
	structure = binary.AppendUvarint(nil, uint64(len(w.structure)))
	return vector.Compress(append(append(structure, w.structure...), w.vectors.Head...)), w.vectors.Data
}

// timesOf returns the times of one root's payloads.
func (t *tree) timesOf(root int, times []int64) []int64 {
	var own []int64
	for i, w := range t.which {
		if w == int64(root)+1 {
			own = append(own, times[i])
		}
	}
	return own
}

type treeWriter struct {
	structure []byte
	vectors   vector.Writer
	maxError  float64
	changing  int
}

func (w *treeWriter) ints(v, reference []int64) {
	before := len(w.vectors.Data)
	w.vectors.Ints(v, reference)
	w.changed(before, len(v))
}

// changed counts the values of a vector that was written, if they are not constant.
func (w *treeWriter) changed(before, values int) {
	if len(w.vectors.Data) > before {
		w.changing += values
	}
}

// body writes the members of a message. times has the snapshots' time for each time
// the message occurs; nil if they do not belong to each other.
func (w *treeWriter) body(n *node, times []int64) {
	w.structure = binary.AppendUvarint(w.structure, uint64(len(n.fields)))
	for _, f := range n.fields {
		w.structure = binary.AppendUvarint(w.structure, uint64(f.number))
		w.structure = append(w.structure, byte(f.kind)|byte(f.occurs)<<4)
		switch f.occurs {
		case occursUnlessZero:
			w.value(f, times)
		case occursMaybe:
			w.ints(f.present.v, nil)
			if slices.Contains(f.present.v, 0) {
				w.value(f, nil)
			} else {
				w.value(f, times)
			}
		default:
			w.ints(f.count.v, nil)
			rest := byte(0)
			if f.rest != nil {
				rest = 1
			}
			w.structure = append(binary.AppendUvarint(w.structure, uint64(len(f.elems))), rest)
			for _, e := range f.elems {
				w.value(e, nil)
			}
			if f.rest != nil {
				w.value(f.rest, nil)
			}
		}
	}
}

func (w *treeWriter) value(n *node, times []int64) {
	before := len(w.vectors.Data)
	switch n.kind {
	case kindMessage:
		w.body(n, times)
	case kindText:
		w.vectors.Texts(n.texts)
	case kindFloat, kindDouble:
		w.vectors.Floats(n.floats, vector.FloatOptions{Single: n.kind == kindFloat, MaxError: w.maxError})
		w.changed(before, len(n.floats))
	default:
		w.ints(n.ints.v, times)
	}
}

// parseTree is the inverse of append. Of root i it reads what keep(i) keeps. With spare leaves the columns are left unread, see
// [node.load], but for those of presence and of counts, there is no node of what is not kept, and the tree is lost when the
// leaves are emptied. Errors are Corrupt.
func parseTree(structure, data []byte, times []int64, keep func(which []int64, root int) idf.Kept, spare *leaves) (*tree, error) {
	plain, err := vector.Decompress(structure, maxColumnsPlain, spare.room())
	if err != nil {
		return nil, err
	}
	r := treeReader{structure: plain, leaves: spare}
	length := r.uvarint()
	if length > uint64(len(r.structure)) {
		return nil, r.fail("its structure is cut")
	}
	r.vectors = vector.Reader{Head: r.structure[length:], Data: data}
	r.structure = r.structure[:length]
	t := &tree{}
	roots := r.uvarint()
	t.which = r.ints(len(times), nil)
	if roots > uint64(len(times)) || r.err != nil {
		return nil, r.fail("%d roots for %d payloads", roots, len(times))
	}
	counts := make([]int, roots+1)
	for _, w := range t.which {
		if w < 0 || w > int64(roots) {
			return nil, r.fail("root %d of %d", w, roots)
		}
		counts[w]++
	}
	t.kept = r.texts(counts[0])
	for i := range int(roots) {
		n, own := r.root(), times
		if counts[i+1] < len(times) {
			own = t.timesOf(i, times)
		}
		r.body(n, counts[i+1], own, 1, keep(t.which, i))
		t.roots = append(t.roots, n)
	}
	if spare != nil {
		spare.plain = plain
	}
	if left := len(r.structure) + len(r.vectors.Head) + len(r.vectors.Data); r.err == nil && left > 0 {
		r.fail("%d bytes too many", left)
	}
	return t, r.err
}

// treeReader reads a tree. After an error everything it reads is zero or empty.
type treeReader struct {
	structure []byte
	vectors   vector.Reader
	nodes     int
	values    int
	bytes     int     // of texts
	leaves    *leaves // where columns are left unread; nil where they are read
	err       error
}

// leaves has the nodes of a tree whose columns are left unread, and the memory of what is read of it. The next such tree
// takes them over: with many small messages most of the time would go into making them.
type leaves struct {
	nodes  []*node // those that are not in use are empty
	n      int     // of these in use
	plain  []byte  // the structure
	ints   []int64
	floats []uint64
}

// maxLeft bounds the bytes, and the values, of what leaves keep for the next tree.
const maxLeft = 16 << 10

// room returns room for a structure.
func (l *leaves) room() []byte {
	if l == nil {
		return nil
	}
	return l.plain
}

// unread is a column that was passed over: where it begins.
type unread struct {
	at    vector.Reader
	n     int
	times []int64
}

// root returns an empty node of a whole payload.
func (r *treeReader) root() *node { return r.node(kindMessage, idf.KeptWhole()) }

// node returns an empty node; nil if nothing of it is kept and columns are left unread.
func (r *treeReader) node(k kind, keep idf.Kept) *node {
	l := r.leaves
	if l == nil {
		return &node{kind: k, skip: !keep.Any()}
	}
	if !keep.Any() {
		return nil
	}
	if l.n == len(l.nodes) {
		l.nodes = append(l.nodes, &node{})
	}
	n := l.nodes[l.n]
	l.n++
	n.kind = k
	return n
}

// empty ends the use of the nodes, so that nothing of the message is held: a decoder that waits for its next one is not
// accounted for.
func (l *leaves) empty() {
	for _, n := range l.nodes[:l.n] {
		*n = node{fields: n.fields[:0], elems: n.elems[:0]}
	}
	if l.n = 0; len(l.nodes) > maxTreeNodes/4 {
		l.nodes = nil
	}
	l.plain, l.ints, l.floats = emptied(l.plain), emptied(l.ints), emptied(l.floats)
}

func emptied[T any](room []T) []T {
	if cap(room) > maxLeft {
		return nil
	}
	return room[:0]
}

// take returns n elements of a room, whose values are those of before.
func take[T any](room *[]T, n int) []T {
	if len(*room)+n > cap(*room) {
		*room = make([]T, 0, max(2*cap(*room), n))
	}
	at := len(*room)
	*room = (*room)[:at+n]
	return (*room)[at : at+n : at+n]
}

// leave passes over a column of n values, to be read by [node.load].
func (r *treeReader) leave(f *node, n int, times []int64) {
	f.unread = unread{r.vectors, n, times}
	r.pass(f.kind, n)
}

// load reads a column that was left unread, unless it was loaded. The error is Corrupt.
func (n *node) load(spare *leaves) error {
	if n.unread.n == 0 {
		return nil
	}
	r := treeReader{vectors: n.unread.at, leaves: spare}
	r.column(n, n.unread.n, n.unread.times)
	n.unread.n = 0
	return r.err
}

func (r *treeReader) fail(format string, args ...any) error {
	if r.err == nil {
		r.err = engram.Errorf(engram.Corrupt, ColumnsType, "a message is damaged: "+format, args...)
	}
	r.structure = nil
	return r.err
}

func (r *treeReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.structure)
	if n <= 0 {
		r.fail("its structure is cut")
		return 0
	}
	r.structure = r.structure[n:]
	return v
}

func (r *treeReader) byte() byte {
	if len(r.structure) == 0 {
		r.fail("its structure is cut")
		return 0
	}
	b := r.structure[0]
	r.structure = r.structure[1:]
	return b
}

// room reports whether n more values may be read.
func (r *treeReader) room(n int) bool {
	if r.err == nil && (n < 0 || n > vector.MaxCount || r.values+n > maxTreeValues) {
		r.fail("it has more than %d values", maxTreeValues)
	}
	r.values += n
	return r.err == nil
}

func (r *treeReader) ints(n int, reference []int64) []int64 {
	if !r.room(n) {
		return nil
	}
	var v []int64
	if r.leaves != nil {
		v = take(&r.leaves.ints, n)
	} else {
		v = make([]int64, n)
	}
	r.vectors.Ints(v, reference)
	r.check()
	return v
}

func (r *treeReader) texts(n int) [][]byte {
	if !r.room(n) {
		return nil
	}
	v := r.vectors.Texts(n)
	r.check()
	for _, text := range v {
		if r.bytes += len(text); r.bytes > maxColumnsPlain {
			r.fail("it has more than %d bytes of texts", maxColumnsPlain)
			return nil
		}
	}
	return v
}

func (r *treeReader) floats(n int, single bool) []uint64 {
	if !r.room(n) {
		return nil
	}
	var v []uint64
	if r.leaves != nil {
		v = take(&r.leaves.floats, n)
	} else {
		v = make([]uint64, n)
	}
	r.vectors.Floats(v, single)
	r.check()
	return v
}

// pass passes over a column of n values.
func (r *treeReader) pass(k kind, n int) {
	if !r.room(n) {
		return
	}
	switch k {
	case kindText:
		r.vectors.SkipTexts(n)
	case kindFloat, kindDouble:
		r.vectors.SkipFloats(n)
	default:
		r.vectors.SkipInts(n)
	}
	r.check()
}

func (r *treeReader) check() {
	if r.vectors.Err != nil {
		r.fail("%w", r.vectors.Err)
	}
}

// body reads the members of a message that occurs n times.
func (r *treeReader) body(m *node, n int, times []int64, depth int, keep idf.Kept) {
	fields := r.uvarint()
	r.room(n)
	if depth > maxTreeDepth || fields > 2*maxTreeNodes {
		r.fail("a message of %d members, %d deep", fields, depth)
	}
	for range fields {
		if r.err != nil {
			return
		}
		number, what := r.uvarint(), r.byte()
		k, occurs := kind(what&15), occurs(what>>4)
		if r.nodes++; r.nodes > 4*maxTreeNodes || number == 0 || number > uint64(protowire.MaxValidNumber) || k >= kinds ||
			occurs >= occurrences || k == kindMessage && occurs == occursUnlessZero || occurs == occursPacked && k.wire() == protowire.BytesType {
			r.fail("member %d of kind %d cannot be", number, what)
			return
		}
		kept := keep.Member(protowire.Number(number))
		f := r.node(k, kept)
		if f != nil {
			f.number, f.occurs = protowire.Number(number), occurs
			m.fields = append(m.fields, f)
		}
		switch occurs {
		case occursUnlessZero:
			r.value(f, k, n, times, depth, kept)
		case occursMaybe:
			present := r.ints(n, nil)
			if f != nil {
				f.present.v = present
			}
			there := 0
			for _, p := range present {
				if p != 0 {
					there++
				}
			}
			if there < n {
				r.value(f, k, there, nil, depth, kept)
			} else {
				r.value(f, k, n, times, depth, kept)
			}
		default:
			r.list(f, k, n, depth, kept)
		}
	}
}

// list reads a list that occurs n times.
func (r *treeReader) list(f *node, k kind, n, depth int, keep idf.Kept) {
	count := r.ints(n, nil)
	elems, rest := r.uvarint(), r.byte()
	if elems > maxListColumns || rest > 1 {
		r.fail("a list of %d columns", elems)
		return
	}
	var longer [maxListColumns + 1]int // how many lists have more than i elements; at the end, elements beyond all columns
	for at, c := range count {
		if c < 0 || c > vector.MaxCount || rest == 0 && c > int64(elems) {
			r.fail("a list of %d elements", c)
			return
		}
		times := 1
		if at == 0 && allEqual(count) { // as is usual
			times = n
		}
		for i := range min(uint64(c), elems) {
			longer[i] += times
		}
		longer[elems] += times * int(max(c-int64(elems), 0))
		if longer[elems] > vector.MaxCount {
			r.fail("lists of %d elements", longer[elems])
			return
		}
		if times == n {
			break
		}
	}
	if f != nil {
		f.count.v = count
	}
	for i := range elems + uint64(rest) {
		if r.err != nil {
			return
		}
		r.nodes++
		kept := keep.Item(int(i))
		if i == elems && keep.Beyond(int(i)) {
			kept = idf.KeptWhole()
		}
		e := r.node(k, kept)
		r.value(e, k, longer[i], nil, depth, kept)
		switch {
		case f == nil:
		case i < elems:
			f.elems = append(f.elems, e)
		default:
			f.rest = e
		}
	}
}

// value reads the column of a scalar, or the members of a message; f is nil if it is not kept.
func (r *treeReader) value(f *node, k kind, n int, times []int64, depth int, keep idf.Kept) {
	switch {
	case k == kindMessage:
		r.body(f, n, times, depth+1, keep)
	case f == nil || f.skip:
		r.pass(k, n)
	case r.leaves != nil:
		r.leave(f, n, times)
	default:
		r.column(f, n, times)
	}
}

// column reads the column of a scalar.
func (r *treeReader) column(f *node, n int, times []int64) {
	switch f.kind {
	case kindText:
		f.texts = r.texts(n)
	case kindFloat, kindDouble:
		f.floats = r.floats(n, f.kind == kindFloat)
	default:
		f.ints.v = r.ints(n, times)
	}
}
