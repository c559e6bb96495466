package vector

import "encoding/binary"

// How texts are written.
const (
	textsSame    = iota // all are one text
	textsChosen         // some different ones, and which of them each is
	textsAll            // one after the other
	shortPlain   = 64   // shorter parts are not worth compressing
	textsMostSum = maxPlain
)

// AppendTexts appends a vector of texts, or of bytes of any kind.
func AppendTexts(dst []byte, v [][]byte) []byte {
	if len(v) == 0 {
		return appendBytes(append(dst, textsSame), nil)
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
		return appendBytes(append(dst, textsSame), v[0])
	case len(different) <= len(v)/2:
		dst = binary.AppendUvarint(append(dst, textsChosen), uint64(len(different)))
		return AppendInts(appendJoined(dst, different), which, nil)
	}
	return appendJoined(append(dst, textsAll), v)
}

// appendJoined writes lengths and all texts together, compressed if that helps.
func appendJoined(dst []byte, v [][]byte) []byte {
	lengths := make([]int64, len(v))
	var all []byte
	for i, t := range v {
		lengths[i] = int64(len(t))
		all = append(all, t...)
	}
	dst = AppendInts(dst, lengths, nil)
	if len(all) >= shortPlain {
		if packed := compress(all); len(packed) < len(all) {
			return appendBytes(append(dst, 1), packed)
		}
	}
	return appendBytes(append(dst, 0), all)
}

// Texts reads a vector of n texts and returns the bytes after it. The texts may
// share memory with b and with each other.
func Texts(b []byte, n int) (v [][]byte, rest []byte, err error) {
	r := reader{b: b}
	v = r.texts(n)
	return v, r.b, r.err
}

func (r *reader) texts(n int) [][]byte {
	if n > MaxCount {
		r.fail("%d elements; at most %d are allowed", n, MaxCount)
		return nil
	}
	switch kind := r.byte(); kind {
	case textsSame:
		t := r.bytes()
		v := make([][]byte, n)
		for i := range v {
			v[i] = t
		}
		return v
	case textsChosen:
		different := r.uvarint()
		if different > uint64(n) {
			r.fail("%d different texts among %d", different, n)
			return nil
		}
		texts := r.joined(int(different))
		which := make([]int64, n)
		if r.ints(which, nil); r.err != nil {
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
		return r.joined(n)
	default:
		r.fail("unknown kind %d of texts", kind)
		return nil
	}
}

func (r *reader) joined(n int) [][]byte {
	lengths := make([]int64, n)
	r.ints(lengths, nil)
	sum := int64(0)
	for _, l := range lengths {
		if l < 0 || l > textsMostSum || sum > textsMostSum {
			r.fail("a text of %d bytes", l)
			return nil
		}
		sum += l
	}
	compressed := r.byte()
	all := r.bytes()
	if r.err != nil {
		return nil
	}
	if compressed != 0 {
		var err error
		if all, err = decompress(all, int(sum)); err != nil {
			r.fail("%v", err)
			return nil
		}
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
