package backbone

import (
	"context"
	"time"
)

// Figures are what operators watch of a connection.
type Figures struct {
	Connected             bool
	Reconnects            uint64
	InMessages, InBytes   uint64
	OutMessages, OutBytes uint64
	RoundTrip             time.Duration // of a message to the server and back; 0 if it did not come back
}

// Figures returns the figures. It waits for the round trip, at most until ctx ends.
func (b *Backbone) Figures(ctx context.Context) Figures {
	st := b.conn.Stats()
	f := Figures{
		Connected: b.conn.IsConnected(), Reconnects: st.Reconnects,
		InMessages: st.InMsgs, InBytes: st.InBytes, OutMessages: st.OutMsgs, OutBytes: st.OutBytes,
	}
	if f.Connected {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if b.conn.FlushWithContext(ctx) == nil {
			f.RoundTrip = time.Since(begin)
		}
	}
	return f
}

// Heard returns how many frames have come from each server that was dialled through the
// backbone, on the connections that are open.
func (b *Backbone) Heard() map[string]uint64 { return b.tunnels.heard() }

func (t *tunnels) heard() map[string]uint64 {
	t.mu.Lock()
	var dialled []*conn
	for _, c := range t.conns {
		if c.local == dialler {
			dialled = append(dialled, c)
		}
	}
	t.mu.Unlock()
	frames := map[string]uint64{}
	for _, c := range dialled {
		c.mu.Lock()
		frames[string(c.remote)] += c.seen
		c.mu.Unlock()
	}
	return frames
}
