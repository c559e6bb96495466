package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-301d4374/engram/edge/web"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
)

// The page and what it loads: what names itself by its content is kept for good, the page is asked for anew; it may load
// nothing from elsewhere and run nothing but its own scripts.
func TestFiles(t *testing.T) {
	p := web.New(serving.New(t, memories.All()...), web.Options{Log: testkit.Quiet})
	get := func(path string, header ...string) *http.Response {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Result()
	}
	content := func(r io.Reader) string {
		t.Helper()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	res := get("/")
	page := content(res.Body)
	if res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Error(res.Status, res.Header)
	}
	for header, part := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self';", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := res.Header.Get(header); !strings.Contains(got, part) || strings.Contains(got, "unsafe") {
			t.Errorf("%s: %q", header, got)
		}
	}
	if strings.Contains(page, "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) || strings.Contains(page, "http:") {
		t.Errorf("the page has scripts or styles in it, or loads from elsewhere: %s", page)
	}
	script := regexp.MustCompile(`/ui/index-[\w-]+\.js`).FindString(page)
	if script == "" {
		t.Fatalf("no script: %s", page)
	}
	res = get(script)
	plain := content(res.Body)
	if res.StatusCode != http.StatusOK || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/javascript") || res.Header.Get("Vary") != "Accept-Encoding" {
		t.Error(res.Status, res.Header)
	}
	tags := map[string]bool{res.Header.Get("ETag"): true}
	for encoding, accepted := range map[string]string{"gzip": "gzip, br", "zstd": "gzip, deflate, br, zstd"} {
		packed := get(script, "Accept-Encoding", accepted)
		if packed.Header.Get("Content-Encoding") != encoding {
			t.Fatal(packed.Header)
		}
		var z io.Reader
		var err error
		if encoding == "gzip" {
			z, err = gzip.NewReader(packed.Body)
		} else {
			z, err = zstd.NewReader(packed.Body, zstd.WithDecoderConcurrency(1))
		}
		if err != nil || content(z) != plain {
			t.Errorf("by %s, a script is another: %v", encoding, err)
		}
		tags[packed.Header.Get("ETag")] = true
	}
	for accepted, want := range map[string]string{"zstd;q=0, gzip": "gzip", "gzip;q=0": "", "x-gzip-like, zstdx": "", "ZSTD;q=0.1": "zstd", "gzip; q=0.000, zstd ; q=0": "", "*": "", "gzip;q=": ""} {
		if got := get(script, "Accept-Encoding", accepted).Header.Get("Content-Encoding"); got != want {
			t.Errorf("who accepts %q is given %q, want %q", accepted, got, want)
		}
	}
	if len(tags) != 3 {
		t.Errorf("three encodings have the tags %v", tags)
	}
	if again := get(script, "If-None-Match", res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Error(again.Status)
	}
	for _, path := range []string{"/ui/icon.svg", "/ui/licenses.md"} { // whose names stay
		res := get(path)
		if res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-cache" || res.Header.Get("ETag") == "" {
			t.Error(path, res.Status, res.Header)
		}
	}
	for _, path := range []string{"/ui/", "/ui/nothing.js", "/ui/../doc.go", "/ui/%2e%2e/doc.go"} {
		if res := get(path); res.StatusCode == http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// What the first view loads, which is 3D with a robot, is as small as it shall be.
func TestFirstViewIsSmall(t *testing.T) {
	p := web.New(serving.New(t, memories.All()...), web.Options{Log: testkit.Quiet})
	get := func(path, encoding string) string {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatal(path, w.Code)
		}
		return w.Body.String()
	}
	const most = 250_000
	imported := regexp.MustCompile(`(?:from|import)\s*["'` + "`" + `]\./([\w.-]+\.js)`)
	later := regexp.MustCompile(`\b(?:Scene|URDFLoader)-[\w-]{8}\.js`)
	sizes, sum := map[string]int{}, 0
	var load func(name string)
	load = func(name string) {
		if _, ok := sizes[name]; ok {
			return
		}
		sizes[name] = len(get("/ui/"+name, "zstd"))
		sum += sizes[name]
		code := get("/ui/"+name, "")
		for _, m := range imported.FindAllStringSubmatch(code, -1) {
			load(m[1])
		}
		for _, name := range later.FindAllString(code, -1) {
			load(name)
		}
	}
	load(strings.TrimPrefix(regexp.MustCompile(`/ui/index-[\w-]+\.js`).FindString(get("/", "")), "/ui/"))
	if sum > most || len(sizes) < 5 {
		t.Errorf("it loads %d bytes, of %d that it may: %v", sum, most, sizes)
	}
}
