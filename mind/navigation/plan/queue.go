package plan

// item is a cell that waits to be expanded.
type item struct{ x, y int32 }

// queue is a queue of cells by cost, in buckets of costs that are about the same. What was pushed
// last into a bucket comes first, so that of many paths as good one is followed to its end.
type queue struct {
	buckets [buckets][]item // those of a range of costs, around which they go
	width   float64         // of a bucket, in cells
	first   int             // no bucket below it has items
	items   int
}

// buckets is a power of two, so that a bucket is found without a division.
const buckets = 4096

// finest is the least width of a bucket, in cells. Narrower ones come to the same with more of them
// empty; with wider ones more cells are expanded twice.
const finest = 0.25

// reset empties the queue for costs of at least so much, which are never farther apart than that.
func (q *queue) reset(least, apart float64) {
	for i := range q.buckets {
		q.buckets[i] = q.buckets[i][:0]
	}
	q.width, q.items = max(finest, apart/(buckets-2)), 0
	q.first = int(least / q.width)
}

func (q *queue) push(i item, cost float64) {
	b := &q.buckets[max(int(cost/q.width), q.first)%buckets]
	*b = append(*b, i)
	q.items++
}

// pop returns a cell of about the least cost; ok is false if there is none below so much.
func (q *queue) pop(below float64) (i item, ok bool) {
	for ; q.items > 0 && float64(q.first)*q.width < below; q.first++ {
		b := &q.buckets[q.first%buckets]
		if last := len(*b) - 1; last >= 0 {
			i, *b = (*b)[last], (*b)[:last]
			q.items--
			return i, true
		}
	}
	return i, false
}
