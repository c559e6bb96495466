package pose

import "iter"

// framesPerPage is how many frames a page holds. A change of one copies its page and the list of pages, which is least where
// there are about as many pages as frames in one.
const framesPerPage = 128

type framePage [framesPerPage]*frame

// frameList has frames by their numbers. They lie in pages, which several lists share, so that a list that differs from
// another one in few of many frames costs few pages.
type frameList struct {
	pages []*framePage
	n     int
}

func (l *frameList) len() int { return l.n }

// at returns the frame of a number, which must be less than len.
func (l *frameList) at(id int32) *frame { return l.pages[id/framesPerPage][id%framesPerPage] }

// all visits the frames in the order of their numbers.
func (l *frameList) all() iter.Seq[*frame] {
	return func(yield func(*frame) bool) {
		for id := range int32(l.n) {
			if !yield(l.at(id)) {
				return
			}
		}
	}
}

// clone returns a list with the same frames, to be changed by set.
func (l *frameList) clone() frameList {
	return frameList{append(make([]*framePage, 0, len(l.pages)+1), l.pages...), l.n}
}

// set replaces a frame, or adds one with the number len. own has the pages that no other list shares, which may grow.
func (l *frameList) set(id int32, f *frame, own map[int32]bool) {
	page := id / framesPerPage
	if int(page) == len(l.pages) {
		l.pages = append(l.pages, new(framePage))
	} else if !own[page] {
		copied := *l.pages[page]
		l.pages[page] = &copied
	}
	own[page] = true
	l.pages[page][id%framesPerPage] = f
	l.n = max(l.n, int(id)+1)
}
