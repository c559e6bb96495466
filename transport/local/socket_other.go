//go:build !linux

package local

import (
	"errors"
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

// input reads from a connection.
type input struct {
	conn  net.Conn
	vigil vigil
}

func newInput(conn net.Conn) input { return input{conn: conn} }

func (in *input) read(b []byte) (int, error) { return in.conn.Read(b) }

func peerOf(*net.UnixConn) (Peer, error) { return Peer{}, errors.ErrUnsupported }
