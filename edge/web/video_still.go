package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// stillWithin bounds how long a frame may take to be decoded here; how large it may be, maxPixels bounds.
const stillWithin = 20 * time.Second

// stills are the frames that are decoded at once, for all pages.
var stills = make(chan struct{}, 2)

// still decodes frames of H.264 and answers with the last one as an image, for browsers that decode no video: those
// without WebCodecs, and those on pages that come from another computer without TLS. It needs ffmpeg.
func still(ctx context.Context, w http.ResponseWriter, frames [][]byte, about aboutVideo, kind string) error {
	select {
	case stills <- struct{}{}:
		defer func() { <-stills }()
	case <-ctx.Done():
		return ctx.Err()
	}
	codec := map[string]string{"image/jpeg": "mjpeg", "image/png": "png"}[kind]
	if codec == "" {
		return engram.Errorf(engram.Invalid, "as", "is %q; a frame comes as image/jpeg or image/png", kind)
	}
	ctx, cancel := context.WithTimeout(ctx, stillWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1",
		"-protocol_whitelist", "pipe", "-max_pixels", strconv.Itoa(maxPixels), "-f", "h264", "-i", "pipe:0",
		"-vf", `select=gte(n\,`+strconv.Itoa(len(frames)-1)+`)`, "-fps_mode", "passthrough", "-frames:v", "1", "-c:v", codec, "-q:v", "3", "-f", "image2pipe", "pipe:1")
	cmd.Stdin = bytes.NewReader(bytes.Join(frames, nil))
	cmd.WaitDelay = time.Second
	var said strings.Builder
	cmd.Stderr = &said
	b, err := cmd.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return engram.Errorf(engram.Unavailable, about.ID, "this browser decodes no video here, and the server has no ffmpeg to do it: install it, or open the page on the server's computer")
	case ctx.Err() != nil:
		return engram.Errorf(engram.Unavailable, about.ID, "ffmpeg did not decode it in %v", stillWithin)
	case err != nil || len(b) == 0:
		return engram.Errorf(engram.Corrupt, about.ID, "ffmpeg cannot decode it: %.500s", strings.TrimSpace(said.String()))
	}
	w.Header().Set("Cache-Control", "no-store")
	return answerImage(w, about.ID, about, kind, b)
}
