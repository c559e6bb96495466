package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

//go:embed all:dist
var dist embed.FS

// hashed matches the names that have the hash of their content.
var hashed = regexp.MustCompile(`-[\w-]{8}\.(js|css)$`)

// files serves the folder dist: index.html at /, what it loads at /ui/.
var files = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	f := file(name)
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.tag)
	if hashed.MatchString(name) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache") // by its tag a browser sees whether it has changed
	}
	content := f.plain
	for i, e := range encodings {
		if accepts(r.Header, e.name) {
			if packed := f.packed[i](); len(packed) < len(content) {
				content = packed
				h.Set("Content-Encoding", e.name)
				h.Set("ETag", strings.TrimSuffix(f.tag, `"`)+"-"+e.name+`"`)
			}
			break
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
})

// accepts reports whether a browser takes an encoding by its name.
func accepts(h http.Header, encoding string) bool {
	for _, one := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !ok || err == nil && weight > 0
		}
	}
	return false
}

// encodings are how files are compressed, the best first.
var encodings = []struct {
	name string
	pack func(b []byte) []byte
}{{"zstd", packZstd}, {"gzip", packGzip}}

func packZstd(b []byte) []byte {
	// Browsers read no larger windows (RFC 9659). The options are some.
	z, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	return z.EncodeAll(b, nil)
}

func packGzip(b []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one
	_, _ = z.Write(b)                                          // a buffer takes all
	_ = z.Close()
	return packed.Bytes()
}

// static is a file of dist. It does not change.
type static struct {
	kind, tag string
	plain     []byte
	packed    []func() []byte // by encoding; compressed once
}

var statics sync.Map // name → *static

// file returns a file of dist; nil if there is none.
func file(name string) *static {
	if f, ok := statics.Load(name); ok {
		return f.(*static)
	}
	b, err := fs.ReadFile(dist, path.Join("dist", name))
	if err != nil {
		return nil
	}
	f := &static{kind: mime.TypeByExtension(path.Ext(name)), plain: b}
	if path.Ext(name) == ".js" {
		f.kind = "text/javascript; charset=utf-8" // whatever the computer's tables say
	}
	sum := sha256.Sum256(b)
	f.tag = `"` + hex.EncodeToString(sum[:12]) + `"`
	for _, e := range encodings {
		f.packed = append(f.packed, sync.OnceValue(func() []byte { return e.pack(b) }))
	}
	kept, _ := statics.LoadOrStore(name, f)
	return kept.(*static)
}
