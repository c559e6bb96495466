package codec

// HeldByColumns returns how many nodes of a decoder of columns hold a part of a message between two.
func HeldByColumns(d Decoder) (n int) {
	for _, node := range d.(*columnsDecoder).leaves.nodes {
		if node.unread.at.Data != nil || node.unread.at.Head != nil || node.unread.times != nil || node.ints.v != nil || node.floats != nil || node.count.v != nil || node.present.v != nil {
			n++
		}
	}
	return n
}
