package web_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Whatever is in the memory, the page shows it as text, cuts what is long, and stays quick among many entities.
func TestPageOfOddThings(t *testing.T) {
	testkit.Long(t)
	testkit.Node(t, "app", "playwright-core")
	srv := serving.New(t, memories.All()...)
	encode := func(name string, v map[string]any) engram.Instance {
		typ, ok := memories.Type(name)
		if !ok {
			t.Fatalf("there is no type %s", name)
		}
		b, err := typ.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return engram.NewInstance(engram.Payload{Type: name, Bytes: b})
	}
	say := func(entity, text string) engram.EntityUpdate {
		id, err := engram.NewID("Speech", "Text", "Evil", entity)
		if err != nil {
			t.Fatal(err)
		}
		return engram.EntityUpdate{Entity: id, Time: engram.Now(), Instances: []engram.Instance{encode("engram.speech.Text", map[string]any{"text": text})}}
	}
	testkit.Commit(t, srv,
		say("<img src=x onerror=alert(1)>", `<script>alert("x")</script><img src=x onerror=alert(2)>`),
		engram.EntityUpdate{Entity: engram.MustID("Example/ExampleData/Evil/odd"), Time: engram.Now(), Instances: []engram.Instance{
			encode("engram.example.ExampleData", map[string]any{"the_double": math.NaN(), "the_float": math.Inf(-1), "the_long": int64(math.MaxInt64)}),
		}})
	if err := srv.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("GeneralPurpose/Many")}); err != nil {
		t.Fatal(err)
	}
	long := say("x", strings.Repeat("a", 10_000_000))
	long.Entity = engram.MustID("GeneralPurpose/Many/Evil/long")
	testkit.Commit(t, srv, long)
	var crowd []engram.EntityUpdate
	for i := range 10_000 {
		u := say("x", fmt.Sprint(i))
		u.Entity = engram.MustID(fmt.Sprintf("GeneralPurpose/Many/Crowd/entity-%05d", i))
		crowd = append(crowd, u)
	}
	testkit.Commit(t, srv, crowd...)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "hostile.mjs", url, nil)
}
