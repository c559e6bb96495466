package codec

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeBytes is what a pipe to or from ffmpeg holds if the system allows it. An
// image passes in a few steps then.
const pipeBytes = 1 << 20

func widen(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
}

// detach keeps a terminal's Ctrl-C from the process: its parent ends it when all
// frames are through.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
