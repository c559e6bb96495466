package netlab

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
)

// Condition is what a radio link does to packets, in each direction.
type Condition struct {
	Cut   bool          // nothing passes
	Loss  float64       // the part of the packets that is lost, in [0, 1]
	Delay time.Duration // of each packet that passes
	Rate  int           // bytes per second; 0 means no bound
}

// queueTime is how much a throttled link holds before it drops packets, as a radio's
// driver does.
const queueTime = 200 * time.Millisecond

// Radio is a link between two hosts whose condition can change at any time.
type Radio struct {
	ends       [2]*os.File // what the hosts' TUN devices send and receive
	condition  atomic.Pointer[Condition]
	directions [2]direction
	pumps      sync.WaitGroup
}

// direction is one way of a radio link.
type direction struct {
	packets, bytes atomic.Int64 // that passed, IP headers included
	queue          chan packet
	free           time.Time // when the throttled link has sent what is queued; of the pump's
}

type packet struct {
	data []byte
	due  time.Time
}

// Radio joins two hosts by a link in perfect condition.
func (l *Lab) Radio(a, b *Host) (*Radio, error) {
	r := &Radio{}
	r.Set(Condition{})
	l.links++
	for i, h := range []*Host{a, b} {
		device := fmt.Sprintf("r%d%c", l.links, 'a'+i)
		end, err := openTUN(h.namespace, device)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.ends[i] = end
		if err := h.up(device, []*Host{b, a}[i]); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	for i := range r.directions {
		d := &r.directions[i]
		d.queue = make(chan packet, 4096)
		r.pumps.Go(func() { r.read(d, r.ends[i]) })
		r.pumps.Go(func() { d.write(r.ends[1-i]) })
	}
	l.radios = append(l.radios, r)
	return r, nil
}

// Set changes the link's condition. Packets under way arrive nevertheless.
func (r *Radio) Set(c Condition) { r.condition.Store(&c) }

// Carried returns what passed so far, IP headers included, from the first host to the
// second or back.
func (r *Radio) Carried(back bool) (packets, bytes int64) {
	d := &r.directions[0]
	if back {
		d = &r.directions[1]
	}
	return d.packets.Load(), d.bytes.Load()
}

// read takes what one host sends, and queues what the link's condition lets pass.
func (r *Radio) read(d *direction, from io.Reader) {
	defer close(d.queue)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return // closed
		}
		c := r.condition.Load()
		now := time.Now()
		if c.Cut || c.Loss > 0 && rand.Float64() < c.Loss {
			continue
		}
		due := now
		if c.Rate > 0 {
			if d.free.Before(now) {
				d.free = now
			}
			if d.free.Sub(now) > queueTime {
				continue
			}
			d.free = d.free.Add(time.Duration(float64(n) / float64(c.Rate) * float64(time.Second)))
			due = d.free
		}
		select {
		case d.queue <- packet{append([]byte(nil), buffer[:n]...), due.Add(c.Delay)}:
			d.packets.Add(1)
			d.bytes.Add(int64(n))
		default: // dropped
		}
	}
}

func (d *direction) write(to io.Writer) {
	for p := range d.queue {
		if wait := time.Until(p.due); wait > 0 {
			time.Sleep(wait)
		}
		if _, err := to.Write(p.data); errors.Is(err, os.ErrClosed) {
			return
		}
	}
}

func (r *Radio) close() error {
	var errs []error
	for _, end := range r.ends {
		if end != nil {
			errs = append(errs, end.Close())
		}
	}
	r.pumps.Wait()
	return errors.Join(errs...)
}

// openTUN makes a TUN device in a namespace.
func openTUN(namespace, device string) (*os.File, error) {
	var fd int
	err := within(namespace, func() (err error) {
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		request, err := unix.NewIfreq(device)
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			unix.Close(fd)
		}
		return err
	})
	if err != nil {
		return nil, engram.Errorf(engram.Unsupported, device, "a TUN device: %w", err)
	}
	return os.NewFile(uintptr(fd), device), nil
}

// within calls f on a thread that is in a network namespace.
func within(namespace string, f func() error) error {
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and no other meets the
		// namespace.
		runtime.LockOSThread()
		ns, err := unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(ns, unix.CLONE_NEWNET)
			unix.Close(ns)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}
