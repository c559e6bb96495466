package web

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/links"
	"github.com/seed-301d4374/engram/feature/poses"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/pose/service"
)

// Options configures a [Page]. Zero members mean the defaults.
type Options struct {
	// Robot is whose memories the server has. IDs may have it before the memory's name, as those have that were written
	// for others to follow.
	Robot string
	// Assets are folders below which the page may fetch files of a robot's description:
	// package://arm/meshes/hand.stl is arm/meshes/hand.stl in the first of them that has it.
	Assets []string
	// Now is the server's clock; nil means [engram.Now].
	Now func() engram.Time
	Log *slog.Logger // nil means slog.Default()
}

// Page serves the page. Make one with [New]. Safe for concurrent use.
type Page struct {
	svc feature.Server
	o   Options
	mux *http.ServeMux

	poses  service.Service
	links  links.Server
	types  *foxglove.Types
	worlds worlds
	maps   lastMap
}

// Paths are those that a page answers.
var Paths = []string{"GET /{$}", "GET /ui/", "GET /view/"}

// New returns the page of a memory server, which must be behind its access rules.
func New(svc feature.Server, o Options) *Page {
	if o.Now == nil {
		o.Now = engram.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	p := &Page{svc: svc, o: o, mux: http.NewServeMux()}
	p.links = links.NewClient(feature.Within(svc))
	p.poses, p.types = poses.NewClient(feature.Within(svc)), foxglove.NewTypes(svc)
	p.mux.Handle("GET /{$}", files)
	p.mux.Handle("GET /ui/", files)
	p.mux.Handle("GET /view/image", p.piece(p.image))
	p.mux.Handle("GET /view/overlay", p.piece(p.overlay))
	p.mux.Handle("GET /view/video", p.piece(p.video))
	p.mux.Handle("GET /view/why", p.piece(p.why))
	p.mux.Handle("GET /view/cameras", p.piece(p.cameras))
	p.mux.Handle("GET /view/scene", p.piece(p.scene))
	p.mux.Handle("GET /view/trails", p.piece(p.trails))
	p.mux.Handle("GET /view/ghosts", p.piece(ghosts{p}.serve))
	p.mux.Handle("GET /view/missing", p.piece(p.missing))
	p.mux.Handle("GET /view/world", p.piece(p.world))
	p.mux.Handle("GET /view/points", p.piece(p.points))
	p.mux.Handle("GET /view/grid", p.piece(p.grid))
	p.mux.Handle("GET /view/robot", p.piece(p.robot))
	p.mux.Handle("GET /view/asset", p.piece(p.asset))
	p.mux.Handle("GET /view/series", p.piece(p.series))
	p.mux.Handle("GET /view/members", p.piece(p.members))
	p.mux.Handle("GET /view/density", p.piece(p.density))
	p.mux.Handle("GET /view/outliers", p.piece(p.outliers))
	return p
}

// ServeHTTP answers one of [Paths]. The caller has looked where the request comes from (Origin, Host) and who makes it
// (access.WithIdentity).
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", policy)
	p.mux.ServeHTTP(w, r)
}

// policy lets the page load nothing from elsewhere and run nothing but its own scripts.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// piece answers a request with what make returns, or its error.
func (p *Page) piece(make func(w http.ResponseWriter, r *http.Request, q query) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := make(w, r, query{r.URL.Query(), p.o.Robot}); err != nil && r.Context().Err() == nil {
			refuse(w, err)
		}
	})
}

// refuse answers with an error, as the API does.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch engram.CodeOf(err) {
	case engram.Invalid, engram.TypeMismatch, engram.OutOfRange, engram.TooOld, engram.TooNew:
		status = http.StatusBadRequest
	case engram.NotFound:
		status = http.StatusNotFound
	case engram.Forbidden:
		status = http.StatusForbidden
	case engram.Exhausted:
		status = http.StatusTooManyRequests
	case engram.Unavailable:
		status = http.StatusServiceUnavailable
	case engram.Unsupported:
		status = http.StatusNotImplemented
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The writer fails only if the browser has gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": engram.CodeOf(err).String(), "message": err.Error()})
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(v)
}

// query is what the address of a piece asks for.
type query struct {
	url.Values
	robot string // whose server it is
}

// id reads an ID of a member.
func (q query) id(name string) (engram.ID, error) {
	text := q.Get(name)
	if q.robot != "" {
		text = strings.TrimPrefix(text, q.robot+":")
	}
	id, err := engram.Parse(text)
	if err != nil {
		return id, engram.Errorf(engram.CodeOf(err), name, "%w", err)
	}
	return id, nil
}

// time reads a time, in RFC 3339 or nanoseconds; otherwise, if there is none.
func (q query) time(name string, otherwise engram.Time) (engram.Time, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	return engram.ParseTime(text)
}

// number reads a whole number between two; otherwise, if there is none.
func (q query) number(name string, least, most, otherwise int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, engram.Errorf(engram.Invalid, name, "%.64q is no whole number from %d to %d", text, least, most)
	}
	return n, nil
}
