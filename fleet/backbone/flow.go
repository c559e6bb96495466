package backbone

import (
	"strconv"
	"time"
)

// A tunnel's data shares its link with heartbeats and with other tunnels. What waits in
// the link's queue delays them all, so a sender bounds what it has under way by the rate
// at which the far end takes it: no byte shall be under way for longer than [queueTime].
const (
	queueTime  = time.Second // a fraction of the time after which a server counts as away
	leastLimit = 32 << 10
	creditStep = 16 << 10 // credit is given for so many bytes at the latest
)

// creditHeader says in a dial and its answer how many bytes that end takes before it gives
// credit for them. An end of an older version does not say so, and may wait until half of
// the window is used.
const creditHeader = "Engram-Tunnel-Credit"

// flow is what one end knows of the bytes that it has sent and that the far end has not
// taken yet. The zero flow has no bound but the window.
type flow struct {
	limit    int // bytes that may be under way; 0: there is no bound
	sent     uint64
	credited uint64
	parts    []part // what is under way, in order
}

// part is some of the bytes under way.
type part struct {
	end   uint64 // offset of the byte after its last one
	at    time.Time
	under int // bytes under way when it was sent, itself included
}

// newFlow returns the flow to a far end whose creditHeader is given.
func newFlow(header string) flow {
	if step, err := strconv.Atoi(header); err == nil && 0 < step && step <= leastLimit/2 {
		return flow{limit: leastLimit}
	}
	return flow{}
}

// room returns how many more bytes may be sent.
func (f *flow) room() int {
	if f.limit == 0 {
		return window
	}
	return max(f.limit-int(f.sent-f.credited), 0)
}

// send notes that n bytes are sent.
func (f *flow) send(n int, now time.Time) {
	if f.limit == 0 {
		return
	}
	const grain = 4 << 10 // smaller parts are one
	f.sent += uint64(n)
	p := part{end: f.sent, at: now, under: int(f.sent - f.credited)}
	if last := len(f.parts) - 1; last > 0 && f.sent-f.parts[last-1].end <= grain {
		f.parts[last] = p
		return
	}
	f.parts = append(f.parts, p)
}

// take notes that the far end has taken n more bytes.
func (f *flow) take(n int, now time.Time) {
	if f.limit == 0 {
		return
	}
	f.credited = min(f.sent, f.credited+uint64(n))
	if f.credited == f.sent && len(f.parts) == 0 {
		return
	}
	for len(f.parts) > 1 && f.parts[0].end < f.credited {
		f.parts = f.parts[1:]
	}
	// The last byte that was taken is of this part.
	took, under := now.Sub(f.parts[0].at), f.parts[0].under
	if f.parts[0].end == f.credited {
		f.parts = f.parts[1:]
	}
	switch {
	case took > queueTime:
		f.limit = max(leastLimit, int(float64(under)*queueTime.Seconds()/took.Seconds()))
	case took <= queueTime/2 && 2*under > f.limit:
		f.limit = min(window, 2*f.limit)
	}
}
