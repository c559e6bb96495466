package local

import (
	"context"
	"io"
	"net"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// link is a client's connection after the hellos.
type link struct {
	address string
	nc      *net.UnixConn
	w       *writer
	rd      *reader
	calls   uint32 // that may be open at once
}

// path returns the path in an address of the form local:/path.
func path(address string) (string, error) {
	p, ok := strings.CutPrefix(address, "local:")
	if !ok || p == "" {
		return "", engram.Errorf(engram.Invalid, address, "not the address of a local socket; write local:/path/engram.local")
	}
	return p, nil
}

// dial makes a connection. The error is Unavailable if nobody answers, Corrupt
// if what answers speaks another protocol, or the server's refusal.
func dial(ctx context.Context, address string, o DialOptions) (*link, error) {
	p, err := path(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", p)
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, address, "the memory server does not answer: %w", err)
	}
	l := &link{address: address, nc: conn.(*net.UnixConn)}
	stop := context.AfterFunc(ctx, func() { l.nc.Close() })
	err = l.hello(o)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		l.nc.Close()
		return nil, engram.Errorf(codeOfLoss(err), address, "no connection to the memory server: %w", err)
	}
	return l, nil
}

// codeOfLoss returns the code of an error of a connection: what the domain has no
// word for is the loss of it.
func codeOfLoss(err error) engram.Code {
	if code := engram.CodeOf(err); code != engram.Internal {
		return code
	}
	return engram.Unavailable
}

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

// lost returns the error of a connection that ended with err.
func (l *link) lost(err error) error {
	if engram.CodeOf(err) == engram.Internal || err == io.EOF {
		return engram.Errorf(engram.Unavailable, l.address, "the connection to the memory server was lost: %w", err)
	}
	return err
}
