package ltm

import (
	"reflect"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/ltm/internal/catalogue"
)

// What the catalogue tells of entities and what episodes tell beside it comes together by name, in whatever order the episodes are asked.
func TestHeldTogether(t *testing.T) {
	span := func(from, to engram.Time) engram.Interval { return engram.Interval{Start: from, End: to} }
	beside := func(name string, snapshots uint64, span engram.Interval) (e episode.Entity) {
		e.ID, e.Type, e.Snapshots, e.Bytes, e.Span = engram.MustID("World/Item/plan/"+name), "beside", snapshots, 10, span
		return e
	}
	of := func(name, typ string, snapshots, inForce uint64, bytes int64, span engram.Interval) catalogue.Held {
		return catalogue.Held{Name: name, Type: typ, Snapshots: snapshots, InForce: inForce, Bytes: bytes, Span: span}
	}
	held := []catalogue.Held{of("b", "held", 1, 0, 1, span(5, 6)), of("d", "held", 2, 1, 2, span(5, 6))}
	want := []catalogue.Held{
		of("a", "beside", 3, 0, 10, span(1, 2)), of("b", "held", 12, 0, 21, span(3, 9)), of("c", "beside", 6, 0, 20, span(1, 8)),
		of("d", "held", 2, 1, 2, span(5, 6)), of("e", "beside", 5, 0, 10, span(2, 3)),
	}
	writing := []episode.Entity{beside("a", 3, span(1, 2)), beside("b", 4, span(3, 4)), beside("c", 2, span(7, 8)), beside("e", 5, span(2, 3))}
	apart := []episode.Entity{beside("b", 7, span(8, 9)), beside("c", 4, span(1, 2))}
	for _, all := range [][][]episode.Entity{{writing, apart}, {apart, nil, writing}} {
		if got := slices.Collect(together(held, all)); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
	if got := slices.Collect(together(held, nil)); !reflect.DeepEqual(got, held) {
		t.Errorf("of the catalogue alone %v", got)
	}
	for h := range together(nil, [][]episode.Entity{writing}) {
		if h.Name != "a" {
			t.Error("it goes on after its end")
		}
		break
	}
}
