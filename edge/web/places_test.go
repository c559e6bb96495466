package web_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// Where addresses and IDs lead to in a browser, also where it is not there.
func TestPlaces(t *testing.T) {
	testkit.Long(t)
	srv, _ := living(t, 400)
	at := engram.Now()
	for _, entity := range []string{"Vision/ImageRGB/me/eye", "Vision/ImageRGB/me/other"} {
		testkit.Commit(t, srv, message(t, entity, at, &foxglovepb.RawImage{FrameId: "eye", Width: 2, Height: 2, Encoding: "rgb8", Step: 6, Data: make([]byte, 12)}))
	}
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "places.mjs", url, map[string]func() string{"taken": func() string {
		return strings.TrimSuffix(at.String(), "Z")
	}})
}
