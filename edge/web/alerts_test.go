package web_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What is amiss is told above whatever view one looks at, with what to do, as long as it is.
func TestAlerts(t *testing.T) {
	testkit.Long(t)
	srv, rest := living(t, 100)
	var full atomic.Bool
	operations := http.NewServeMux()
	operations.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !full.Load() {
			_, _ = io.WriteString(w, `{"status":"ok","checks":[{"check":"disk","status":"ok"}]}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":"failed","checks":[{"check":"disk","status":"failed","reason":"it is full"}]}`)
	})
	h := serving.Serve(t, srv, nil, rpc.Options{Operations: operations, Page: func(svc feature.Server) (http.Handler, []string) {
		return web.New(svc, web.Options{Log: testkit.Quiet}), web.Paths
	}}, "")
	browser(t, "alerts.mjs", h.Address, map[string]func() string{
		"rest": rest,
		"refuse": func() string {
			u := engram.EntityUpdate{Entity: engram.MustID("Speech/Text/Evil/noise"), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "engram.speech.Text", Bytes: []byte("\xff")})}}
			if _, err := srv.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{u, u}}); err != nil {
				t.Error(err)
			}
			return "refused"
		},
		"fail": func() string { full.Store(true); return "full" },
		"mend": func() string { full.Store(false); return "mended" },
	})
}
