package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
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
	busy  *admission         // of what is read window by window, and takes seconds
	now   func() engram.Time // the server's clock
}

// plots serves pieces of numbers over time.
type plots struct {
	*reader
	log *slog.Logger
}

// pictures serves images and video.
type pictures struct {
	*reader
	images *admission
	heavy  *admission // of images of many pixels, which have one of images, too
	films  *admission
}

// scenes serves what is where.
type scenes struct {
	*reader
	o      Options
	poses  lookup.Service
	worlds worlds
	maps   lastMap
	large  *admission // of large payloads
}

// maxLarge bounds the clouds and grids that are read at once: one may have 100 MB.
const maxLarge = 3

const (
	// maxHeavy bounds the images of more than heavyPixels that are decoded at once.
	maxHeavy    = 2
	heavyPixels = 1 << 22
	// maxFilms bounds the frames of video that are looked for and decoded at once: one may need maxVideoBytes thrice.
	maxFilms = 3
)

// Paths are the patterns of http.ServeMux that a page answers.
var Paths = []string{"GET /{$}", "GET /ui/", "GET /view/"}

// New returns the page of a memory server, which must be behind its access rules.
func New(svc feature.Server, o Options) *Page {
	o.Log = cmp.Or(o.Log, slog.Default())
	if o.Now == nil {
		o.Now = engram.Now
	}
	most := 1 + runtime.GOMAXPROCS(0)
	r := &reader{svc: svc, types: types{service: svc}, busy: newAdmission(most), now: o.Now}
	p := &Page{robot: o.Robot, mux: http.NewServeMux()}
	p.mux.Handle("GET /{$}", files)
	p.mux.Handle("GET /ui/", files)
	numbers := &plots{r, o.Log}
	images := &pictures{reader: r, images: newAdmission(most), heavy: newAdmission(maxHeavy), films: newAdmission(maxFilms)}
	places := &scenes{reader: r, o: o, poses: poses.NewClient(feature.Within(svc)), large: newAdmission(maxLarge)}
	short, wide := newAdmission(most), newAdmission(most) // what is soon done does not wait for what reads all there is
	for name, one := range map[string]piece{
		"density": {numbers.density, r.busy}, "members": {numbers.members, short}, "series": {numbers.series, nil},
		"doubts":  {r.doubts, short},
		"cameras": {images.cameras, short}, "image": {images.image, nil}, "video": {images.video, nil},
		"scene": {places.scene, wide}, "missing": {places.missing, wide}, "trails": {places.trails, wide}, "points": {places.points, nil},
		"grid": {places.grid, nil}, "robot": {places.robot, short}, "asset": {places.asset, nil}, "world": {places.world, wide},
	} {
		p.mux.Handle("GET /view/"+name, p.handler(one))
	}
	return p
}

// piece answers requests of one name.
type piece struct {
	answer func(w http.ResponseWriter, r *http.Request, q query) error
	turns  *admission // for all of its work; nil if it takes turns itself, for parts of it
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

// handler answers requests by a piece, or with its error.
func (p *Page) handler(one piece) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := one.serve(w, r, query{r.URL.Query(), p.robot}); err != nil && r.Context().Err() == nil {
			refuse(w, err)
		}
	})
}

// serve answers a request when it is its turn.
func (one piece) serve(w http.ResponseWriter, r *http.Request, q query) error {
	if one.turns == nil {
		return one.answer(w, r, q)
	}
	kept := &keptAnswer{ResponseWriter: w, status: http.StatusOK}
	if err := one.turns.within(r.Context(), func() error { return one.answer(kept, r, q) }); err != nil {
		return err
	}
	w.WriteHeader(kept.status)
	_, err := w.Write(kept.body.Bytes())
	return err
}

// keptAnswer keeps an answer until the turn of its piece is over.
type keptAnswer struct {
	http.ResponseWriter // has its header
	status              int
	body                bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write implements io.Writer.
func (k *keptAnswer) Write(b []byte) (int, error) { return k.body.Write(b) }

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
	headJSON(w)
	w.WriteHeader(statusOf(err))
	// The writer fails only if the browser has gone.
	_ = json.NewEncoder(w).Encode(map[string]string{"code": engram.CodeOf(err).String(), "message": err.Error()})
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, v any) error {
	headJSON(w)
	return json.NewEncoder(w).Encode(v)
}

// headJSON sets the header of an answer in JSON, which is of this moment.
func headJSON(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
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
