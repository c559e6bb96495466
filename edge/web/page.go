package web

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/poses"
	"github.com/seed-301d4374/engram/pose/service"
)

// Options configures a [Page]. Zero members mean the defaults.
type Options struct {
	// Robot is the robot whose memories the server hosts. IDs may have it before the
	// memory's name, as links have that other robots follow.
	Robot string
	// Assets are folders with files that robots' descriptions and items name:
	// package://arm/meshes/hand.stl is arm/meshes/hand.stl in the first that has it. All who
	// reach the page may read them.
	Assets []string
	// Now is the server's clock; nil means [engram.Now].
	Now func() engram.Time
	Log *slog.Logger // nil means slog.Default()
}

// Page serves the page. Make one with [New]. Safe for concurrent use.
type Page struct {
	robot string
	mux   *http.ServeMux
}

// reader reads what the pieces show.
type reader struct {
	svc   feature.Server
	types types
	busy  *admission // of what is read window by window, and takes seconds
}

// plots serves pieces of numbers over time.
type plots struct {
	*reader
	log *slog.Logger
}

// pictures serves images and video.
type pictures struct{ *reader }

// scenes serves what is where.
type scenes struct {
	*reader
	o      Options
	poses  service.Service
	worlds worlds
	maps   lastMap
	large  *admission // of large payloads
}

// maxLarge bounds the clouds and grids that are read at once: one may have 100 MB.
const maxLarge = 3

// Paths are the patterns of http.ServeMux that a page answers.
var Paths = []string{"GET /{$}", "GET /ui/", "GET /view/"}

// New returns the page of a memory server, which must be behind its access rules.
func New(svc feature.Server, o Options) *Page {
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = engram.Now
	}
	r := &reader{svc: svc, busy: newAdmission(1 + runtime.GOMAXPROCS(0))}
	r.types.service = svc
	p := &Page{robot: o.Robot, mux: http.NewServeMux()}
	p.mux.Handle("GET /{$}", files)
	p.mux.Handle("GET /ui/", files)
	numbers, images := &plots{r, o.Log}, &pictures{r}
	places := &scenes{reader: r, o: o, poses: poses.NewClient(feature.Within(svc)), large: newAdmission(maxLarge)}
	for name, f := range map[string]func(http.ResponseWriter, *http.Request, query) error{
		"density": numbers.density, "members": numbers.members, "series": numbers.series,
		"cameras": images.cameras, "image": images.image, "video": images.video,
		"scene": places.scene, "missing": places.missing, "trails": places.trails, "points": places.points,
		"grid": places.grid, "robot": places.robot, "asset": places.asset, "world": places.world,
	} {
		p.mux.Handle("GET /view/"+name, p.piece(f))
	}
	return p
}

// ServeHTTP answers one of [Paths]. The caller has checked where the request comes from
// (Origin, Host) and who makes it (access.WithIdentity).
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", policy)
	p.mux.ServeHTTP(w, r)
}

// policy lets the page load nothing from elsewhere and run its own scripts only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; " +
	"worker-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// piece answers a request by f, or with its error.
func (p *Page) piece(f func(w http.ResponseWriter, r *http.Request, q query) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := f(w, r, query{r.URL.Query(), p.robot}); err != nil && r.Context().Err() == nil {
			refuse(w, err)
		}
	})
}

// statusOf returns the HTTP status of an error, as the API has it.
func statusOf(err error) int {
	switch engram.CodeOf(err) {
	case engram.Invalid, engram.TypeMismatch, engram.OutOfRange, engram.TooOld, engram.TooNew:
		return http.StatusBadRequest
	case engram.NotFound:
		return http.StatusNotFound
	case engram.Forbidden:
		return http.StatusForbidden
	case engram.Exhausted:
		return http.StatusTooManyRequests
	case engram.Unavailable:
		return http.StatusServiceUnavailable
	case engram.Unsupported:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// refuse answers with an error, as the API does.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(statusOf(err))
	// The writer fails only if the browser has gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": engram.CodeOf(err).String(), "message": err.Error()})
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(v)
}

// query has the parameters of a piece's address.
type query struct {
	url.Values
	robot string // whose server it is
}

// parse reads an ID, with the server's robot before it or without.
func (q query) parse(text string) (engram.ID, error) {
	if q.robot != "" {
		text = strings.TrimPrefix(text, q.robot+":")
	}
	return engram.Parse(text)
}

// id reads the ID of a parameter.
func (q query) id(name string) (engram.ID, error) {
	id, err := q.parse(q.Get(name))
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
