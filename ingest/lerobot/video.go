package lerobot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// video writes the images of one camera, of all episodes one after the other, with a process of ffmpeg
// per file.
type video struct {
	ctx    context.Context
	dir    string
	image  Image
	fps    int
	number int // of the file
	frames int // in the file
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   bytes.Buffer
	path   string
}

func newVideo(ctx context.Context, dir string, i Image, fps int) (*video, error) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return nil, engram.Errorf(engram.Unavailable, "ffmpeg", "install it to write videos: %w", err)
	}
	return &video{ctx: ctx, dir: dir, image: i, fps: fps}, nil
}

// open starts the process that writes the next file.
func (v *video) open() error {
	v.path = filepath.Join(v.dir, filepath.FromSlash(fmt.Sprintf(videoPath, v.image.Name, v.number/filesPerChunk, v.number%filesPerChunk)))
	if err := os.MkdirAll(filepath.Dir(v.path), 0o777); err != nil {
		return engram.Errorf(engram.Unavailable, v.path, "its folder cannot be made: %w", err)
	}
	v.cmd = exec.CommandContext(v.ctx, "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
		"-s", fmt.Sprintf("%dx%d", v.image.Width, v.image.Height), "-r", strconv.Itoa(v.fps), "-i", "pipe:0",
		// A key frame every second frame, as LeRobot has it: training reads frames at random.
		"-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "2", "-bf", "0", "-pix_fmt", v.pixels(), "-threads", "2", "-f", "mp4", v.path)
	v.said.Reset()
	v.cmd.Stderr = &v.said
	in, err := v.cmd.StdinPipe()
	if err == nil {
		v.in = in
		err = v.cmd.Start()
	}
	if err != nil {
		v.cmd = nil
		return engram.Errorf(engram.Unavailable, "ffmpeg", "does not start: %w", err)
	}
	return nil
}

// pixels is the form of the pixels in the file; colours at half the resolution need even sizes.
func (v *video) pixels() string {
	if v.image.Width%2 != 0 || v.image.Height%2 != 0 {
		return "yuv444p"
	}
	return "yuv420p"
}

func (v *video) add(pixels []byte) error {
	if v.cmd == nil {
		if err := v.open(); err != nil {
			return err
		}
	}
	if _, err := v.in.Write(pixels); err != nil {
		if failed := v.close(); failed != nil { // which says why
			return failed
		}
		return engram.Errorf(engram.Unavailable, "ffmpeg", "took no frame of %s: %w", v.image.Name, err)
	}
	v.frames++
	return nil
}

// endEpisode begins a new file if this one is large.
func (v *video) endEpisode() error {
	if info, err := os.Stat(v.path); err != nil || info.Size() <= maxVideoBytes {
		return nil // it is made when ffmpeg has something to write
	}
	err := v.close()
	v.number, v.frames = v.number+1, 0
	return err
}

// close ends the file.
func (v *video) close() error {
	if v.cmd == nil {
		return nil
	}
	_ = v.in.Close() // what is wrong is told by the process
	err := v.cmd.Wait()
	v.cmd = nil
	switch {
	case err == nil:
		return nil
	case v.ctx.Err() != nil:
		return engram.Errorf(engram.Canceled, v.image.Name, "its video was given up: %w", v.ctx.Err())
	}
	return engram.Errorf(engram.Unavailable, "ffmpeg", "failed at %s: %s: %w", v.image.Name, strings.TrimSpace(v.said.String()), err)
}

func (v *video) discard() {
	if v.cmd != nil {
		_ = v.cmd.Process.Kill()
		_ = v.close()
	}
}
