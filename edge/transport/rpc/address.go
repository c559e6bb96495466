package rpc

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/secure"
)

// DefaultTCP is where a server listens, and a client looks, on TCP by default.
const DefaultTCP = "http://127.0.0.1:7411"

// BackboneScheme begins the addresses of servers that are reached through the
// backbone.
const BackboneScheme = backboneNetwork + ":"

// backboneNetwork is the network of the listeners of package backbone.
const backboneNetwork = "nats"

// DefaultSocket returns the address of the Unix socket where a server of this user
// listens, and a client looks, by default: unix:$XDG_RUNTIME_DIR/engram.sock, or
// unix:/tmp/engram-<user id>/engram.sock where there is no such directory.
func DefaultSocket() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return "unix:" + filepath.Join(dir, "engram.sock")
	}
	return "unix:" + fallbackSocket()
}

func fallbackSocket() string {
	return filepath.Join(os.TempDir(), "engram-"+strconv.Itoa(os.Getuid()), "engram.sock")
}

// DefaultAddresses returns where a server listens by default, and where a client
// looks for one, in that order.
func DefaultAddresses() []string { return []string{DefaultSocket(), DefaultTCP} }

// splitAddress takes an address apart into what package net wants. Addresses are
// "unix:/path", "https://host:port" and "http://host:port", "host:port", and "nats:server" for the server of
// that name on the backbone.
func splitAddress(address string) (network, target string, err error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		path = strings.TrimPrefix(path, "//") // unix:///path, as gRPC writes it
		if path == "" {
			return "", "", engram.Errorf(engram.Invalid, address, "the address of a Unix socket has no path; write unix:/path/engram.sock")
		}
		return "unix", path, nil
	}
	if server, ok := strings.CutPrefix(address, BackboneScheme); ok && !strings.HasPrefix(server, "//") {
		if server == "" {
			return "", "", engram.Errorf(engram.Invalid, address, "the address on the backbone names no server")
		}
		return backboneNetwork, server, nil
	}
	if at := strings.LastIndexByte(address, '@'); at >= 0 { // before which a password may stand
		return "", "", engram.Errorf(engram.Invalid, "xxxxx"+address[at:], "an address names no user; write unix:/path, http://host:port or host:port, and say who you are by credentials")
	}
	hostPort := address
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return "", "", engram.Errorf(engram.Invalid, address, "not an address; write http://host:port")
		case u.Scheme != "http" && u.Scheme != "https":
			return "", "", engram.Errorf(engram.Unsupported, address, "addresses begin with https://, http:// or unix:, not with %s://", u.Scheme)
		case u.Path != "" && u.Path != "/" || u.RawQuery != "":
			return "", "", engram.Errorf(engram.Invalid, address, "an address ends after its port")
		}
		hostPort = u.Host
	}
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil || port == "" {
		return "", "", engram.Errorf(engram.Invalid, address, "not an address; write unix:/path, http://host:port or host:port")
	}
	return "tcp", net.JoinHostPort(host, port), nil
}

// CheckAddress returns an error if no client can dial the address.
func CheckAddress(address string) error {
	network, target, err := splitAddress(address)
	if err != nil || network != "tcp" {
		return err
	}
	host, port, _ := net.SplitHostPort(target) // as it was joined
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return engram.Errorf(engram.Invalid, address, "a port is a number from 1 to 65535")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return engram.Errorf(engram.Invalid, address, "no host is named; write http://host:port")
	}
	return nil
}

// AddressOf returns the address under which a client on this host reaches a
// listener: that of a wildcard listener is the loopback's.
func AddressOf(l net.Listener) string {
	a := l.Addr()
	switch a.Network() {
	case "unix":
		return "unix:" + a.String()
	case backboneNetwork:
		return BackboneScheme + a.String()
	}
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http://"
	if secure.SecureListener(l) {
		scheme = securePrefix
	}
	return scheme + net.JoinHostPort(host, port)
}

// securePrefix begins the addresses of servers that speak TLS.
const securePrefix = "https://"
