package backbone

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// wire is a link of a rate, with a queue before it, in time that the test counts.
type wire struct {
	rate float64 // bytes a second
	free time.Time
}

// carry returns when n bytes have passed that are put into the queue now.
func (w *wire) carry(n int, now time.Time) time.Time {
	if w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.rate * float64(time.Second)))
	return w.free
}

// transfer sends so many bytes over a link by several tunnels at once. It returns how long
// that took, and the longest time that a heartbeat would have waited in the queue after the
// first second.
func transfer(rate float64, delay time.Duration, size, tunnels int) (took, waited time.Duration) {
	type arrival struct {
		at     time.Time
		tunnel int
		bytes  int
	}
	const chunk = 8 << 10
	begin := time.Unix(0, 0)
	now, w := begin, &wire{rate: rate}
	flows, left, taken := make([]flow, tunnels), make([]int, tunnels), make([]int, tunnels)
	for i := range flows {
		flows[i], left[i] = newFlow("16384"), size/tunnels
	}
	var under []arrival // in order
	for {
		for i := range flows {
			for left[i] > 0 && flows[i].room() > 0 {
				n := min(chunk, left[i], flows[i].room())
				flows[i].send(n, now)
				left[i] -= n
				under = append(under, arrival{w.carry(n, now).Add(delay), i, n})
			}
		}
		if now.Sub(begin) > queueTime {
			waited = max(waited, w.free.Sub(now))
		}
		if len(under) == 0 {
			return now.Sub(begin), waited
		}
		a := under[0]
		under = under[1:]
		now = a.at
		if taken[a.tunnel] += a.bytes; taken[a.tunnel] >= creditStep {
			flows[a.tunnel].take(taken[a.tunnel], now.Add(delay))
			taken[a.tunnel] = 0
		}
	}
}

// Whatever the rate of a link, what is sent through tunnels uses all of it, and what comes
// after it does not wait for long.
func TestHeartbeatsPassBulkData(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		delay   time.Duration
		tunnels int
		wait    time.Duration
	}{
		{20_000, 50 * time.Millisecond, 1, 2 * queueTime}, // no less than leastLimit is under way
		{70_000, 50 * time.Millisecond, 1, queueTime},
		{70_000, 50 * time.Millisecond, 4, 2 * queueTime},
		{300_000, 100 * time.Millisecond, 2, queueTime},
		{2_000_000, 5 * time.Millisecond, 1, queueTime},
		{100_000_000, 100 * time.Microsecond, 1, queueTime},
	} {
		size := int(30 * c.rate)
		took, waited := transfer(c.rate, c.delay, size, c.tunnels)
		if waited > c.wait {
			t.Errorf("%.0f B/s, %d tunnels: a heartbeat waits for %v, want at most %v", c.rate, c.tunnels, waited, c.wait)
		}
		if used := 30 / took.Seconds(); used < 0.9 {
			t.Errorf("%.0f B/s, %d tunnels: %.0f %% of the link is used", c.rate, c.tunnels, 100*used)
		}
	}
}

// What is sent now and then says nothing about the link, and makes later data no slower.
func TestPausesAreNoSlowLink(t *testing.T) {
	f, now := newFlow("16384"), time.Unix(0, 0)
	taken := 0
	for range 100 {
		f.send(3000, now)
		if taken += 3000; taken >= creditStep {
			f.take(taken, now.Add(time.Millisecond))
			taken = 0
		}
		now = now.Add(time.Minute)
	}
	if f.limit < leastLimit {
		t.Errorf("%d bytes may be under way after pauses", f.limit)
	}
}

// A far end of an older version gives credit when half of the window is used; so much must
// be under way.
func TestOlderFarEnd(t *testing.T) {
	for _, header := range []string{"", "x", "0", "-1", "1000000"} {
		f := newFlow(header)
		f.send(window, time.Unix(0, 0))
		if f.room() < window {
			t.Errorf("%q: %d bytes may be sent", header, f.room())
		}
	}
}

// A sender does not fill the window before it knows how fast the far end takes.
func TestSenderBeginsSlowly(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	b, err := Connect(t.Context(), Options{InProcess: s})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	l, err := b.Listen("s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := b.Dial(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	written := make(chan error, 1)
	go func() {
		_, err := near.Write(make([]byte, window))
		written <- err
	}()
	sender := near.(*conn)
	testkit.Until(t, func() (string, bool) { // the sender waits
		sender.mu.Lock()
		room, under := sender.flow.room(), window-sender.credit
		sender.mu.Unlock()
		if under > leastLimit {
			t.Fatalf("%d bytes are under way, of which none was taken", under)
		}
		return fmt.Sprintf("%d bytes may be sent", room), room == 0
	})
	if _, err := io.ReadFull(far, make([]byte, window)); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if n := b.Heard()["s"]; n == 0 {
		t.Error("the far end was not heard")
	}
}
