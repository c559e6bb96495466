package knowledge

import "slices"

// key is a triple of names in the order of an index.
type key [3]uint32

func (k key) less(other key) bool {
	if a, b := uint64(k[0])<<32|uint64(k[1]), uint64(other[0])<<32|uint64(other[1]); a != b {
		return a < b
	}
	return k[2] < other[2]
}

// chunkSize is how many keys a chunk has at most: a change moves half of them.
const chunkSize = 256

// index is a sorted set of keys, in chunks whose first keys lie side by side. What forks
// share is copied before it is changed.
type index struct {
	firsts []key
	chunks [][]key
	own    []bool // which chunks no fork has; nil if forks have all, and firsts and chunks too
}

// change returns a chunk that may be changed.
func (x *index) change(c int) []key {
	if x.own == nil {
		x.firsts, x.chunks, x.own = slices.Clone(x.firsts), slices.Clone(x.chunks), make([]bool, len(x.chunks))
	}
	if !x.own[c] {
		chunk := make([]key, len(x.chunks[c]), min(len(x.chunks[c])+chunkSize/4, chunkSize))
		copy(chunk, x.chunks[c])
		x.chunks[c], x.own[c] = chunk, true
	}
	return x.chunks[c]
}

// chunk returns the last chunk that begins with k or before, else the first.
func (x *index) chunk(k key) int {
	low, high := 0, len(x.firsts)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if k.less(x.firsts[middle]) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(low-1, 0)
}

// place returns where k is or would be in a chunk.
func place(chunk []key, k key) int {
	low, high := 0, len(chunk)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if chunk[middle].less(k) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (x *index) has(k key) bool {
	if len(x.chunks) == 0 {
		return false
	}
	chunk := x.chunks[x.chunk(k)]
	i := place(chunk, k)
	return i < len(chunk) && chunk[i] == k
}

// add adds a key that is not there.
func (x *index) add(k key) {
	if len(x.chunks) == 0 {
		x.firsts, x.chunks, x.own = []key{k}, [][]key{{k}}, []bool{true}
		return
	}
	c := x.chunk(k)
	chunk := x.change(c)
	i := place(chunk, k)
	if len(chunk) == chunkSize {
		half := chunkSize / 2
		if i == chunkSize && c == len(x.chunks)-1 {
			half = chunkSize // keys that come in order fill whole chunks
		}
		right := slices.Clone(chunk[half:])
		chunk = chunk[:half]
		x.chunks[c] = chunk
		if i > half || half == chunkSize {
			right = slices.Insert(right, i-half, k)
		} else {
			chunk = slices.Insert(chunk, i, k)
			x.chunks[c], x.firsts[c] = chunk, chunk[0]
		}
		x.chunks = slices.Insert(x.chunks, c+1, right)
		x.firsts = slices.Insert(x.firsts, c+1, right[0])
		x.own = slices.Insert(x.own, c+1, true)
		return
	}
	chunk = slices.Insert(chunk, i, k)
	x.chunks[c], x.firsts[c] = chunk, chunk[0]
}

// remove takes away a key that is there. Neighbours that have become small are
// joined.
func (x *index) remove(k key) {
	c := x.chunk(k)
	chunk := x.change(c)
	i := place(chunk, k)
	chunk = slices.Delete(chunk, i, i+1)
	x.chunks[c] = chunk
	if len(chunk) > 0 {
		x.firsts[c] = chunk[0]
	}
	if len(chunk) > chunkSize/4 {
		return
	}
	for _, left := range [2]int{c, c - 1} {
		if left < 0 || left+1 >= len(x.chunks) || len(x.chunks[left])+len(x.chunks[left+1]) > chunkSize*3/4 {
			continue
		}
		joined := append(x.change(left), x.chunks[left+1]...)
		x.chunks[left] = joined
		if len(joined) > 0 {
			x.firsts[left] = joined[0]
		}
		x.delete(left + 1)
		return
	}
	if len(chunk) == 0 {
		x.delete(c)
	}
}

func (x *index) delete(c int) {
	x.chunks = slices.Delete(x.chunks, c, c+1)
	x.firsts = slices.Delete(x.firsts, c, c+1)
	x.own = slices.Delete(x.own, c, c+1)
}

// scan yields, in order, the keys whose first n names are those of k.
func (x *index) scan(k key, n int, yield func(key) bool) bool {
	if len(x.chunks) == 0 {
		return true
	}
	for i := n; i < 3; i++ {
		k[i] = 0
	}
	c := x.chunk(k)
	for from := place(x.chunks[c], k); ; from = 0 {
		for _, found := range x.chunks[c][from:] {
			if n > 0 && found[0] != k[0] || n > 1 && found[1] != k[1] {
				return true
			}
			if !yield(found) {
				return false
			}
		}
		if c++; c == len(x.chunks) {
			return true
		}
	}
}

// firstsOf yields each first name of the keys once, in order.
func (x *index) firstsOf(yield func(uint32) bool) bool {
	next := key{}
	for c := 0; c < len(x.chunks); {
		chunk := x.chunks[c]
		i := place(chunk, next)
		if i == len(chunk) {
			c++
			continue
		}
		if !yield(chunk[i][0]) {
			return false
		}
		if next = (key{chunk[i][0] + 1}); next[0] == 0 {
			return true
		}
		c = max(c, x.chunk(next))
	}
	return true
}
