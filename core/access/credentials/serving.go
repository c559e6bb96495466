package credentials

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// What begins the URIs in a server's certificate that say what it may serve.
const (
	serveURI = "serve:"
	holdURI  = "hold:"
)

// Serving says which memories a server may serve. The zero Serving is about every
// memory of every robot, as are certificates that say nothing of it.
type Serving struct {
	// Own lists the memories of which it may be the owner, "ROBOT:MEMORY" each; "*"
	// stands for any characters. "MEMORY" alone is that of any robot.
	Own []string `json:"serve,omitempty"`
	// Copies lists in the same way the memories of which it may hold copies, beside
	// those of which it may be the owner.
	Copies []string `json:"hold,omitempty"`
}

// maxServing bounds the patterns of a certificate, which is sent in each handshake.
const maxServing = 64

// Check returns an Invalid or Exhausted error if a pattern can match no memory, or there
// are too many.
func (s Serving) Check() error {
	if n := len(s.Own) + len(s.Copies); n > maxServing {
		return engram.Errorf(engram.Exhausted, "", "a certificate names at most %d patterns of memories, not %d; use \"*\"", maxServing, n)
	}
	if len(s.Own) == 0 && len(s.Copies) > 0 {
		return engram.Errorf(engram.Invalid, "", "say which memories it may serve, too, not only of which it may hold copies")
	}
	for _, p := range slices.Concat(s.Own, s.Copies) {
		robot, memory := SplitServing(p)
		if robot == "" || memory == "" || len(p) > 2*access.MaxIdentityLen || strings.ContainsAny(p, "/\x00\n") || strings.Contains(memory, ":") {
			return engram.Errorf(engram.Invalid, fmt.Sprintf("%.64q", p), "no memories of a robot; write ROBOT:MEMORY, such as robot1:Object, or 'robot1:*' for all of one robot")
		}
	}
	return nil
}

// SplitServing takes a pattern of [Serving] apart; "*" is the robot of one that names none.
func SplitServing(pattern string) (robot, memory string) {
	if robot, memory, ok := strings.Cut(pattern, ":"); ok {
		return robot, memory
	}
	return "*", pattern
}

// All reports whether every memory of every robot may be served.
func (s Serving) All() bool { return len(s.Own) == 0 }

// String returns the patterns in words.
func (s Serving) String() string {
	if s.All() {
		return "every memory of every robot"
	}
	text := strings.Join(s.Own, ", ")
	if len(s.Copies) > 0 {
		text += ", copies of " + strings.Join(s.Copies, ", ")
	}
	return text
}

// Claim is what the names say that a server serves.
type Claim struct {
	Robot  string // whose memory it is; "" where that is not known: then any robot's may be meant
	Memory string // its name there
	Copy   bool   // a copy of it, not the memory itself
}

// String returns the memory's full name.
func (c Claim) String() string {
	text := c.Memory
	if c.Robot != "" {
		text = c.Robot + ":" + c.Memory
	}
	if c.Copy {
		text = "copies of " + text
	}
	return text
}

// Allows reports whether the claim is one that may be believed.
func (s Serving) Allows(c Claim) bool {
	matches := func(p string) bool {
		robot, memory := SplitServing(p)
		return (c.Robot == "" || access.MatchWildcards(robot, c.Robot)) && access.MatchWildcards(memory, c.Memory)
	}
	return s.All() || slices.ContainsFunc(s.Own, matches) || c.Copy && slices.ContainsFunc(s.Copies, matches)
}

// uris returns what a certificate says of it.
func (s Serving) uris() []*url.URL {
	var out []*url.URL
	for kind, patterns := range map[string][]string{serveURI: s.Own, holdURI: s.Copies} {
		for _, p := range patterns {
			out = append(out, &url.URL{Scheme: "engram", Opaque: kind + url.PathEscape(p)})
		}
	}
	return out
}

// ServingOf returns what a server's certificate says that it may serve. The error is
// Corrupt for what cannot be read: such a certificate is not to be believed at all.
func ServingOf(cert *x509.Certificate) (Serving, error) {
	var s Serving
	for _, u := range cert.URIs {
		if u.Scheme != "engram" {
			continue
		}
		for kind, list := range map[string]*[]string{serveURI: &s.Own, holdURI: &s.Copies} {
			text, ok := strings.CutPrefix(u.Opaque, kind)
			if !ok {
				continue
			}
			p, err := url.PathUnescape(text)
			if err != nil {
				return s, engram.Errorf(engram.Corrupt, fmt.Sprintf("%.64q", cert.Subject.CommonName), "the certificate says in a way that cannot be read what it may serve")
			}
			*list = append(*list, p)
		}
	}
	if err := s.Check(); err != nil {
		return s, engram.Errorf(engram.Corrupt, fmt.Sprintf("%.64q", cert.Subject.CommonName), "the certificate does not say properly what it may serve: %w", err)
	}
	slices.Sort(s.Own)
	slices.Sort(s.Copies)
	return s, nil
}

// ErrNotBelieved is what errors of [Believe] are.
var ErrNotBelieved = engram.Errorf(engram.Forbidden, "", "the server is not believed")

// ErrRevoked is the [ErrNotBelieved] of a server that is revoked.
var ErrRevoked = &engram.Error{Code: engram.Forbidden, Msg: "the server is revoked", Err: ErrNotBelieved}

// MayPass reports whether err is an [ErrNotBelieved] that may pass by itself: another
// server is where the one that is meant was, for as long as that is away, or it gets
// another certificate. One that is revoked stays so.
func MayPass(err error) bool {
	return errors.Is(err, ErrNotBelieved) && !errors.Is(err, ErrRevoked)
}

// Believe returns a Forbidden error, which is an [ErrNotBelieved], unless a server's
// certificate allows all that the names say it serves.
func Believe(cert *x509.Certificate, claims []Claim) error {
	s, err := ServingOf(cert)
	if err != nil {
		return &engram.Error{Code: engram.Forbidden, Thing: cert.Subject.CommonName, Msg: err.Error(), Err: ErrNotBelieved}
	}
	for _, c := range claims {
		if !s.Allows(c) {
			return NotBelieved(fmt.Sprintf("the names say that it serves %v, but the certificate of %q that it has allows %v; if it is the right one, give it others with 'engram auth rotate %s --serve …'",
				c, cert.Subject.CommonName, s, cert.Subject.CommonName), c.String())
		}
	}
	return nil
}

// NotBelieved returns an [ErrNotBelieved] that says why, about a memory.
func NotBelieved(why, memory string) error {
	return &engram.Error{Code: engram.Forbidden, Thing: memory, Msg: why, Err: ErrNotBelieved}
}
