package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// What values, names and commands look like: nothing is left out, and names stay one name.
func TestValues(t *testing.T) {
	inNode(t, "values.mjs")
}

// Table, Diff, inspector, tree and search show what is there, live: zeros, long texts, odd names, many entities; and
// nothing of one entity or condition under the name of another.
func TestValuesInTheBrowser(t *testing.T) {
	testkit.Long(t)
	testkit.Node(t, "app", "playwright-core")
	srv := serving.New(t, memories.All()...)
	for _, segment := range []string{"Odd", "Many"} {
		if err := srv.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/" + segment)}); err != nil {
			t.Fatal(err)
		}
	}
	at := engram.Now().Add(-48 * time.Hour)
	say := func(entity, name string, values ...map[string]any) engram.EntityUpdate {
		typ, ok := memories.Type(name)
		if !ok {
			t.Fatalf("there is no type %s", name)
		}
		at = at.Add(time.Second)
		u := engram.EntityUpdate{Entity: engram.MustID(entity), Time: at}
		for _, v := range values {
			b, err := typ.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			u.Instances = append(u.Instances, engram.NewInstance(engram.Payload{Type: name, Bytes: b}))
		}
		return u
	}
	text := func(s string) map[string]any { return map[string]any{"text": s} }
	point := func(x float64) engram.EntityUpdate {
		at = at.Add(time.Second)
		return message(t, "GeneralPurpose/Odd/me/point", at, &foxglovepb.Vector3{X: x})
	}
	numbers := func(by int) engram.EntityUpdate {
		list := make([]any, 300_000)
		for i := range list {
			list[i] = int32(i * by)
		}
		return say("Example/ExampleData/me/numbers", "engram.example.ExampleData", map[string]any{"the_list": list})
	}
	testkit.Commit(t, srv,
		point(1),
		say("GeneralPurpose/Odd/me/two", "engram.speech.Text", text("first of two"), text("second of two")),
		say(`GeneralPurpose/Odd/me/a\/b`, "engram.speech.Text", text(strings.Repeat("long ", 1000)+"the end")),
		say("GeneralPurpose/Odd/me/~p.*", "engram.speech.Text", text("odd")),
		say("Speech/Text/me/said", "engram.speech.Text", text("this is cup (1)")),
		say("Example/ExampleData/me/data", "engram.example.ExampleData", map[string]any{}),
		say("Example/ExampleData/me/data", "engram.example.ExampleData", map[string]any{"the_int": int32(1)}),
		numbers(1), numbers(2),
		message(t, "Vision/ImageRGB/me/eye", at, &foxglovepb.RawImage{FrameId: "eye", Width: 2, Height: 2, Encoding: "rgb8", Step: 6, Data: make([]byte, 12)}),
	)
	var crowd []engram.EntityUpdate
	for i := range 2100 {
		crowd = append(crowd, say(fmt.Sprintf("GeneralPurpose/Many/crowd/%04d", i), "engram.speech.Text", text("one of many")))
	}
	testkit.Commit(t, srv, crowd...)

	count := func(at engram.Time) engram.EntityUpdate {
		u := say("Example/ExampleData/me/data", "engram.example.ExampleData", map[string]any{"the_int": int32(2)})
		u.Time = at
		return u
	}
	x := 1.0
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "views.mjs", url, map[string]func() string{
		"move": func() string {
			x++
			testkit.Commit(t, srv, point(x))
			return fmt.Sprint(x)
		},
		"now": func() string {
			now := engram.Now()
			testkit.Commit(t, srv, count(now))
			return fmt.Sprint(int64(now))
		},
		"late": func() string {
			now := engram.Now()
			testkit.Commit(t, srv, count(now), count(now.Add(-10*time.Second)))
			return fmt.Sprint(int64(now.Add(-10 * time.Second)))
		},
		"crowd": func() string {
			u := say("GeneralPurpose/Many/crowd/0007", "engram.speech.Text", text("again"))
			u.Time = engram.Now()
			testkit.Commit(t, srv, u)
			return "said"
		},
	})
}
