package main

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/access/credentials"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/ops/health"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/secure"
)

// addSecurityFlags adds the flags that say who may do what.
func addSecurityFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("credentials", "", "this server's credentials ('engram auth add --server NAME'): whoever connects over TCP\nor the backbone must have some of the same authority (default: no TLS)")
	f.String("access", "", "the rules of who may do what ('engram auth rule'), read again when they change\n(default: who can connect may do everything)")
}

// securitySettings are the files that say who may do what, "" for none.
type securitySettings struct{ credentials, access string }

// readSecuritySettings reads the flags and looks whether the files are right.
func readSecuritySettings(cmd *cobra.Command) (s securitySettings, err error) {
	s.credentials, _ = cmd.Flags().GetString("credentials")
	s.access, _ = cmd.Flags().GetString("access")
	var wrong []error
	if s.credentials != "" {
		store, err := credentials.Load(s.credentials, nil)
		if err == nil {
			_, err = store.ServerConfig(nil)
		}
		if err != nil {
			wrong = append(wrong, usagef("--credentials: %w", err))
		}
	}
	if s.access != "" {
		text, err := access.ReadFile(s.access, false)
		if err == nil {
			_, err = access.Parse(text)
		}
		if err != nil {
			wrong = append(wrong, usagef("--access: %w", inFile(s.access, err)))
		}
	}
	return s, errors.Join(wrong...)
}

// hostSecurity is who may do what at a host.
type hostSecurity struct {
	secure.Options
	audit *memories.Audit
}

// startSecurity reads the files. With credentials and no rules, who has credentials
// may do everything, and is noted.
func startSecurity(s securitySettings) (h hostSecurity, err error) {
	if s == (securitySettings{}) {
		return h, nil
	}
	h.audit = memories.NewAudit(slog.Default())
	if s.credentials != "" {
		if h.Credentials, err = credentials.Load(s.credentials, slog.Default()); err != nil {
			return h, err
		}
	}
	o := access.Options{Audit: h.audit, Log: slog.Default()}
	if h.Access, err = access.Load(s.access, o); err != nil {
		return h, err
	}
	h.AttendServers()
	return h, nil
}

// mayServe returns a Forbidden error if the server's credentials do not let it serve
// memories, or copies of them: nobody would believe it.
func (h *host) mayServe(memories []string, copied bool) error {
	if h.security.Credentials == nil {
		return nil
	}
	cert := h.security.Credentials.Current().Cert
	may, err := credentials.ServingOf(cert)
	if err != nil {
		return err
	}
	for _, m := range memories {
		if claim := secure.ClaimOf(m, h.robot, copied); !may.Allows(claim) {
			return engram.Errorf(engram.Forbidden, m, "the credentials of %q let this server serve %v, but not %v, which nobody would believe; leave it out, or make others with 'engram auth rotate %s --serve … --hold …'",
				cert.Subject.CommonName, may, claim, cert.Subject.CommonName)
		}
	}
	return nil
}

// believedCopies returns those of the memories of which the server holds copies that the
// others would believe it to hold.
func (h *host) believedCopies(memories []string) []string {
	return slices.DeleteFunc(slices.Clone(memories), func(m string) bool {
		err := h.mayServe([]string{m}, true)
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

// rest ends what [host.heedCredentials] began.
func (c *heldCopies) rest() {
	if c.stop != nil {
		c.stop()
		c.heeding.Wait()
	}
}

// holds tells the name system of which memories the server holds copies.
func (h *host) holds(memories []string) {
	h.held.mu.Lock()
	defer h.held.mu.Unlock()
	h.held.memories = slices.Clone(memories)
	h.kept.SetCopies(h.believedCopies(memories))
}

// heedCredentials looks every second, until the host is closed, whether the server has
// other credentials.
func (h *host) heedCredentials() {
	if h.security.Credentials == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	h.held.stop = stop
	h.held.heeding.Go(func() {
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-tick.C:
				h.recertified()
			case <-ctx.Done():
				tick.Stop()
				return
			}
		}
	})
}

// recertified announces the copies anew if the server has other credentials, of which
// those allow others, and logs what it hosts and may not serve any more.
func (h *host) recertified() {
	h.held.mu.Lock()
	defer h.held.mu.Unlock()
	cert := h.security.Credentials.Current().Cert
	if cert == h.held.cert {
		return
	}
	h.held.cert = cert
	if err := h.mayServe(h.Memories(), false); err != nil {
		slog.Error("the server has other credentials, by which nobody believes it any more", "error", err)
	}
	h.kept.SetCopies(h.believedCopies(h.held.memories))
}

// servingHealth tells whether the credentials let the server serve what it hosts: others
// believe it all or nothing.
func (h *host) servingHealth() (health.Status, string) {
	if err := h.mayServe(h.Memories(), false); err != nil {
		return health.Failed, err.Error()
	}
	return health.OK, ""
}

// begin begins to keep what happens in the server's memory.
func (h *hostSecurity) begin(srv *server.Server) {
	if h.audit != nil {
		h.audit.Begin(srv, slices.Contains(srv.Memories(), "SystemState"))
	}
}

// close ends it; the server must still be there.
func (h *hostSecurity) close() error {
	var err error
	if h.Access != nil {
		err = h.Access.Close()
	}
	if h.audit != nil {
		h.audit.Close()
	}
	return err
}
