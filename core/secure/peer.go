package secure

import (
	"net"

	"github.com/seed-301d4374/engram/core/access"
)

// Peer is the process at the other end of a connection, as the kernel vouches for.
type Peer struct {
	PID int
	UID int
	GID int
}

// userOf returns the identity of a Unix socket's other end, Anonymous where the kernel
// does not tell.
func userOf(conn *net.UnixConn) access.Identity {
	p, err := PeerOf(conn)
	if err != nil {
		return access.Anonymous
	}
	return access.OfUser(p.UID)
}
