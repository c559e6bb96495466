package local

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

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

// input reads from a connection.
type input struct {
	conn net.Conn
	raw  syscall.RawConn // nil if the connection is no socket
	some func(fd uintptr) bool
	into []byte
	got  int
	err  error

	vigil vigil
}

func newInput(conn net.Conn) input {
	in := input{conn: conn}
	if c, ok := conn.(syscall.Conn); ok {
		in.raw, _ = c.SyscallConn()
	}
	return in
}

// read is an io.Reader's.
func (in *input) read(b []byte) (int, error) {
	if in.raw == nil {
		return in.conn.Read(b)
	}
	if in.some == nil {
		in.some = in.readSome
	}
	in.into, in.got, in.err = b, 0, nil
	if err := in.raw.Read(in.some); err != nil {
		return 0, err
	}
	in.vigil.ended()
	if in.err == nil && in.got == 0 && len(b) > 0 {
		in.err = io.EOF
	}
	return in.got, in.err
}

// readSome reads what there is; false if there is nothing yet.
func (in *input) readSome(fd uintptr) bool {
	for {
		n, err := unix.Read(int(fd), in.into)
		switch err {
		case nil:
			in.got = n
			return true
		case unix.EINTR:
		case unix.EAGAIN:
			return in.vigil.keep(func() bool {
				n, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(in.into))), uintptr(len(in.into)))
				in.got = int(n)
				return errno == 0
			}, func(atMost time.Duration) {
				unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(atMost.Milliseconds()))
			})
		default:
			in.err = os.NewSyscallError("read", err)
			return true
		}
	}
}

// peerOf asks the kernel who is at the other end.
func peerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, err
	}
	if credErr != nil {
		return Peer{}, credErr
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid), GID: int(cred.Gid)}, nil
}
