package codec

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What codes video leaves the CPU to others; what decodes it, for which somebody waits, does not.
func TestEncodersStepBack(t *testing.T) {
	needFFmpeg(t)
	usual, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 minus the nice value
	if err != nil {
		t.Fatal(err)
	}
	e := &h264Encoder{width: 64, height: 48, qp: 20}
	if err := e.start(); err != nil {
		t.Fatal(err)
	}
	defer e.stop()
	d, err := newH264Decoder(64, 48, false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for what, c := range map[string]struct{ pid, want int }{
		"encoder": {e.encoder.cmd.Process.Pid, max(usual-niceness, 1)}, "decoder": {d.cmd.Process.Pid, usual},
	} {
		if got, err := unix.Getpriority(unix.PRIO_PROCESS, c.pid); err != nil || got != c.want {
			t.Errorf("the %s has the priority %d, want %d: %v", what, got, c.want, err)
		}
	}
}
