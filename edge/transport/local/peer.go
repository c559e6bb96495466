package local

import (
	"context"

	"github.com/seed-301d4374/engram/core/secure"
)

// Peer is the process at the other end of a connection, as the kernel vouches for.
type Peer = secure.Peer

type peerKey struct{}

// PeerOf returns who made the call that ctx belongs to; ok is false if it did not
// come through this package, or on a system whose kernel does not tell.
func PeerOf(ctx context.Context) (p Peer, ok bool) {
	p, ok = ctx.Value(peerKey{}).(Peer)
	return p, ok
}
