package rpc

import (
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/secure"
)

// Listen listens on "unix:/path", "http://host:port" or "host:port".
//
// A Unix socket has mode 0600 from its first moment. Its directory is made if
// there is none, with mode 0700. A socket that a dead server left is replaced; a
// live server's is not, AlreadyExists says that one is there. The same error is
// returned for a TCP port that is taken.
func Listen(address string) (net.Listener, error) {
	return ListenSecurely(address, secure.Options{})
}

// ListenSecurely is [Listen] for clients that prove who they are. With credentials,
// what comes over TCP is mutual TLS; "https://host:port" listens with credentials only.
func ListenSecurely(address string, o secure.Options) (net.Listener, error) {
	network, target, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(address, securePrefix) && o.Credentials == nil {
		return nil, engram.Errorf(engram.Invalid, address, "one listens at https:// with credentials; make some with 'engram auth add --server NAME' and give them with --credentials")
	}
	l, err := listen(address, network, target)
	if err != nil {
		return nil, err
	}
	secured, err := o.Listener(l)
	if err != nil {
		l.Close()
		return nil, err
	}
	return secured, nil
}

// listen listens at an address, which is taken apart into network and target.
func listen(address, network, target string) (net.Listener, error) {
	switch network {
	case "unix":
		return listenUnix(target)
	case backboneNetwork:
		return nil, engram.Errorf(engram.Invalid, address, "one does not listen at an address of the backbone; a server that has a backbone can be reached through it by itself")
	}
	l, err := net.Listen(network, target)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, engram.Errorf(engram.AlreadyExists, address, "another program listens here; stop it, or listen elsewhere: %w", err)
	case err != nil:
		return nil, engram.Errorf(engram.Unavailable, address, "cannot listen here: %w", err)
	}
	return l, nil
}
