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

// stepBack has the process take less of the CPU than others that want it: the recorder's queue
// is long, and whoever looks at the memory does not wait for it.
func stepBack(p *os.Process) {
	if ours, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil { // it is 20 minus the nice value
		_ = unix.Setpriority(unix.PRIO_PROCESS, p.Pid, min(20-ours+niceness, 19))
	}
}

// niceness of what codes, beyond ours: it gets a third of what a usual task gets, where both want
// the CPU.
const niceness = 5

// detach keeps a terminal's Ctrl-C from the process: its parent ends it when all
// frames are through.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
