package netlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/seed-301d4374/engram"
)

// Lab is a set of hosts and links. Its methods, and those of what it makes, may be
// called by several goroutines unless they say otherwise.
type Lab struct {
	dir    string
	prefix string // of the namespaces' names
	hosts  []*Host
	radios []*Radio
	links  int
}

// labs counts the laboratories of this process, so that their names differ.
var labs atomic.Int64

// New begins a laboratory without hosts, whose files lie in dir. Hosts and links are
// made by one goroutine.
func New(dir string) (*Lab, error) {
	l := &Lab{dir: dir, prefix: fmt.Sprintf("eg%d-%d-", os.Getpid(), labs.Add(1))}
	if os.Geteuid() != 0 {
		return nil, engram.Errorf(engram.Unsupported, "", "network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, engram.Errorf(engram.Unsupported, "ip", "network namespaces need the program 'ip', of the package iproute2")
	}
	removeLeftovers()
	probe := l.prefix + "probe"
	if err := ip("netns", "add", probe); err != nil {
		return nil, engram.Errorf(engram.Unsupported, "", "network namespaces are not permitted here: %w", err)
	}
	if err := ip("netns", "del", probe); err != nil {
		return nil, err
	}
	return l, nil
}

// removeLeftovers removes the hosts of processes that were killed.
func removeLeftovers() {
	found, _ := filepath.Glob("/run/netns/eg*-*")
	for _, path := range found {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(path), "eg%d-", &pid); err == nil && syscall.Kill(pid, 0) != nil {
			_ = ip("netns", "del", filepath.Base(path)) // another process may have done it
		}
	}
}

// Close ends the links and removes the hosts. Processes that still run in them lose
// their network, but are not ended.
func (l *Lab) Close() error {
	var errs []error
	for _, r := range l.radios {
		errs = append(errs, r.close())
	}
	for _, h := range l.hosts {
		errs = append(errs, ip("netns", "del", h.namespace))
	}
	return errors.Join(errs...)
}

// Host is a computer: a network namespace with one address, and a folder of its own
// at [Run].
type Host struct {
	Name string
	// Dir is the host's folder as this process sees it; programs on the host see it
	// at [Run], so that the same path on two hosts is not the same file.
	Dir       string
	Address   string // IPv4
	namespace string
}

// Run is where programs on a host see the host's own folder.
const Run = "/mnt/host"

// Host adds a host. Names are short and of letters and digits.
func (l *Lab) Host(name string) (*Host, error) {
	h := &Host{
		Name: name, Dir: filepath.Join(l.dir, name), namespace: l.prefix + name,
		Address: fmt.Sprintf("10.77.%d.1", len(l.hosts)+1),
	}
	if err := os.MkdirAll(h.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := ip("netns", "add", h.namespace); err != nil {
		return nil, err
	}
	l.hosts = append(l.hosts, h)
	if err := h.ip("link", "set", "lo", "up"); err != nil {
		return nil, err
	}
	return h, h.ip("addr", "add", h.Address+"/32", "dev", "lo")
}

// Wire joins two hosts by a pair of virtual Ethernet devices: as fast as the kernel.
func (l *Lab) Wire(a, b *Host) error {
	l.links++
	da, db := fmt.Sprintf("w%da", l.links), fmt.Sprintf("w%db", l.links)
	if err := ip("link", "add", da, "netns", a.namespace, "type", "veth", "peer", "name", db, "netns", b.namespace); err != nil {
		return err
	}
	return errors.Join(a.up(da, b), b.up(db, a))
}

// up gives a device towards another host its addresses and switches it on.
func (h *Host) up(device string, peer *Host) error {
	if err := h.ip("addr", "add", h.Address, "peer", peer.Address, "dev", device); err != nil {
		return err
	}
	return h.ip("link", "set", device, "up")
}

// Route makes h reach a host that it has no link to through a neighbour, which then
// forwards what is not for itself.
func (h *Host) Route(to, via *Host) error {
	if err := h.ip("route", "add", to.Address, "via", via.Address); err != nil {
		return err
	}
	return via.Command(context.Background(), "sysctl", "-q", "-w", "net.ipv4.ip_forward=1").Run()
}

// Command is exec.CommandContext on the host. The process is the program itself, so
// that it can be killed, and what it is told as [Run] is the host's folder.
func (h *Host) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	// "ip netns exec" gives the program a mount namespace of its own as well.
	script := fmt.Sprintf(`mkdir -p %[1]s && mount --bind "$0" %[1]s && exec "$@"`, Run)
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", h.namespace, "sh", "-c", script, h.Dir, name}, args...)...)
}

// Within calls f on a thread that is in the host's network, so that sockets that f opens in
// its own goroutine are the host's.
func (h *Host) Within(f func() error) error { return within(h.namespace, f) }

func (h *Host) ip(args ...string) error {
	return ip(append([]string{"-n", h.namespace}, args...)...)
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return engram.Errorf(engram.Internal, "ip "+strings.Join(args, " "), "%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
