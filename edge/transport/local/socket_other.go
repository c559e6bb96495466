//go:build !linux

package local

import (
	"net"
	"time"
)

// socketState is empty here: a write waits until the socket has taken everything,
// in whoever writes.
type socketState struct{}

func (w *writer) openSocket() error { return nil }

func (w *writer) write(bool) error {
	w.conn.SetWriteDeadline(time.Now().Add(w.stall))
	rest := net.Buffers(w.out.rest)
	_, err := rest.WriteTo(w.conn)
	w.out.rest = nil
	return err
}
