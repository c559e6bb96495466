package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// link is a client's connection after the hellos.
type link struct {
	address string
	nc      *net.UnixConn
	w       *writer
	rd      *reader
	calls   uint32 // that may be open at once
}

// dial makes a connection. The error is Unavailable if nobody answers, Corrupt
// if what answers speaks another protocol, or the server's refusal.
func dial(ctx context.Context, address string, o DialOptions) (*link, error) {
	p, err := path(address)
	if err == nil {
		err = rpc.CheckSocket(p)
	}
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(timed, "unix", p)
	for errors.Is(err, syscall.EAGAIN) && timed.Err() == nil {
		time.Sleep(time.Millisecond) // very many connect at once: the queue is full
		conn, err = dialer.DialContext(timed, "unix", p)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, gaveUp(ctx, address)
	case err != nil:
		return nil, engram.Errorf(engram.Unavailable, address, "the memory server does not answer: %w", err)
	}
	l := &link{address: address, nc: conn.(*net.UnixConn)}
	stop := context.AfterFunc(timed, func() { l.nc.Close() })
	err = l.hello(o)
	if !stop() && err == nil {
		err = timed.Err()
	}
	if err == nil {
		return l, nil
	}
	l.nc.Close()
	if ctx.Err() != nil {
		return nil, gaveUp(ctx, address)
	}
	return nil, l.lost(err)
}

// dialTimeout bounds how long a server may take to accept a connection.
const dialTimeout = 5 * time.Second

func (l *link) hello(o DialOptions) error {
	ours := hello{version: version, minVersion: version, limits: limits{frame: uint32(o.MaxFrame), ids: maxIDs, types: maxTypes}}
	if _, err := l.nc.Write(ours.append(nil, false)); err != nil {
		return err
	}
	var b [answerSize]byte
	if _, err := io.ReadFull(l.nc, b[:]); err != nil {
		return err
	}
	theirs, err := parseHello(b[:])
	if err != nil {
		return err
	}
	l.rd = newReader(l.nc, ours.limits, 0)
	if theirs.version == 0 {
		h, err := l.rd.next()
		if err != nil {
			return err
		}
		if h.kind != kindError {
			return corrupt("the server refused the connection without saying why")
		}
		refusal := l.rd.err()
		if err := l.rd.finish(); err != nil {
			return err
		}
		return refusal
	}
	if theirs.version != version {
		return engram.Errorf(engram.Unsupported, "", "the server answers in version %d of the local protocol; this client speaks version %d", theirs.version, version)
	}
	l.calls = max(1, theirs.calls)
	l.w, err = newWriter(l.nc, theirs.limits, o.StallTimeout)
	return err
}

// close ends the connection with what is being done on it, for the reason err.
func (l *link) close(err error) {
	l.w.fail(err)
	l.w.drains.Wait()
}

// lost returns the error of a connection that ended with err: the domain's own as
// it is, whatever else as the loss of the connection. A server that is killed may leave
// half a frame behind: that is lost, not damaged.
func (l *link) lost(err error) error {
	if l.w != nil && errors.Is(err, net.ErrClosed) {
		err = cmp.Or(l.w.failure(), err) // the writer closed it, and knows why
	}
	if e, ok := errors.AsType[*engram.Error](err); ok && e != errCut {
		return e
	}
	return engram.Errorf(engram.Unavailable, l.address, "the connection to the memory server was lost: %w", err)
}
