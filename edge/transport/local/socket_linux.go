package local

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socketState is what a writer needs to write as much as a socket takes, and no
// more.
type socketState struct {
	raw  syscall.RawConn
	some func(fd uintptr) bool // writer.writeSome, bound once
	wait bool
	err  error
}

func (w *writer) openSocket() (err error) {
	w.out.raw, err = w.conn.SyscallConn()
	w.out.some = w.writeSome
	return err
}

// write writes the output: all of it if wait is set, else what the socket takes.
func (w *writer) write(wait bool) error {
	w.out.wait = wait
	if wait {
		w.conn.SetWriteDeadline(time.Now().Add(w.stall))
	}
	if err := w.out.raw.Write(w.out.some); err != nil {
		return err
	}
	return w.out.err
}

// writeSome writes until all is written, the socket is full and nobody wants to
// wait, or an error; false where it is to be called again when the socket takes
// more.
func (w *writer) writeSome(fd uintptr) bool {
	for len(w.out.rest) > 0 {
		n, err := unix.Writev(int(fd), w.out.rest[:min(len(w.out.rest), maxVectors)])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return !w.out.wait
		case err != nil:
			w.out.err = err
			return true
		}
		if w.out.wait {
			w.conn.SetWriteDeadline(time.Now().Add(w.stall)) // it does read
		}
		for n > 0 && n >= len(w.out.rest[0]) {
			n -= len(w.out.rest[0])
			w.out.rest = w.out.rest[1:]
		}
		if n > 0 {
			w.out.rest[0] = w.out.rest[0][n:]
		}
	}
	return true
}
