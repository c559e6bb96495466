package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// Times as people write them, the ruler, the next snapshot, and tasks that are given up.
func TestPageLibrary(t *testing.T) {
	inNode(t, "lib.mjs")
}

// encoded is an instance of a type of the memories that come with Engram.
func encoded(t *testing.T, name string, v map[string]any) engram.Instance {
	t.Helper()
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

// say has somebody say one thing after the other, which it returns.
func say(t *testing.T, srv func() *server.Server) func() string {
	said := 0
	return func() string {
		said++
		text := fmt.Sprintf("sentence %d.", said)
		testkit.Commit(t, srv(), engram.EntityUpdate{Entity: engram.MustID("Speech/Text/p/said"), Time: engram.Now(), Instances: []engram.Instance{encoded(t, "engram.speech.Text", map[string]any{"text": text})}})
		return text
	}
}

// Of many pages each is told what changes; a page that is hidden holds no connection. A server that is started anew
// between two looks is told of each time, and what was shown of the one before is gone. The address follows.
func TestPageFollows(t *testing.T) {
	testkit.Long(t)
	testkit.Node(t, "app", "playwright-core")
	var srv atomic.Pointer[server.Server]
	var h atomic.Pointer[rpc.Handler]
	start := func() {
		s := serving.New(t, memories.All()...)
		srv.Store(s)
		h.Store(rpc.NewHandler(s, nil, rpc.Options{Log: testkit.Quiet, Page: func(svc feature.Server) (http.Handler, []string) {
			return web.New(svc, web.Options{Log: testkit.Quiet}), web.Paths
		}}))
	}
	start()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Load().ServeHTTP(w, r) }))
	t.Cleanup(site.Close)

	// What skills did before.
	const past = 700
	var deeds []engram.EntityUpdate
	deed := func(i int) engram.EntityUpdate {
		return engram.EntityUpdate{Entity: engram.MustID(fmt.Sprintf("Skill/Execution/p/Deed-%d", i)), Time: engram.Now(), Instances: []engram.Instance{encoded(t, "engram.skill.Execution", map[string]any{"skill": fmt.Sprintf("Skill/Description/p/Deed%d", i)})}}
	}
	for i := range past {
		deeds = append(deeds, deed(i))
	}
	testkit.Commit(t, srv.Load(), deeds...)
	browser(t, "follow.mjs", site.URL, map[string]func() string{
		"say": say(t, srv.Load),
		"act": func() string {
			testkit.Commit(t, srv.Load(), deed(past))
			return "acted"
		},
		"restart": func() string {
			start()
			site.CloseClientConnections()
			return "restarted"
		},
	})
}

// Who may read, and is not told of changes, sees them all the same, and is told why they come slowly.
func TestPageIsNotTold(t *testing.T) {
	testkit.Long(t)
	testkit.Node(t, "app", "playwright-core")
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	_, unix := secured(t, deployment.New(t), srv, "rules: [{allow: read, to: guest, on: '*'}]")
	url, sessions := shown(t, serving.Dial(t, unix, rpc.DialOptions{}), "guest")
	next := say(t, func() *server.Server { return srv })
	var talking sync.WaitGroup
	t.Cleanup(talking.Wait) // the test's context has ended by then
	browser(t, "untold.mjs", url, map[string]func() string{
		"token": sessions.Token,
		"say":   next,
		"talk": func() string {
			talking.Go(func() {
				tick := time.NewTicker(200 * time.Millisecond)
				defer tick.Stop()
				for t.Context().Err() == nil {
					next()
					select {
					case <-tick.C:
					case <-t.Context().Done():
					}
				}
			})
			return "talking"
		},
	})
}
