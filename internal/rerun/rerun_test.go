package rerun_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/internal/rerun"
	"github.com/seed-301d4374/engram/internal/sim"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

// exported is what a simulated robot lived through, with what is derived of it.
func exported(t *testing.T) string {
	t.Helper()
	const ticks = 300
	robot, err := sim.New(sim.Config{Start: engram.Now().Add(-sim.Period * time.Duration(ticks))})
	if err != nil {
		t.Fatal(err)
	}
	from := serving.New(t, memories.All()...)
	if _, err := robot.RunTicks(t.Context(), from, 0, ticks); err != nil {
		t.Fatal(err)
	}
	derive, err := foxglove.NewDeriver(t.Context(), from, serving.NewOf(t, server.Config{Memories: []server.Memory{memories.RobotState()}, Log: testkit.Quiet}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engram.mcap")
	if _, err := ingest.Export(t.Context(), from, path, ingest.ExportOptions{Derive: derive}); err != nil {
		t.Fatal(err)
	}
	return path
}

// listen serves a file until the test ends.
func listen(t *testing.T, viewer, file string) *rerun.Server {
	t.Helper()
	s, err := rerun.Listen(viewer, file)
	if err != nil {
		t.Fatal(err)
	}
	serving.Until(t, func(ctx context.Context) error { return s.Serve(ctx) })
	return s
}

var install = flag.Bool("install", false, "have npm fetch Rerun's viewer, for TestTheViewer")

// npm installs the viewer where it is then found.
func TestInstall(t *testing.T) {
	if !*install {
		t.Skip("it fetches 48 MB; .ci/run does it with -install")
	}
	cache, err := rerun.Cache()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rerun.Find(cache); err == nil {
		return
	}
	if err := rerun.Install(testkit.Context(t), cache); err != nil {
		t.Fatal(err)
	}
	if _, err := rerun.Find(cache); err != nil {
		t.Error(err)
	}
}

// Rerun's own viewer opens an export in a real browser.
func TestTheViewer(t *testing.T) {
	cache, err := rerun.Cache()
	if err != nil {
		t.Skip(err)
	}
	viewer, err := rerun.Find(cache)
	if err != nil {
		t.Skipf("Rerun's viewer is not in %s; to have it there: engram view rerun --install", cache)
	}
	const app = "../../web/app"
	node, chromium := testkit.Node(t, app, "playwright-core"), testkit.Program(t, "chromium")
	file := exported(t)
	shown, err := rerun.ShownOf(file)
	if err != nil || !slices.Contains(shown.Drawn, "/tf") || !slices.Contains(shown.Drawn, "/speech") || !slices.Equal(shown.Not, []string{"/world"}) || len(shown.Members) < 10 {
		t.Errorf("%+v %v", shown, err)
	}
	cmd := exec.CommandContext(testkit.Context(t), node, app+"/test/rerun.mjs", listen(t, viewer, file).Address())
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Only who has the address gets the recording, in parts if that is asked for, and nothing that
// lies beside the viewer; a name that was made to lead here gets nothing.
func TestServing(t *testing.T) {
	dir := t.TempDir()
	viewer, file := filepath.Join(dir, "node_modules/@rerun-io/web-viewer"), filepath.Join(dir, "a.mcap")
	if _, err := rerun.Find(dir); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	if err := os.MkdirAll(viewer, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{viewer + "/re_viewer_bg.wasm": "wasm", viewer + "/re_viewer.js": "js", viewer + "/package.json": "{}", file: "0123456789"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := rerun.Find(dir)
	if err != nil || found != viewer {
		t.Fatal(found, err)
	}
	s := listen(t, found, file)
	get := func(url, host, span string) (int, string, http.Header) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		if span != "" {
			r.Header.Set("Range", span)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b), res.Header
	}
	page := s.Address()
	root := page[:strings.Index(page[8:], "/")+8]
	for _, c := range []struct {
		url, host, span string
		code            int
		text            string
	}{
		{page + "recording.mcap", "", "", 200, "0123456789"},
		{page + "recording.mcap", "", "bytes=2-4", 206, "234"},
		{page + "viewer/re_viewer", "", "", 200, "js"},
		{page + "viewer/re_viewer_bg.wasm", "", "", 200, "wasm"},
		{page + "viewer/package.json", "", "", 404, ""},
		{page + "viewer/index.js", "", "", 404, ""},
		{page + "recording.mcap", "evil.example", "", 404, ""},
		{root + "/", "", "", 404, ""},
		{root + "/recording.mcap", "", "", 404, ""},
	} {
		code, text, header := get(c.url, c.host, c.span)
		if code != c.code || c.text != "" && text != c.text {
			t.Errorf("%+v: %d %q", c, code, text)
		}
		if code < 300 && !strings.Contains(header.Get("Content-Security-Policy"), "connect-src 'self'") {
			t.Errorf("%s: %v", c.url, header)
		}
	}
}
