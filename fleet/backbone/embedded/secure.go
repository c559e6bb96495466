package embedded

import (
	"crypto/x509"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
)

// secured makes all that the server listens for mutual TLS, and the leaf nodes and
// routes that it opens. What programs, servers and leaf nodes may do on the fabric stands
// in grants.go. Where there are rules, only those programs may be on it that may read
// everything, since it tells all names. It returns who decides, nil without credentials.
func secured(from Options, o *server.Options) (a *admission, err error) {
	s := from.Secure
	if s.Credentials == nil {
		return nil, nil
	}
	if o.TLSConfig, err = s.Credentials.ServerConfig(s.Refuse); err != nil {
		return nil, err
	}
	o.TLSConfig.NextProtos = nil
	o.TLS, o.TLSVerify = true, true
	o.TLSTimeout, o.LeafNode.TLSTimeout, o.Cluster.TLSTimeout = tlsSeconds, tlsSeconds, tlsSeconds
	peers, err := s.Credentials.PeerConfig(s.Refuse)
	if err != nil {
		return nil, err
	}
	if from.LeafListen != "" {
		o.LeafNode.TLSConfig = peers
	}
	for _, r := range o.LeafNode.Remotes {
		r.TLS, r.TLSConfig, r.TLSTimeout = true, peers, tlsSeconds
		r.DenyImports, r.DenyExports = notAcross, notAcross
	}
	if from.Cluster != "" {
		o.Cluster.TLSConfig = peers
	}
	a = &admission{robot: from.Robot, secure: s, open: map[server.ClientAuthentication]admitted{}}
	o.CustomClientAuthentication = a
	return a, nil
}

// tlsSeconds is how long a TLS handshake may take; radio links are slow.
const tlsSeconds = 10

// admission decides who may connect. It implements server.Authentication.
type admission struct {
	robot      string
	disconnect func(number uint64) error // fails for those that are not there, or not yet
	secure     secure.Options

	mu   sync.Mutex
	open map[server.ClientAuthentication]admitted
}

// admitted is a connection that the rules know of.
type admitted struct {
	number uint64
	id     access.Identity
	from   string
	end    func() // has the rules forget it
}

// Check implements server.Authentication.
func (a *admission) Check(c server.ClientAuthentication) bool {
	state := c.GetTLSConnectionState()
	if state == nil || len(state.PeerCertificates) == 0 {
		// All that is not of this process must have made a handshake to come so far.
		return inProcess(c.RemoteAddress())
	}
	cert := state.PeerCertificates[0]
	id, err := credentials.IdentityOf(cert)
	if err != nil {
		return false
	}
	grant, err := a.grant(c.Kind(), id, cert)
	if err != nil {
		if a.secure.Access != nil {
			a.secure.Access.Refused(id, address(c), err)
		}
		return false
	}
	c.RegisterUser(&server.User{Username: string(id), Permissions: grant})
	if a.secure.Access == nil {
		return true
	}
	end, err := a.secure.Access.Connection(id, credentials.SerialOf(cert), cert.NotAfter, address(c), func(error) { a.cut(c) })
	if err != nil {
		return false
	}
	a.keep(c, admitted{c.GetID(), id, address(c), end})
	return true
}

// grant returns what a certificate may do by a connection of some kind; nil is
// everything.
func (a *admission) grant(kind int, id access.Identity, cert *x509.Certificate) (*server.Permissions, error) {
	isServer := credentials.IsServer(cert)
	serving, err := credentials.ServingOf(cert)
	readsAll := a.secure.Access == nil || a.secure.Access.Allows(id, access.Read, engram.ID{})
	switch {
	case err != nil:
		return nil, err
	case kind == server.CLIENT && isServer:
		return ofServer(id, serving, a.robot, readsAll), nil
	case kind == server.CLIENT && readsAll:
		return ofProgram(id, a.robot), nil
	case kind == server.CLIENT:
		return nil, engram.Errorf(engram.Forbidden, string(id), "only servers, and programs that may read everything, may be on the backbone")
	case !isServer:
		return nil, engram.Errorf(engram.Forbidden, string(id), "only servers may join their backbone to this one")
	case kind == server.LEAF:
		return ofLeaf(serving, readsAll), nil
	}
	return nil, nil // servers of one cluster are one fabric
}

// cut ends a connection. The NATS server finds one by its number only a moment after it
// has been admitted.
func (a *admission) cut(c server.ClientAuthentication) {
	number := c.GetID()
	if a.disconnect(number) == nil {
		return
	}
	go func() {
		for !gone(c) && a.disconnect(number) != nil {
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

// gone reports whether a connection has ended.
func gone(c server.ClientAuthentication) bool { return c.RemoteAddress() == nil }

// keep notes a connection, and forgets those that have ended: the NATS server does
// not tell.
func (a *admission) keep(c server.ClientAuthentication, by admitted) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, ended := range a.open {
		if gone(other) {
			ended.end()
			delete(a.open, other)
		}
	}
	a.open[c] = by
}

// violation is how the NATS server's log says that a client or a leaf node did what its
// permissions deny. What stands between the number and the violation is the client's word.
var violation = regexp.MustCompile(`^\S+ - [cl]id:(\d+) .*\b(Publish|Subscription|Subscribe) Violation[^"]* "([^"]*)"`)

// denied notes who did what it may not, if that is what a line of the NATS server's log
// says; it reports whether it has.
func (a *admission) denied(line string) bool {
	found := violation.FindStringSubmatch(line)
	if found == nil || a.secure.Access == nil {
		return false
	}
	number, _ := strconv.ParseUint(found[1], 10, 64) // a number beyond is nobody's
	a.mu.Lock()
	var by admitted
	for _, known := range a.open {
		if known.number == number {
			by = known
		}
	}
	a.mu.Unlock()
	what := "subscribe to"
	if found[2] == "Publish" {
		what = "publish on"
	}
	a.secure.Access.Denied(by.id, by.from, found[3], "its certificate and the rules do not let it "+what+" this on the backbone")
	return true
}

func inProcess(remote net.Addr) bool { return remote != nil && remote.Network() == "pipe" }

func address(c server.ClientAuthentication) string {
	if a := c.RemoteAddress(); a != nil {
		return "nats: " + a.String()
	}
	return "nats"
}
