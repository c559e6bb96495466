package node

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/mind/memories"
)

// guard is who may do what at a node.
type guard struct {
	secure.Options
	audit *memories.Audit
}

// startSecurity reads the files. With credentials and no rules, who has credentials
// may do everything, and is noted.
func startSecurity(s Security) (g guard, err error) {
	if s.Credentials == "" && s.Access == "" {
		return g, nil
	}
	g.audit = memories.NewAudit(slog.Default())
	if s.Credentials != "" {
		if g.Credentials, err = credentials.Load(s.Credentials, slog.Default()); err != nil {
			return g, err
		}
	}
	o := access.Options{Audit: g.audit, Log: slog.Default()}
	if g.Access, err = access.Load(s.Access, o); err != nil {
		return g, err
	}
	g.AttendServers()
	return g, nil
}

// mayServe returns a Forbidden error if the server's credentials do not let it serve
// memories, or copies of them: nobody would believe it.
func (n *Node) mayServe(memories []string, copied bool) error {
	if n.security.Credentials == nil {
		return nil
	}
	cert := n.security.Credentials.Current().Cert
	may, err := credentials.ServingOf(cert)
	if err != nil {
		return err
	}
	for _, m := range memories {
		if claim := secure.ClaimOf(m, n.robot, copied); !may.Allows(claim) {
			return engram.Errorf(engram.Forbidden, m, "the credentials of %q let this server serve %v, but not %v, which nobody would believe; leave it out, or make others with 'engram auth rotate %s --serve … --hold …'",
				cert.Subject.CommonName, may, claim, cert.Subject.CommonName)
		}
	}
	return nil
}

// believedCopies returns those of the memories of which the server holds copies that the
// others would believe it to hold.
func (n *Node) believedCopies(memories []string) []string {
	return slices.DeleteFunc(slices.Clone(memories), func(m string) bool {
		err := n.mayServe([]string{m}, true)
		if err != nil {
			slog.Warn("a copy is held, but not announced", "error", err)
		}
		return err != nil
	})
}

// heldCopies is of which memories a server holds copies, and the certificate by which
// others believe that.
type heldCopies struct {
	mu       sync.Mutex
	memories []string
	cert     *x509.Certificate

	stop    context.CancelFunc // nil without credentials
	heeding sync.WaitGroup
}

// rest ends what [Node.heedCredentials] began.
func (c *heldCopies) rest() {
	if c.stop != nil {
		c.stop()
		c.heeding.Wait()
	}
}

// holds tells the name system of which memories the server holds copies.
func (n *Node) holds(memories []string) {
	n.held.mu.Lock()
	defer n.held.mu.Unlock()
	n.held.memories = slices.Clone(memories)
	n.kept.SetCopies(n.believedCopies(memories))
}

// heedCredentials looks every second, until the node is closed, whether the server has
// other credentials.
func (n *Node) heedCredentials() {
	if n.security.Credentials == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	n.held.stop = stop
	n.held.heeding.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				n.recertified()
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	})
}

// recertified announces the copies anew if the server has other credentials, of which
// those allow others, and logs what it hosts and may not serve any more.
func (n *Node) recertified() {
	n.held.mu.Lock()
	defer n.held.mu.Unlock()
	cert := n.security.Credentials.Current().Cert
	if cert == n.held.cert {
		return
	}
	n.held.cert = cert
	if err := n.mayServe(n.srv.Memories(), false); err != nil {
		slog.Error("the server has other credentials, by which nobody believes it any more", "error", err)
	}
	n.kept.SetCopies(n.believedCopies(n.held.memories))
}

// servingHealth tells whether the credentials let the server serve what it hosts: others
// believe it all or nothing.
func (n *Node) servingHealth() (health.Status, string) {
	if err := n.mayServe(n.srv.Memories(), false); err != nil {
		return health.Failed, err.Error()
	}
	return health.OK, ""
}

// begin begins to keep what happens in the server's memory.
func (g *guard) begin(srv *server.Server) {
	if g.audit != nil {
		g.audit.Begin(srv, slices.Contains(srv.Memories(), "SystemState"))
	}
}

// auditNames notes which servers have the memories of the backbone that this process
// embeds, until ctx ends: each is registered by its own server, not through this one.
func (g *guard) auditNames(ctx context.Context, names mns.Registry) {
	for ctx.Err() == nil {
		for e, err := range names.Watch(ctx) {
			if err != nil {
				break // the backbone began anew: what was there is told again
			}
			switch {
			case e.Synced:
			case e.Removed:
				g.audit.Audit(access.Event{Kind: access.EventNames, Thing: e.Entry.Memory, Text: "no server serves it any more"})
			default:
				g.audit.Audit(access.Event{Kind: access.EventNames, Thing: e.Entry.Memory, Text: fmt.Sprintf("the server %q serves it", e.Entry.Server)})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// close ends it; the server must still be there.
func (g *guard) close() error {
	var err error
	if g.Access != nil {
		err = g.Access.Close()
	}
	if g.audit != nil {
		g.audit.Close()
	}
	return err
}
