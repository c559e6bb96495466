package follow

import (
	"strconv"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
)

// Mark is a point in the writes of a server: an epoch of it, and the number of an update. It
// means the same in every process and on every robot. The zero mark is before all writes.
type Mark struct{ Epoch, Number uint64 }

// String returns the mark as [ParseMark] reads it: the epoch in hexadecimal digits, a colon
// and the number.
func (m Mark) String() string {
	return strconv.FormatUint(m.Epoch, 16) + ":" + strconv.FormatUint(m.Number, 10)
}

// ParseMark reads the text of a mark. The error is Invalid if it is none.
func ParseMark(text string) (Mark, error) {
	epoch, number, _ := strings.Cut(text, ":")
	e, err := strconv.ParseUint(epoch, 16, 64)
	n, err2 := strconv.ParseUint(number, 10, 64)
	if err != nil || err2 != nil {
		return Mark{}, engram.Errorf(engram.Invalid, text, "it is not a mark; give what a write has returned, such as 5f3a90c2d1e0b744:17")
	}
	return Mark{e, n}, nil
}

// Marks say how far a view has come, and wake who waits for more. The zero value has come
// nowhere. All methods are safe for concurrent use.
type Marks struct {
	mu      sync.Mutex
	reached map[uint64]uint64 // by epoch: the number up to which the view has all
	news    chan struct{}     // closed at the next change; nil while nobody has asked for it
	ended   error
}

// Reach says that a view has all up to marks, or without any that it has changed.
func (m *Marks) Reach(marks ...Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reached == nil {
		m.reached = map[uint64]uint64{}
	}
	for _, to := range marks {
		if to.Epoch != 0 {
			m.reached[to.Epoch] = max(m.reached[to.Epoch], to.Number)
		}
	}
	m.wakeLocked()
}

// End says that nothing new comes, and why.
func (m *Marks) End(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended == nil {
		m.ended = why
	}
	m.wakeLocked()
}

func (m *Marks) wakeLocked() {
	if m.news != nil {
		close(m.news)
		m.news = nil
	}
}

// Has reports whether the view has all that was written up to a mark.
func (m *Marks) Has(mark Mark) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return mark.Number == 0 || mark.Epoch != 0 && m.reached[mark.Epoch] >= mark.Number
}

// Knows reports whether the view has anything that was written in an epoch.
func (m *Marks) Knows(epoch uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reached[epoch] > 0
}

// News returns a channel that is closed at the next change, and why none comes any more; nil
// before that.
func (m *Marks) News() (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.news == nil {
		m.news = make(chan struct{})
	}
	return m.news, m.ended
}
