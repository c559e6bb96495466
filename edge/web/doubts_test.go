package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Why nothing satisfies a condition is told where types tell it: of a member that no type has that is asked of, whatever
// others have, with the name that was meant. What is of no type has no say.
func TestDoubts(t *testing.T) {
	srv := serving.New(t, memories.All()...)
	p := open(t, srv)
	if err := srv.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Odd")}); err != nil {
		t.Fatal(err)
	}
	now := engram.Now()
	testkit.Commit(t, srv,
		engram.EntityUpdate{Entity: engram.MustID("Speech/Text/p/said"), Time: now, Instances: []engram.Instance{encoded(t, "engram.speech.Text", map[string]any{"text": "x"})}},
		engram.EntityUpdate{Entity: engram.MustID("Object/Instance/p/cup"), Time: now, Instances: []engram.Instance{encoded(t, "engram.object.Instance", map[string]any{"frame_id": "map"})}},
		engram.EntityUpdate{Entity: engram.MustID("GeneralPurpose/Odd/p/x"), Time: now, Instances: []engram.Instance{engram.NewInstance(engram.Payload{})}},
	)
	for _, c := range []struct{ pattern, where, want string }{
		{"", "txet == 'x'", `no member txet, nor has any other type that it is asked of; did you mean "text"?`},
		{"", "text == 'y'", ""},
		{"Object/Instance/p/cup", "text == 'y'", "no member text"},
		{"Object", "payload.pose.positon.x > 1.0", `did you mean "position"?`},
		{"", "confidense < 0.5", `did you mean "confidence"?`},
		{"GeneralPurpose", "whatever == 1", ""},
		{"Nothing", "whatever == 1", ""},
	} {
		got := read[struct{ Why string }](p, "doubts", "pattern", c.pattern, "where", c.where).Why
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s of %q: %q, want %q", c.where, c.pattern, got, c.want)
		}
	}
	p.refused(http.StatusBadRequest, "doubts", "where", "text ==")
	p.refused(http.StatusBadRequest, "doubts", "where", "true", "pattern", "~(")
}
