package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// viewer asks a page for pieces.
type viewer struct {
	testing.TB
	handler http.Handler
}

func open(t testing.TB, svc feature.Server) *viewer {
	return &viewer{t, web.New(svc, web.Options{Log: testkit.Quiet})}
}

// piece asks for a piece; query are names and values by turns.
func (p *viewer) piece(name string, query ...string) *http.Response {
	return p.ask(nil, name, query...)
}

// ask is piece with headers.
func (p *viewer) ask(header http.Header, name string, query ...string) *http.Response {
	p.Helper()
	values := url.Values{}
	for i := 0; i < len(query); i += 2 {
		values.Add(query[i], query[i+1])
	}
	r := httptest.NewRequestWithContext(p.Context(), http.MethodGet, "/view/"+name+"?"+values.Encode(), nil)
	r.Header = header
	if header == nil {
		r.Header = http.Header{}
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result()
}

// read asks for a piece of JSON.
func read[V any](p *viewer, name string, query ...string) (v V) {
	p.Helper()
	res := p.piece(name, query...)
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		p.Fatal(res.Status, string(b), err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		p.Fatal(err, string(b))
	}
	return v
}

// refused asks for a piece that is refused with a status, and returns the reason.
func (p *viewer) refused(status int, name string, query ...string) (reason struct{ Code, Message string }) {
	p.Helper()
	res := p.piece(name, query...)
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		p.Fatal(res.Status, string(b), err)
	}
	if err := json.Unmarshal(b, &reason); err != nil {
		p.Fatal(err, string(b))
	}
	return reason
}

func text(t engram.Time) string { return strconv.FormatInt(int64(t), 10) }

// A guest gets pieces of what a guest may read; of all else not even that it is there.
func TestPiecesAreWithinRights(t *testing.T) {
	srv := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	now := engram.Now()
	const seen, hidden = "Speech/Text/p/seen", "Speech/Command/p/hidden"
	for _, entity := range []string{seen, hidden} {
		testkit.Commit(t, srv, engram.EntityUpdate{Entity: engram.MustID(entity), Time: now, Instances: []engram.Instance{engram.NewInstance(engram.Payload{})}})
	}
	rules := serving.Rules(t, "rules: [{allow: read, to: anonymous, on: Speech/Text}]")
	p := open(t, feature.Guard(srv, rules))
	if d := read[[]density](p, "density", "id", seen, "id", hidden); len(d) != 1 || d[0].ID != seen {
		t.Error(d)
	}
}
