package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// Options say by what ends of connections are told.
type Options struct {
	Credentials *credentials.Store // nil: no TLS
	Access      *access.Control    // nil: there are no rules
	Log         *slog.Logger       // nil means slog.Default()
}

// Off reports whether there is nothing to be found out.
func (o Options) Off() bool { return o.Credentials == nil && o.Access == nil }

// handshakeTimeout bounds how long an end may take to say who it is, and maxHandshakes
// how many do so at the same time.
const (
	handshakeTimeout = 5 * time.Second
	maxHandshakes    = 256
)

// Listener returns a listener whose connections are of known identities
// ([IdentityOf]): with credentials, those that are not of a Unix socket are mutual TLS.
// It owns l. The error is Invalid if the credentials are no server's.
func (o Options) Listener(l net.Listener) (net.Listener, error) {
	if o.Off() {
		return l, nil
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &listener{
		Listener: l, o: o, slots: make(chan struct{}, maxHandshakes), ready: make(chan net.Conn), done: make(chan struct{}),
	}
	if o.Credentials != nil && l.Addr().Network() != "unix" {
		var err error
		if s.tls, err = o.Credentials.ServerConfig(o.Refuse); err != nil {
			return nil, err
		}
	}
	go s.accept()
	return s, nil
}

// Refuse returns an error for a certificate that was revoked.
func (o Options) Refuse(cert *x509.Certificate) error {
	if o.Access == nil {
		return nil
	}
	id, err := credentials.IdentityOf(cert)
	if err != nil {
		return err
	}
	if o.Access.Table().Revoked(id, credentials.SerialOf(cert)) != nil {
		return engram.Errorf(engram.Forbidden, string(id), "the certificate was revoked")
	}
	return nil
}

// listener finds out who connects, beside accepting others.
type listener struct {
	net.Listener
	o     Options
	tls   *tls.Config // nil: no TLS
	slots chan struct{}
	ready chan net.Conn
	done  chan struct{} // closed when accepting has ended
	err   error         // why; to be read after done

}

// Secure reports whether the listener's connections are mutual TLS.
func (l *listener) Secure() bool { return l.tls != nil }

// SecureListener reports whether a listener's connections are mutual TLS.
func SecureListener(l net.Listener) bool {
	s, ok := l.(interface{ Secure() bool })
	return ok && s.Secure()
}

func (l *listener) accept() {
	defer close(l.done)
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
				continue
			}
			if !errors.Is(err, net.ErrClosed) && tooMany(err) {
				time.Sleep(50 * time.Millisecond)
				continue
			}
			l.err = err
			return
		}
		l.slots <- struct{}{}
		go func() {
			defer func() { <-l.slots }()
			ready, err := l.identify(c)
			if err != nil {
				hangUp(c)
				l.o.Log.Debug("a connection was refused", "from", addressOf(c), "error", err)
				return
			}
			select {
			case l.ready <- ready:
			case <-l.done:
				ready.Close()
			}
		}()
	}
}

// hangUp closes a connection after the other end has had time to read why: closed at
// once, what it has sent meanwhile would reset the connection, and the alert be lost.
func hangUp(c net.Conn) {
	defer c.Close()
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, 64<<10)
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.done:
		return nil, l.err
	}
}

// identify finds out who is at the other end.
func (l *listener) identify(c net.Conn) (net.Conn, error) {
	raw := &conn{Conn: c, id: access.Anonymous}
	if l.tls == nil {
		if u, ok := c.(*net.UnixConn); ok {
			raw.id = userOf(u)
		}
		return raw, l.admit(raw, nil)
	}
	t := tls.Server(raw, l.tls)
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		if l.o.Access != nil {
			l.o.Access.Refused("", addressOf(c), err)
		}
		return nil, err
	}
	cert := t.ConnectionState().PeerCertificates[0]
	id, err := credentials.IdentityOf(cert)
	if err != nil {
		return nil, err
	}
	raw.id = id
	return t, l.admit(raw, cert)
}

// admit makes a connection known to the rules.
func (l *listener) admit(c *conn, cert *x509.Certificate) error {
	if l.o.Access == nil {
		return nil
	}
	var serial string
	var until time.Time
	if cert != nil {
		serial, until = credentials.SerialOf(cert), cert.NotAfter
	}
	end, err := l.o.Access.Connection(c.id, serial, until, addressOf(c), func(error) { c.Close() })
	if err != nil {
		return err
	}
	c.ends(end)
	return nil
}

// addressOf says from where a connection comes; on a Unix socket clients have no name.
func addressOf(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		if a.Network() == "unix" {
			return "unix"
		}
		return a.Network() + ":" + a.String()
	}
	return ""
}

// conn is a connection of a known identity.
type conn struct {
	net.Conn
	id access.Identity

	mu     sync.Mutex
	end    func() // nil if it is not known to the rules
	closed bool
}

// ends says what is to be called when the connection is closed.
func (c *conn) ends(end func()) {
	c.mu.Lock()
	closed := c.closed
	c.end = end
	c.mu.Unlock()
	if closed {
		end()
	}
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.mu.Lock()
	end := c.end
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first && end != nil {
		end()
	}
	return err
}

// IdentityOf returns who is at the other end of a connection that a [Options.Listener]
// accepted; ok is false for others.
func IdentityOf(c net.Conn) (id access.Identity, ok bool) {
	if t, is := c.(*tls.Conn); is {
		c = t.NetConn()
	}
	known, ok := c.(*conn)
	if !ok {
		return access.Anonymous, false
	}
	return known.id, true
}

// Client makes a connection to a server of the deployment one of mutual TLS. It owns
// c. address is for errors, which are Forbidden if one of both is not accepted.
func Client(ctx context.Context, s *credentials.Store, c net.Conn, address string) (net.Conn, error) {
	raw := &conn{Conn: c}
	t := tls.Client(raw, s.ClientConfig())
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	var end func()
	if err == nil {
		end, err = s.Reached(t.ConnectionState().PeerCertificates[0], func() { raw.Close() })
	}
	if err != nil {
		c.Close()
		return nil, handshakeError(err, address)
	}
	raw.ends(end)
	return t, nil
}

// AttendServers has the rules cut connections made with the credentials to servers that
// are revoked, and refuse others to them, until leave is called.
func (o Options) AttendServers() (leave func()) {
	if o.Credentials == nil || o.Access == nil {
		return func() {}
	}
	return o.Credentials.Attend(func(cert *x509.Certificate, cut func()) (end func(), err error) {
		id, err := credentials.IdentityOf(cert)
		if err != nil {
			return nil, err
		}
		return o.Access.Reached(id, credentials.SerialOf(cert), cert.NotAfter, func(error) { cut() })
	})
}

// ClaimOf returns the claim that a server hosts a memory, or a copy of it. memory is its
// name here; robot is the name of this robot, "" if it is not known.
func ClaimOf(memory, robot string, copied bool) credentials.Claim {
	of, name := engram.SplitName(memory)
	if of == "" {
		of = robot
	}
	return credentials.Claim{Robot: of, Memory: name, Copy: copied}
}

func handshakeError(err error, address string) error {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		return engram.Errorf(engram.Forbidden, address, "what answers here speaks no TLS, and this program has credentials; start the server with --credentials")
	case errors.Is(err, access.ErrRevoked):
		return &engram.Error{Code: engram.Forbidden, Thing: address, Msg: "the server is not believed: " + err.Error(), Err: credentials.ErrRevoked}
	case engram.CodeOf(err) == engram.Forbidden, engram.CodeOf(err) == engram.Invalid:
		return credentials.NotBelieved("the server is not believed: "+err.Error(), address)
	case Refused(err):
		return engram.Errorf(engram.Forbidden, address, "the server does not accept this program's certificate; it may be revoked, expired, or of another deployment: %w", err)
	}
	return engram.Errorf(engram.Unavailable, address, "no TLS connection: %w", err)
}

// Refused reports whether err says that the other end has refused this one's
// certificate.
func Refused(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}
