package vector

import "slices"

// How texts are written.
const (
	textsSame   = iota // all are one text
	textsChosen        // some different ones, and which of them each is
	textsAll           // one after the other
)

// Where the bytes of texts are.
const (
	joinedHead   = iota
	joinedPlain  // in the data
	joinedPacked // in the data, compressed
)

// shortTexts is how long texts are that stand in the heads.
const shortTexts = 4096

// Texts writes a vector of texts, or of bytes of any kind.
func (w *Writer) Texts(v [][]byte) {
	if len(v) == 0 {
		return
	}
	index := map[string]int64{}
	which := make([]int64, len(v))
	var different [][]byte
	for i, t := range v {
		n, ok := index[string(t)]
		if !ok {
			n = int64(len(different))
			index[string(t)] = n
			different = append(different, t)
		}
		which[i] = n
	}
	switch {
	case len(different) == 1:
		w.byte(textsSame)
		w.joined(v[:1])
	case len(different) <= len(v)/2:
		w.byte(textsChosen)
		w.uvarint(uint64(len(different)))
		w.joined(different)
		w.Ints(which, nil)
	default:
		w.byte(textsAll)
		w.joined(v)
	}
}

// joined writes lengths and all texts together: short ones into the heads, long ones
// into the data, compressed if that helps.
func (w *Writer) joined(v [][]byte) {
	lengths := make([]int64, len(v))
	var all []byte
	for i, t := range v {
		lengths[i] = int64(len(t))
		all = append(all, t...)
	}
	w.Ints(lengths, nil)
	if len(all) <= shortTexts {
		w.byte(joinedHead)
		w.Head = append(w.Head, all...)
		return
	}
	if packed := Compress(all); len(packed) < len(all) {
		w.byte(joinedPacked)
		w.data(packed)
		return
	}
	w.byte(joinedPlain)
	w.data(all)
}

// Texts reads a vector of n texts. They may share memory with what is read, and with
// each other.
func (r *Reader) Texts(n int) [][]byte { return r.texts(n, false) }

// SkipTexts passes over a vector of n texts.
func (r *Reader) SkipTexts(n int) { r.texts(n, true) }

// OneText reads a vector of texts that are all one. Ok is false for others, of which nothing is read.
func (r *Reader) OneText() (text []byte, ok bool) {
	if len(r.Head) == 0 || r.Head[0] != textsSame {
		return nil, false
	}
	r.byte()
	if t := r.joined(1, false); t != nil {
		return t[0], true
	}
	return nil, false
}

// texts returns nil for texts that are skipped.
func (r *Reader) texts(n int, skip bool) [][]byte {
	if n > MaxCount {
		r.fail("%d elements; at most %d are allowed", n, MaxCount)
		return nil
	}
	if n == 0 {
		return nil
	}
	switch kind := r.byte(); kind {
	case textsSame:
		t := r.joined(1, skip)
		if t == nil {
			return nil
		}
		return slices.Repeat(t, n)
	case textsChosen:
		different := r.uvarint()
		if different > uint64(n) {
			r.fail("%d different texts among %d", different, n)
			return nil
		}
		texts := r.joined(int(different), skip)
		if skip {
			r.SkipInts(n)
			return nil
		}
		which := make([]int64, n)
		if r.Ints(which, nil); r.Err != nil {
			return nil
		}
		v := make([][]byte, n)
		for i, w := range which {
			if w < 0 || w >= int64(len(texts)) {
				r.fail("text %d of %d", w, len(texts))
				return nil
			}
			v[i] = texts[w]
		}
		return v
	case textsAll:
		return r.joined(n, skip)
	default:
		r.fail("unknown kind %d of texts", kind)
		return nil
	}
}

func (r *Reader) joined(n int, skip bool) [][]byte {
	lengths := make([]int64, n)
	r.Ints(lengths, nil)
	sum := int64(0)
	for _, l := range lengths {
		if l < 0 || l > maxPlain || sum > maxPlain {
			r.fail("a text of %d bytes", l)
			return nil
		}
		sum += l
	}
	var all []byte
	switch where := r.byte(); where {
	case joinedHead:
		if sum > int64(len(r.Head)) {
			r.fail("texts of %d bytes are cut", sum)
			return nil
		}
		all, r.Head = r.Head[:sum], r.Head[sum:]
	case joinedPlain:
		all = r.data()
	case joinedPacked:
		packed := r.data()
		if skip || r.Err != nil {
			return nil
		}
		var err error
		if all, err = decompress(packed, int(sum), nil); err != nil {
			r.fail("%v", err)
		}
	default:
		r.fail("texts in unknown place %d", where)
	}
	if skip || r.Err != nil {
		return nil
	}
	if sum != int64(len(all)) {
		r.fail("texts of %d bytes in %d", sum, len(all))
		return nil
	}
	v := make([][]byte, n)
	for i, l := range lengths {
		v[i], all = all[:l:l], all[l:]
	}
	return v
}
