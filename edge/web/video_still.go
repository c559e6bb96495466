package web

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// stillWithin bounds how long a frame may take to be decoded here; how large it may be, maxPixels bounds.
const stillWithin = 20 * time.Second

// still decodes frames of H.264 and returns the last one as an image, for browsers that decode no video: those
// without WebCodecs, and those on pages that come from another computer without TLS. It needs ffmpeg.
func still(ctx context.Context, frames [][]byte, name, kind string) ([]byte, error) {
	codec := map[string]string{"image/jpeg": "mjpeg", "image/png": "png"}[kind]
	if codec == "" {
		return nil, engram.Errorf(engram.Invalid, "as", "is %q; a frame comes as image/jpeg or image/png", kind)
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
		return nil, engram.Errorf(engram.Unavailable, name, "this browser decodes no video here, and the server has no ffmpeg to do it: install it, or open the page on the server's computer")
	case ctx.Err() != nil:
		return nil, engram.Errorf(engram.Unavailable, name, "ffmpeg did not decode it in %v", stillWithin)
	case err != nil || len(b) == 0:
		return nil, engram.Errorf(engram.Corrupt, name, "ffmpeg cannot decode it: %.500s", strings.TrimSpace(said.String()))
	}
	return b, nil
}
