package vfs

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxVectors is how many buffers Linux takes in one call.
const maxVectors = 1024

// WriteBuffers writes the buffers one after another at f's current place, in as few
// calls as the system allows. It returns how many bytes were written, less than all
// only with an error. It uses bufs up.
func WriteBuffers(f File, bufs [][]byte) (n int64, err error) {
	osFile, ok := f.(*os.File)
	if !ok || len(bufs) == 1 {
		for _, b := range bufs {
			m, err := f.Write(b)
			if n += int64(m); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	raw, err := osFile.SyscallConn()
	if err != nil {
		return 0, err
	}
	for len(bufs) > 0 {
		var m int
		var werr error
		err := raw.Write(func(fd uintptr) bool {
			m, werr = unix.Writev(int(fd), bufs[:min(len(bufs), maxVectors)])
			return werr != unix.EAGAIN
		})
		if err == nil && werr == unix.EINTR {
			continue
		}
		if err == nil {
			err = werr
		}
		if err == nil && m == 0 && len(bufs[0]) > 0 {
			err = io.ErrShortWrite
		}
		if m > 0 {
			n += int64(m)
			for m > 0 || len(bufs) > 0 && len(bufs[0]) == 0 {
				if m >= len(bufs[0]) {
					m -= len(bufs[0])
					bufs = bufs[1:]
				} else {
					bufs[0] = bufs[0][m:]
					m = 0
				}
			}
		} else if err == nil {
			bufs = bufs[1:] // an empty one
		}
		if err != nil {
			return n, &os.PathError{Op: "writev", Path: osFile.Name(), Err: err}
		}
	}
	return n, nil
}
