package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/mainmem"
)

// Host is what the doctor looks at of the computer. [ThisHost] returns this one's.
type Host struct {
	OpenFiles uint64 // that a process may have open
	Memory    uint64 // bytes of main memory, or what the control group allows; 0 if unknown
	Available uint64 // bytes that programs can still get; 0 if unknown
	SoftLimit uint64 // bytes from which on a server collects garbage harder, unless it is told otherwise; 0 if unknown
	FFmpeg    string // the path of ffmpeg; "" if there is none
	Encoders  string // what 'ffmpeg -encoders' prints
	Inotify   int    // user watches; 0 if unknown
}

// ThisHost looks at this computer.
func ThisHost(ctx context.Context) (h Host) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		h.OpenFiles = limit.Max // the Go runtime raises what is in use to it
	}
	memory := mainmem.Read()
	h.Memory, h.Available = memory.Total, memory.Available
	if h.SoftLimit = memory.SoftLimit(); memory.Group > 0 {
		h.Memory = memory.Group
	}
	if text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches"); err == nil {
		h.Inotify, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if path, err := exec.LookPath("ffmpeg"); err == nil {
		h.FFmpeg = path
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		out, _ := exec.CommandContext(ctx, path, "-hide_banner", "-encoders").Output()
		h.Encoders = string(out)
	}
	return h
}

// Limits of what a host should have.
const (
	fewOpenFiles = 4096
	fewMemory    = 1 << 30
	fewWatches   = 8192
)

// Look says what of the computer is in the way of a server; records says that it is to
// record.
func (h Host) Look(records bool) (found Findings) {
	switch {
	case h.OpenFiles == 0:
	case h.OpenFiles < fewOpenFiles:
		found.warn("limits", fmt.Sprintf("a process may have %d files open", h.OpenFiles), "raise it, since every client and every episode that is read needs some: 'ulimit -n 65536', or LimitNOFILE=65536 in the systemd unit")
	default:
		found.ok("limits", fmt.Sprintf("a process may have %d files open", h.OpenFiles))
	}
	if h.Inotify > 0 && h.Inotify < fewWatches {
		found.warn("limits", fmt.Sprintf("a user may watch %d files", h.Inotify), "'sysctl fs.inotify.max_user_watches=65536'")
	}
	collects := ""
	if h.SoftLimit > 0 && os.Getenv("GOMEMLIMIT") == "" { // else the operator has decided
		collects = "; a server collects garbage harder from " + gib(h.SoftLimit) + " on"
	}
	switch {
	case h.Memory == 0:
	case h.Memory < fewMemory:
		found.warn("memory", fmt.Sprintf("there are %s of main memory%s", gib(h.Memory), collects),
			"bound the histories of the largest segments ('engram stats'); GOMEMLIMIT in the server's environment sets another limit")
	case h.Available > 0 && h.Available < h.Memory/20:
		found.warn("memory", fmt.Sprintf("%s of %s of main memory are available", gib(h.Available), gib(h.Memory)), "find out which program needs so much: 'top -o RES'")
	default:
		found.ok("memory", fmt.Sprintf("%s of main memory, %s available%s", gib(h.Memory), gib(h.Available), collects))
	}
	if !records {
		return found
	}
	switch {
	case h.FFmpeg == "":
		found.warn("ffmpeg", "there is no ffmpeg; images are recorded as JPEG and PNG, which takes several times the disk of video", "install it: 'apt install ffmpeg'")
	case !strings.Contains(h.Encoders, "libx264"):
		found.warn("ffmpeg", h.FFmpeg+" has no libx264; images are recorded as JPEG and PNG", "install one that has it: Debian's and Ubuntu's do")
	default:
		found.ok("ffmpeg", h.FFmpeg+" encodes video")
	}
	return found
}

// Holds looks whether a server of this computer holds more than it has room for.
func (h Host) Holds(ctx context.Context, c *rpc.Client, o Options) (found Findings) {
	o = o.withDefaults()
	askCtx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	stats, err := c.Stats(askCtx, engram.Pattern{}, engram.LevelMemory)
	if err != nil {
		if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil { // the server, who knows the time, may be the first to give up
			found.slow(ctx, c, o)
		}
		return found // one may not be allowed to ask
	}
	held := int64(0)
	for _, s := range stats {
		held += s.Bytes
	}
	return h.Usage(held)
}

// slow tells a server that hangs from one that takes long to count what it holds, as with
// very many entities on disk: the latter says at once which segments it has.
func (f *Findings) slow(ctx context.Context, c *rpc.Client, o Options) {
	askCtx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if _, err := c.Describe(askCtx, engram.Pattern{}); err != nil {
		if engram.CodeOf(err) == engram.Canceled && ctx.Err() == nil {
			f.problem("memory", fmt.Sprintf("server %q does not say within %v what it holds", c.Server().Server, o.Timeout), doHangs)
		}
		return
	}
	f.ok("memory", fmt.Sprintf("server %q works, and takes longer than %v to count what it holds, as it does with very many entities on disk; --timeout waits longer", c.Server().Server, o.Timeout))
}

// Usage compares what a server's memories hold with the main memory of this computer,
// which must be the server's.
func (h Host) Usage(held int64) (found Findings) {
	if h.Memory > 0 && uint64(held) > h.Memory/2 {
		found.warn("memory", fmt.Sprintf("the working memory holds %s of payloads, and the computer has %s", gib(uint64(held)), gib(h.Memory)),
			"bound the histories of the largest segments ('engram stats'): 'engram segment create --keep-bytes', or record them: 'engram serve --data'")
	}
	return found
}
