//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package rpc

import (
	"net"

	"github.com/seed-301d4374/engram"
)

func listenUnix(path string) (net.Listener, error) {
	return nil, engram.Errorf(engram.Unsupported, "unix:"+path, "Unix sockets are not supported on this system; listen on 127.0.0.1")
}

func checkSocketDir(string) error { return nil }
