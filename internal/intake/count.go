package intake

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// Limit bounds one message. Zero fields bound nothing.
type Limit struct {
	Values int   // messages, list items and map entries, at any depth
	Heap   int64 // bytes that they take when they are decoded
}

// maxDepth is how deep messages may lie in each other: payloads given as JSON take two
// or three levels for each of theirs.
const maxDepth = 400

// Count is what decoding a message would make.
type Count struct {
	Values int
	Heap   int64 // bytes
}

// Wire counts a message of s in its wire form. The error is Exhausted if it goes beyond
// the limit or lies too deep. Bytes that are no message end the count, as they end their
// decoding.
func (s *Shape) Wire(b []byte, limit Limit) (Count, error) {
	c := counter{limit: limit}
	c.add(0, s.weight)
	c.message(s, b, 1)
	return c.Count, c.result(s)
}

// counter counts up to a limit.
type counter struct {
	Count
	limit Limit
	depth bool // it lies too deep
	ended bool // there is no more to be decoded
}

// add counts values, and returns whether to go on.
func (c *counter) add(values int, heap int64) bool {
	c.Values += values
	c.Heap += heap
	c.ended = c.ended || c.over()
	return !c.ended
}

func (c *counter) over() bool {
	return c.limit.Values > 0 && c.Values > c.limit.Values || c.limit.Heap > 0 && c.Heap > c.limit.Heap
}

func (c *counter) result(s *Shape) error {
	switch {
	case c.depth:
		return engram.Errorf(engram.Exhausted, "", "a %s lies over %d messages deep; make it flatter", s.name.Name(), maxDepth)
	case c.limit.Values > 0 && c.Values > c.limit.Values:
		return engram.Errorf(engram.Exhausted, "", "a %s has over %d values (messages, items of lists and maps); split it", s.name.Name(), c.limit.Values)
	case c.limit.Heap > 0 && c.Heap > c.limit.Heap:
		return engram.Errorf(engram.Exhausted, "", "a %s takes over %d bytes to decode; split it", s.name.Name(), c.limit.Heap)
	}
	return nil
}

func (c *counter) message(s *Shape, b []byte, depth int) {
	if depth > maxDepth {
		c.depth, c.ended = true, true
		return
	}
	for len(b) > 0 && !c.ended {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			c.ended = true
			return
		}
		value := b[n:]
		f := s.field(number)
		switch {
		case wire == protowire.BytesType:
			var content []byte
			if content, n = protowire.ConsumeBytes(value); n >= 0 {
				c.delimited(f, content, depth)
			}
		case wire == protowire.StartGroupType:
			if n = protowire.ConsumeFieldValue(number, wire, value); n < 0 {
				break
			}
			if f.kind == fieldGroup {
				c.add(1, f.sub.weight+f.item)
				c.message(f.sub, value[:n], depth+1)
			} else {
				c.add(1, 2*int64(n)+header)
			}
		default:
			if n = protowire.ConsumeFieldValue(number, wire, value); n >= 0 {
				c.add(1, max(f.item, 2*int64(n)+pointer))
			}
		}
		if n < 0 {
			c.ended = true
			return
		}
		b = value[n:]
	}
}

// delimited counts a value that says how long it is.
func (c *counter) delimited(f field, b []byte, depth int) {
	n := int64(len(b))
	switch f.kind {
	case fieldMessage:
		if c.add(1, f.sub.weight+f.item) {
			c.message(f.sub, b, depth+1)
		}
	case fieldBytes:
		c.add(1, f.item+n+n/8+pointer)
	case fieldVarint:
		c.packed(varints(b), f.item)
	case fieldFixed32:
		c.packed(len(b)/4, f.item)
	case fieldFixed64:
		c.packed(len(b)/8, f.item)
	default: // unknown ones are kept as they are, in what grows by doubling
		c.add(1, 2*n+pointer)
	}
}

// packed counts a packed list: one value, as its items take no more than a few times
// their bytes.
func (c *counter) packed(items int, item int64) {
	c.add(1, header+int64(items)*item)
}

// varints returns how many numbers a packed list has.
func varints(b []byte) int {
	n := 0
	for _, x := range b {
		if x < 0x80 {
			n++
		}
	}
	return n
}

// JSON counts a message of s in protobuf's JSON, by its structure alone: each object
// counts as the heaviest message that may lie in s. Text that is no JSON is counted as
// far as its brackets, commas and quotes go.
func (s *Shape) JSON(b []byte, limit Limit) (Count, error) {
	c := counter{limit: limit}
	c.add(0, s.weight)
	depth, text := 0, 0
	for i := 0; i < len(b) && !c.ended; i++ {
		switch b[i] {
		case '"':
			end := quoted(b[i+1:])
			text += end
			i += end + 1
		case '{':
			depth++
			c.add(1, s.heaviest+pointer)
		case '[':
			depth++
			c.add(1, jsonValue)
		case ',':
			c.add(1, jsonValue)
		case '}', ']':
			depth--
		}
		if depth > maxDepth/2 {
			c.depth, c.ended = true, true
		}
	}
	if !c.ended {
		c.add(0, 2*int64(text))
	}
	return c.Count, c.result(s)
}

// quoted returns how long the text up to the next quotation mark is.
func quoted(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(b)
}

// Bytes counts a message of which nothing is known but its length.
func Bytes(b []byte) Count { return Count{Values: 1, Heap: min(4*int64(len(b)), math.MaxInt64/2)} }
