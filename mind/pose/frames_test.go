package pose

import (
	"fmt"
	"testing"
)

// A change of one frame of many shares all pages but that frame's with what was believed before, which stays as it was.
func TestChangeCopiesOnePage(t *testing.T) {
	const pages = 5
	s := New(Config{})
	for i := range pages*framesPerPage - 1 { // and the parent: all pages are full
		if _, err := s.Retrace(fmt.Sprint("item", i), []Span{{Parent: "room", Samples: []Sample{{Time: 1, Pose: Translation(1, 0, 0)}}}}); err != nil {
			t.Fatal(err)
		}
	}
	was := s.states.now().content
	id, _ := s.frameID(was, "item200")
	before := was.frames.at(id)
	moved := []Span{{Parent: "room", Samples: []Sample{{Time: 1, Pose: Translation(2, 0, 0)}}}}
	if _, err := s.Retrace("item200", moved); err != nil {
		t.Fatal(err)
	}
	now := s.states.now().content
	if was.frames.at(id) != before || now.frames.at(id) == before {
		t.Error("the change is of what was believed before, too, or of nothing")
	}
	for i := range now.frames.pages {
		if shared := now.frames.pages[i] == was.frames.pages[i]; shared == (i == int(id)/framesPerPage) {
			t.Errorf("page %d of %d is shared: %v; the frame %d was changed", i, pages, shared, id)
		}
	}
	if _, err := s.Retrace("another", moved); err != nil {
		t.Fatal(err)
	}
	if n := s.states.now().content.frames.len(); was.frames.len() != pages*framesPerPage || len(was.frames.pages) != pages || n != pages*framesPerPage+1 {
		t.Errorf("%d frames in %d pages before, %d after one was added", was.frames.len(), len(was.frames.pages), n)
	}
	i := 0
	for f := range s.states.now().content.frames.all() {
		if f != s.states.now().content.frames.at(int32(i)) {
			t.Fatalf("frame %d is visited out of turn", i)
		}
		i++
	}
	if i != pages*framesPerPage+1 {
		t.Errorf("%d frames are visited", i)
	}
}

// A change that is refused leaves what is believed as it was.
func TestRefusedChangeLeavesFrames(t *testing.T) {
	s := New(Config{})
	if _, err := s.Retrace("cup", []Span{{Parent: "table"}}); err != nil {
		t.Fatal(err)
	}
	was := s.states.now().content.frames
	frames := [2]*frame{was.at(0), was.at(1)}
	if _, err := s.Retrace("table", []Span{{Parent: "plate"}, {From: 5, Parent: "cup"}}); err == nil {
		t.Fatal("a loop was made")
	}
	if now := s.states.now().content.frames; now.len() != 2 || [2]*frame{now.at(0), now.at(1)} != frames || now.pages[0] != was.pages[0] {
		t.Error("it has changed")
	}
}
