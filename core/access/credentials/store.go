package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Store is a file of credentials in use. A file that was replaced, such as by
// 'engram auth rotate', counts for the connections that come; what cannot be read is
// logged, and what was read before goes on. Safe for concurrent use.
type Store struct {
	of   *Store // that it is apart from; nil for one of its own
	file string
	log  *slog.Logger

	mu      sync.Mutex
	attend  []*Attendant
	bundle  *Bundle
	read    os.FileInfo // of the file when it was read
	failure string
}

// Load reads credentials. log may be nil.
func Load(file string, log *slog.Logger) (*Store, error) {
	b, err := readFile(file)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	info, _ := os.Stat(file) // nil means that it is read again
	return &Store{file: file, log: log, bundle: b, read: info}, nil
}

// Of returns a store of credentials that are in no file.
func Of(b *Bundle) *Store { return &Store{bundle: b} }

// Apart returns a store of the same credentials, for the connections of one part of a
// program: its attendants attend them and no others, beside those of s.
func (s *Store) Apart() *Store { return &Store{of: s} }

// Current returns the credentials as they are now: the file is looked at each time,
// which costs little beside the handshake that asks.
func (s *Store) Current() *Bundle {
	if s.of != nil {
		return s.of.Current()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != "" {
		s.lookLocked()
	}
	return s.bundle
}

func (s *Store) lookLocked() {
	info, err := os.Stat(s.file)
	if err == nil && s.read != nil && os.SameFile(info, s.read) && info.ModTime().Equal(s.read.ModTime()) && info.Size() == s.read.Size() {
		return
	}
	var b *Bundle
	if err == nil {
		b, err = readFile(s.file)
	}
	if err != nil {
		if text := err.Error(); text != s.failure {
			s.failure = text
			s.log.Error("the credentials have changed and cannot be read; those before go on", "error", err)
		}
		return
	}
	s.bundle, s.read, s.failure = b, info, ""
	s.log.Info("the credentials have changed", "file", s.file, "until", b.Cert.NotAfter.Format(time.RFC3339))
}

// Identity returns whom the credentials are of.
func (s *Store) Identity() access.Identity {
	id, err := s.Current().Identity()
	if err != nil {
		panic(err) // Parse has looked
	}
	return id
}

// ServerConfig returns the TLS configuration of a listener: TLS 1.3, and a certificate
// of the deployment from whoever connects. refuse, unless it is nil, may refuse a
// certificate that is valid. The error is Invalid if the credentials are no server's.
func (s *Store) ServerConfig(refuse func(*x509.Certificate) error) (*tls.Config, error) {
	if !s.Current().IsServer() {
		return nil, engram.Errorf(engram.Invalid, s.file, "these credentials are no server's; make some with 'engram auth add --server NAME'")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2", "http/1.1"},
		ClientAuth: tls.RequireAnyClientCert, // verified below, by the authorities there are then
		// Resumed sessions would skip looking at what was revoked meanwhile.
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.Current().tls(), nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			cert, err := s.verify(state, x509.ExtKeyUsageClientAuth)
			if err != nil || refuse == nil {
				return err
			}
			return refuse(cert)
		},
	}, nil
}

// ClientConfig returns the TLS configuration for connecting to servers of the
// deployment.
func (s *Store) ClientConfig() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{"h2"},
		InsecureSkipVerify: true, // of the host's name; VerifyConnection does the rest
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return s.Current().tls(), nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			cert, err := s.verify(state, x509.ExtKeyUsageServerAuth)
			if err != nil {
				return err
			}
			end, err := s.Reached(cert, func() {})
			if err != nil {
				return err
			}
			end()
			return nil
		},
	}
}

// Attendant is told of each server that was connected to, by its certificate: it may
// refuse it, or call cut, at most once and from another goroutine, when the connection
// is to be closed. end is called when it is closed.
type Attendant func(server *x509.Certificate, cut func()) (end func(), err error)

// Attend has the connections made with the credentials from now on attended, until leave
// is called. There may be several attendants.
func (s *Store) Attend(a Attendant) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attend = append(slices.Clone(s.attend), &a)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attend = slices.DeleteFunc(slices.Clone(s.attend), func(other *Attendant) bool { return other == &a })
	}
}

// Reached tells the attendants of a connection to a server; the first that refuses it is
// the answer. cut may be called by each of them.
func (s *Store) Reached(server *x509.Certificate, cut func()) (end func(), err error) {
	var attend []*Attendant
	for from := s; from != nil; from = from.of {
		from.mu.Lock()
		attend = append(attend, from.attend...)
		from.mu.Unlock()
	}
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	for _, a := range attend {
		one, err := (*a)(server, cut)
		if err != nil {
			end()
			return nil, err
		}
		ends = append(ends, one)
	}
	return end, nil
}

// PeerConfig returns the TLS configuration between servers of the deployment, for either
// end. refuse is as in [Store.ServerConfig].
func (s *Store) PeerConfig(refuse func(*x509.Certificate) error) (*tls.Config, error) {
	c, err := s.ServerConfig(nil)
	if err != nil {
		return nil, err
	}
	c.NextProtos = nil
	c.InsecureSkipVerify = true // of the host's name, as in ClientConfig
	c.GetClientCertificate = s.ClientConfig().GetClientCertificate
	c.VerifyConnection = func(state tls.ConnectionState) error {
		cert, err := s.verify(state, x509.ExtKeyUsageServerAuth)
		if err != nil || refuse == nil {
			return err
		}
		return refuse(cert)
	}
	return c, nil
}

// verify verifies the other end's certificate.
func (s *Store) verify(state tls.ConnectionState, usage x509.ExtKeyUsage) (*x509.Certificate, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, engram.Errorf(engram.Forbidden, "", "the other end has no certificate")
	}
	cert := state.PeerCertificates[0]
	if _, err := IdentityOf(cert); err != nil {
		return nil, err
	}
	_, err := cert.Verify(x509.VerifyOptions{Roots: s.Current().pool(), KeyUsages: []x509.ExtKeyUsage{usage}})
	if err != nil {
		return nil, engram.Errorf(engram.Forbidden, "", "the certificate of %q is not accepted: %w", cert.Subject.CommonName, err)
	}
	return cert, nil
}
