package codec

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
)

// How long ffmpeg may take before it counts as hung. A busy machine needs seconds
// to start it; a frame needs milliseconds. Tests change it.
var (
	ffmpegStart = 30 * time.Second
	ffmpegFrame = 10 * time.Second
)

// ffmpeg is a running ffmpeg that answers each thing written to its standard input
// with one thing on its standard output. It is for one goroutine at a time.
//
// Nothing here waits forever: a process that does not take or give data in time is
// killed, and one whose parent dies reads the end of its input and ends.
type ffmpeg struct {
	cmd     *exec.Cmd
	gone    chan struct{} // closed when the process has ended
	in, out *os.File      // our ends of the pipes
	stderr  tail
	start   time.Duration // bounds the first answer
	frame   time.Duration // bounds the others
	begun   bool          // the first answer has come
	passed  int64         // bytes that went in and out
	from    *bufio.Reader // reads out
	err     error         // why it is of no more use
	refused bool          // … because it ended by itself: of what it was given
}

// errNoFFmpeg is the cause of the error if ffmpeg is not installed.
var errNoFFmpeg = errors.New("not found in PATH")

// startFFmpeg starts ffmpeg with these arguments between its general ones and its
// output, which is standard output. The error is Unavailable.
func startFFmpeg(args ...string) (*ffmpeg, error) {
	path, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, "ffmpeg", "install it to write and read video: %w", errNoFFmpeg)
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, "ffmpeg", "no pipe to it: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(engram.Errorf(engram.Unavailable, "ffmpeg", "no pipe from it: %w", err), childIn.Close(), in.Close())
	}
	widen(in)
	widen(out)
	p := &ffmpeg{in: in, out: out, from: bufio.NewReaderSize(out, 1<<16), start: ffmpegStart, frame: ffmpegFrame}
	general := []string{"-hide_banner", "-nostdin", "-loglevel", "error", "-xerror"}
	args = append(append(general, args...), "-flush_packets", "1", "pipe:1")
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, &p.stderr
	p.cmd.WaitDelay = time.Second
	detach(p.cmd)
	err = p.cmd.Start()
	// The child has its own copies.
	err = errors.Join(err, childIn.Close(), childOut.Close())
	if p.cmd.Process == nil {
		_, _ = in.Close(), out.Close()
		return nil, engram.Errorf(engram.Unavailable, "ffmpeg", "does not start: %w", err)
	}
	p.gone = make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // whatever it ends with, it is of no more use
		close(p.gone)
	}()
	return p, nil
}

// until sets the deadline of what is done next, and ends it when ctx ends. The
// function it returns must be called afterwards.
func (p *ffmpeg) until(ctx context.Context) (done func()) {
	limit := p.frame
	if !p.begun {
		limit = p.start
	}
	deadline := time.Now().Add(limit)
	_ = p.in.SetDeadline(deadline)
	_ = p.out.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_ = p.in.SetDeadline(past)
		_ = p.out.SetDeadline(past)
	})
	return func() { stop() }
}

// fail ends the process and returns why, the same from then on.
func (p *ffmpeg) fail(ctx context.Context, what string, err error) error {
	if p.err != nil {
		return p.err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) {
		// It has closed its end, and says why before it is gone.
		select {
		case <-p.gone:
		case <-time.After(time.Second):
		}
	}
	p.kill()
	said := p.stderr.String()
	p.refused = !errors.Is(err, os.ErrDeadlineExceeded) && p.cmd.ProcessState.ExitCode() > 0
	switch {
	case ctx.Err() != nil:
		p.err = engram.Errorf(engram.Canceled, "ffmpeg", "given up while %s: %w", what, ctx.Err())
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.err = engram.Errorf(engram.Unavailable, "ffmpeg", "hung while %s, and was killed: %w", what, err)
	case said != "":
		p.err = engram.Errorf(engram.Unavailable, "ffmpeg", "ended while %s: %s", what, said)
	default:
		p.err = engram.Errorf(engram.Unavailable, "ffmpeg", "ended while %s: %w", what, err)
	}
	return p.err
}

// write gives data to the process.
func (p *ffmpeg) write(ctx context.Context, b []byte) error {
	if p.err != nil {
		return p.err
	}
	if _, err := p.in.Write(b); err != nil {
		return p.fail(ctx, "taking data", err)
	}
	p.passed += int64(len(b))
	return nil
}

// read fills b from the process.
func (p *ffmpeg) read(ctx context.Context, b []byte) error {
	if p.err != nil {
		return p.err
	}
	if _, err := io.ReadFull(p.from, b); err != nil {
		return p.fail(ctx, "giving data", err)
	}
	p.passed += int64(len(b))
	return nil
}

// worn reports whether it is time for another process: AVI ends at 2 GiB, and
// whatever ffmpeg hoards is bounded by that.
func (p *ffmpeg) worn() bool { return p.passed > 1<<30 }

// kill ends the process at once and waits until it is gone. Nothing is lost by
// that: what it was given it has answered, or will be given to another one. It may
// be called again.
func (p *ffmpeg) kill() {
	_, _ = p.in.Close(), p.out.Close()
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// tail keeps the last that a process wrote to its standard error.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailBytes = 2048

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b) - tailBytes; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(b), nil
}

// String returns the last lines on one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(string(bytes.ToValidUTF8(t.b, nil)), func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.Join(lines[max(len(lines)-3, 0):], "; ")
}

// frameArgs describe raw frames on standard input. The rate has no meaning beyond
// keeping frames apart: their times lie in the messages.
func frameArgs(pixFmt string, width, height int) []string {
	return []string{
		"-f", "rawvideo", "-pix_fmt", pixFmt,
		"-video_size", strconv.Itoa(width) + "x" + strconv.Itoa(height), "-framerate", "25",
		"-i", "pipe:0", "-fps_mode", "passthrough", "-threads", "1",
	}
}
