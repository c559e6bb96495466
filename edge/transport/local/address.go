package local

import (
	"net"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// scheme begins the addresses of this package: local:/path.
const scheme = "local:"

// path returns the path in an address.
func path(address string) (string, error) {
	p, ok := strings.CutPrefix(address, scheme)
	if !ok || p == "" {
		return "", engram.Errorf(engram.Invalid, address, "not the address of a local socket; write local:/path/engram.local")
	}
	return p, nil
}

// Beside returns the address of the local socket that belongs to a server which
// also listens at address: of unix:/path/engram.sock it is local:/path/engram.local.
// ok is false if address is not that of a Unix socket.
func Beside(address string) (local string, ok bool) {
	p, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return "", false
	}
	return scheme + strings.TrimSuffix(strings.TrimPrefix(p, "//"), ".sock") + ".local", true
}

// Listen listens at an address, in the way of edge/transport/rpc: for this user only,
// in the place of a socket that a dead server left, but never of a live one's.
func Listen(address string) (net.Listener, error) {
	p, err := path(address)
	if err != nil {
		return nil, err
	}
	return rpc.Listen("unix:" + p)
}
