package embedded

import (
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/access/credentials"
	"github.com/seed-301d4374/engram/transport/secure"
)

// secured makes all that the server listens for mutual TLS, and the leaf nodes and
// routes that it opens. Servers of the deployment may do everything on the fabric.
// Programs may only use it to reach servers; where there are rules, only those may
// that may read everything, since the fabric tells all names.
func (e *Server) secured(o *server.Options) error {
	s := e.o.Secure
	if s.Credentials == nil {
		return nil
	}
	var err error
	if o.TLSConfig, err = s.Credentials.ServerConfig(s.Refuse); err != nil {
		return err
	}
	o.TLSConfig.NextProtos = nil
	o.TLS, o.TLSVerify = true, true
	o.TLSTimeout, o.LeafNode.TLSTimeout, o.Cluster.TLSTimeout = tlsSeconds, tlsSeconds, tlsSeconds
	peers, err := s.Credentials.PeerConfig(s.Refuse)
	if err != nil {
		return err
	}
	if e.o.LeafListen != "" {
		o.LeafNode.TLSConfig = peers
	}
	for _, r := range o.LeafNode.Remotes {
		r.TLS, r.TLSConfig, r.TLSTimeout = true, peers, tlsSeconds
	}
	if e.o.Cluster != "" {
		o.Cluster.TLSConfig = peers
	}
	o.CustomClientAuthentication = &admission{disconnect: func(number uint64) error { return e.s.DisconnectClientByID(number) }, secure: s, open: map[server.ClientAuthentication]func(){}}
	return nil
}

// tlsSeconds is how long a TLS handshake may take; radio links are slow.
const tlsSeconds = 10

// admission decides who may connect. It implements server.Authentication.
type admission struct {
	disconnect func(number uint64) error // fails for those that are not there, or not yet
	secure     secure.Options

	mu   sync.Mutex
	open map[server.ClientAuthentication]func() // what the rules know of
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
	isServer := credentials.IsServer(cert)
	switch {
	case c.Kind() != server.CLIENT:
		if !isServer {
			return false
		}
	case isServer:
		c.RegisterUser(&server.User{Username: string(id)})
	case a.secure.Access != nil && !a.secure.Access.Allows(id, access.Read, engram.ID{}):
		a.secure.Access.Refused(id, address(c), engram.Errorf(engram.Forbidden, string(id), "only servers, and programs that may read everything, may be on the backbone"))
		return false
	default:
		c.RegisterUser(&server.User{Username: string(id), Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: mayPublish},
			Subscribe: &server.SubjectPermission{Allow: mayHear},
		}})
	}
	if a.secure.Access == nil {
		return true
	}
	end, err := a.secure.Access.Connection(id, credentials.SerialOf(cert), cert.NotAfter, address(c), func(error) { a.cut(c) })
	if err != nil {
		return false
	}
	a.keep(c, end)
	return true
}

// What programs may do on the fabric: look names up, hear what is told of names and
// updates, and reach servers through tunnels. All else is refused: of JetStream's
// interface, also under the domain's name, a good part could be used to speak for servers
// or to change names.
var (
	mayPublish = []string{
		"engram.names", "engram.dial.*", "engram.tunnel.>",
		"$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*", "$JS.API.DIRECT.GET.>",
		"$JS.API.CONSUMER.CREATE.*.>", "$JS.API.CONSUMER.CREATE.*", "$JS.API.CONSUMER.INFO.>", "$JS.API.CONSUMER.DELETE.>", "$JS.FC.>",
	}
	mayHear = []string{"_INBOX.>", "engram.names.>", "engram.update.>", "engram.tunnel.>"}
)

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
func (a *admission) keep(c server.ClientAuthentication, end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, ended := range a.open {
		if gone(other) {
			ended()
			delete(a.open, other)
		}
	}
	a.open[c] = end
}

func inProcess(remote net.Addr) bool { return remote != nil && remote.Network() == "pipe" }

func address(c server.ClientAuthentication) string {
	if a := c.RemoteAddress(); a != nil {
		return "nats: " + a.String()
	}
	return "nats"
}
