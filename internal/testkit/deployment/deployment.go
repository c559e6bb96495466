// Package deployment is the authority of a deployment for tests, and the credentials that
// it issues.
//
// It is no public API: tests of several wings share it.
package deployment

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// valid is longer than any test.
const valid = 24 * time.Hour

// Deployment is an authority.
type Deployment struct{ authority *credentials.Authority }

// New makes the authority of a deployment "test".
func New(t testing.TB) Deployment {
	t.Helper()
	a, err := credentials.NewAuthority("test", valid)
	if err != nil {
		t.Fatal(err)
	}
	return Deployment{a}
}

// Program issues the credentials of a program.
func (d Deployment) Program(t testing.TB, id access.Identity) *credentials.Store {
	t.Helper()
	return d.For(t, id, false, valid)
}

// Server issues the credentials of a server that may serve its own memories, or
// everything if none are named.
func (d Deployment) Server(t testing.TB, id access.Identity, own ...string) *credentials.Store {
	t.Helper()
	return d.Serving(t, id, credentials.Serving{Own: own})
}

// Serving issues the credentials of a server that may serve own memories and copies.
func (d Deployment) Serving(t testing.TB, id access.Identity, s credentials.Serving) *credentials.Store {
	t.Helper()
	b, err := d.authority.Issue(id, true, s, valid)
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Of(b)
}

// For issues the credentials of a program, or of a server that may serve everything, for
// a time.
func (d Deployment) For(t testing.TB, id access.Identity, server bool, valid time.Duration) *credentials.Store {
	t.Helper()
	b, err := d.authority.Issue(id, server, credentials.Serving{}, valid)
	if err != nil {
		t.Fatal(err)
	}
	return credentials.Of(b)
}

// Write writes credentials to a file.
func Write(t testing.TB, file string, s *credentials.Store) {
	t.Helper()
	text, err := s.Current().Encode()
	if err == nil {
		err = access.WriteFile(file, text)
	}
	if err != nil {
		t.Fatal(err)
	}
}
