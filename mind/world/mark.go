package world

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

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
