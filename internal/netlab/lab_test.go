//go:build linux

package netlab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func lab(t *testing.T) *Lab {
	l, err := New(t.TempDir())
	if errors.Is(err, engram.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func host(t *testing.T, l *Lab, name string) *Host {
	h, err := l.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ping returns how many of n pings are answered, and the mean time of an answer.
func ping(t *testing.T, from, to *Host, n int) (answered int, mean time.Duration) {
	c := from.Command(context.Background(), "ping", "-q", "-i", "0.01", "-W", "2", "-c", strconv.Itoa(n), to.Address)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.Output()
	found := regexp.MustCompile(`(\d+) received`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("ping: %v: %s", err, out)
	}
	answered, _ = strconv.Atoi(string(found[1]))
	if rtt := regexp.MustCompile(`= [\d.]+/([\d.]+)/`).FindSubmatch(out); rtt != nil {
		ms, _ := strconv.ParseFloat(string(rtt[1]), 64)
		mean = time.Duration(ms * float64(time.Millisecond))
	}
	return answered, mean
}

func TestRadio(t *testing.T) {
	testkit.RealTime(t, "pings are answered within 2 s")
	l := lab(t)
	if _, err := exec.LookPath("ping"); err != nil {
		t.Skip("ping is not installed; the package iputils-ping has it")
	}
	base, robot, second := host(t, l, "base"), host(t, l, "robot"), host(t, l, "second")
	r, err := l.Radio(base, robot)
	if errors.Is(err, engram.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Wire(robot, second), base.Route(second, robot), second.Route(base, robot)); err != nil {
		t.Fatal(err)
	}
	// A busy machine may miss some, or all for a while.
	passes := func(a, b *Host, n, least int) {
		t.Helper()
		answered, _ := ping(t, a, b, n)
		for tries := 1; answered < least; tries++ {
			if tries == 20 {
				t.Fatalf("of %d pings again and again less than %d are answered", n, least)
			}
			answered, _ = ping(t, a, b, n)
		}
	}
	passes(base, second, 20, 15)
	r.Set(Condition{Delay: 30 * time.Millisecond})
	if _, mean := ping(t, base, robot, 5); mean < 60*time.Millisecond {
		t.Errorf("a ping over a link with a delay of 30 ms each way took %v", mean)
	}
	r.Set(Condition{Loss: 0.5})
	if n, _ := ping(t, robot, base, 100); n > 60 { // a quarter is expected
		t.Errorf("a link that loses half of all packets in each direction answered %d of 100 pings", n)
	}
	passes(robot, base, 100, 1)
	r.Set(Condition{Cut: true})
	if n, _ := ping(t, base, robot, 3); n != 0 {
		t.Errorf("%d pings passed a cut link", n)
	}
	r.Set(Condition{})
	passes(base, robot, 10, 5)
	if packets, bytes := r.Carried(false); packets < 50 || bytes < 60*packets {
		t.Errorf("%d packets with %d bytes were counted", packets, bytes)
	}
}

func TestHostsHaveFoldersOfTheirOwn(t *testing.T) {
	l := lab(t)
	a, b := host(t, l, "a"), host(t, l, "b")
	for _, h := range []*Host{a, b} {
		if out, err := h.Command(context.Background(), "sh", "-c", "echo "+h.Name+" >"+Run+"/name").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, h := range []*Host{a, b} {
		if got, err := os.ReadFile(h.Dir + "/name"); string(got) != h.Name+"\n" {
			t.Errorf("host %s's file holds %q (%v)", h.Name, got, err)
		}
	}
}
