// Package rerun shows a recording in Rerun's viewer for browsers, which is not a part of
// Engram: it serves both to this computer alone.
package rerun

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// What [Install] installs, and how large it is on disk.
const (
	Package = "@rerun-io/web-viewer@0.33.0"
	Size    = 46 << 20 // bytes
)

// files are those of the viewer that are served, and of which type they are.
var files = map[string]string{
	"index.js":          "text/javascript",
	"re_viewer":         "text/javascript", // as index.js imports it
	"re_viewer.js":      "text/javascript",
	"re_viewer_bg.wasm": "application/wasm",
}

// module is the folder of the viewer in one where npm has installed it.
const module = "node_modules/@rerun-io/web-viewer"

// Cache returns the folder where the viewer is kept that Install has installed.
func Cache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", engram.Errorf(engram.Unavailable, "", "there is no folder for caches; give the viewer's with --viewer DIR: %w", err)
	}
	version := Package[strings.LastIndexByte(Package, '@')+1:]
	return filepath.Join(dir, "engram", "rerun-"+version), nil
}

// Find returns the folder of the viewer: dir, or where npm has installed it below dir. The error
// is NotFound if it is not there.
func Find(dir string) (string, error) {
	for _, dir := range []string{dir, filepath.Join(dir, filepath.FromSlash(module))} {
		if _, err := os.Stat(filepath.Join(dir, "re_viewer_bg.wasm")); err == nil {
			return dir, nil
		}
	}
	return "", engram.Errorf(engram.NotFound, dir, "Rerun's viewer for browsers is not there")
}

// Install has npm fetch the viewer from its registry into a folder. Scripts of the package are
// not run.
func Install(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return engram.Errorf(engram.Unavailable, "npm", "is not installed; install Node.js, or give the viewer's folder with --viewer DIR")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return engram.Errorf(engram.Unavailable, dir, "cannot be made: %w", err)
	}
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", Package)
	if out, err := cmd.CombinedOutput(); err != nil {
		return engram.Errorf(engram.Unavailable, Package, "npm could not install it: %w\n%s", err, out)
	}
	_, err = Find(dir)
	return err
}

//go:embed index.html
var index []byte

//go:embed start.js
var start []byte

// policy lets nothing but this computer be asked. The viewer is WebAssembly, and sets styles.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
	"connect-src 'self'; img-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'"

// Server serves the viewer and a recording. Make one with [Listen].
type Server struct {
	listener net.Listener
	page     string // the path, which nobody guesses
	viewer   *os.Root
	file     string
}

// Listen begins to serve a recording, whose name ends in .mcap, and the viewer that is in a
// folder, at a port of 127.0.0.1.
func Listen(viewer, file string) (*Server, error) {
	root, err := os.OpenRoot(viewer)
	if err != nil {
		return nil, engram.Errorf(engram.NotFound, viewer, "Rerun's viewer cannot be read: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(engram.Errorf(engram.Unavailable, "127.0.0.1", "no port can be listened at: %w", err), root.Close())
	}
	return &Server{listener: l, page: "/" + strings.ToLower(rand.Text()) + "/", viewer: root, file: file}, nil
}

// Address returns the page's.
func (s *Server) Address() string { return "http://" + s.listener.Addr().String() + s.page }

// Serve serves until the context ends. It is called once.
func (s *Server) Serve(ctx context.Context) error {
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = h.Close() })
	defer stop()
	err := h.Serve(s.listener)
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, s.viewer.Close())
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ours := strings.CutPrefix(r.URL.Path, s.page)
	// Another name may be one that a page elsewhere has made lead here.
	if !ours || r.Host != s.listener.Addr().String() || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	for key, value := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		w.Header().Set(key, value)
	}
	content := func(typ string, b []byte) {
		w.Header().Set("Content-Type", typ)
		_, _ = w.Write(b) // who is gone needs nothing
	}
	switch name {
	case "":
		content("text/html; charset=utf-8", index)
		return
	case "start.js":
		content("text/javascript", start)
		return
	case "recording.mcap":
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeFile(w, r, s.file)
		return
	}
	name, is := strings.CutPrefix(name, "viewer/")
	typ := files[name]
	if !is || typ == "" {
		http.NotFound(w, r)
		return
	}
	if name == "re_viewer" {
		name += ".js"
	}
	f, err := s.viewer.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", typ)
	http.ServeContent(w, r, name, time.Time{}, f)
}

// drawn are the types that Rerun 0.33 understands; of others it shows the members.
var drawn = []string{
	"foxglove.CameraCalibration", "foxglove.CompressedImage", "foxglove.CompressedVideo", "foxglove.FrameTransform", "foxglove.FrameTransforms",
	"foxglove.LocationFix", "foxglove.LocationFixes", "foxglove.Log", "foxglove.PointCloud", "foxglove.PoseInFrame", "foxglove.PosesInFrame", "foxglove.RawImage",
}

// Shown tells how Rerun shows the topics of a recording.
type Shown struct {
	Drawn   []string // as pictures, as a log, in 3D
	Members []string // as their members only
	Not     []string // drawn by other viewers, but not by Rerun
	Coded   []string // as an episode codes them on disk, which Rerun does not read
}

// ShownOf returns how Rerun shows the topics of an MCAP file, each list sorted.
func ShownOf(file string) (Shown, error) {
	rec, err := recording.Open(file)
	if err != nil {
		return Shown{}, err
	}
	defer rec.Close()
	var s Shown
	for _, c := range recording.Channels(rec) {
		if episode.IsEnvelopes(c.Topic, c.Type) {
			continue
		}
		list := &s.Members
		switch {
		case slices.Contains(drawn, c.Type):
			list = &s.Drawn
		case strings.HasPrefix(c.Type, "foxglove."):
			list = &s.Not
		case strings.HasPrefix(c.Type, "engram.ltm.v1."):
			list = &s.Coded
		}
		if !slices.Contains(*list, c.Topic) {
			*list = append(*list, c.Topic)
		}
	}
	for _, list := range [][]string{s.Drawn, s.Members, s.Not, s.Coded} {
		slices.Sort(list)
	}
	return s, nil
}
