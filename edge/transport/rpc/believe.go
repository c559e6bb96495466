package rpc

import (
	"compress/flate"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// believing sends requests only to servers that are believed what the names say they
// serve, by the certificate at the other end of the very connection that a request goes
// over: connections are made again, and lead elsewhere then.
type believing struct {
	*http.Transport
	claims func(*http.Request) []credentials.Claim
	// knows, unless it is nil, reports whether a request may go to whoever has a
	// certificate, whatever is claimed.
	knows func(*http.Request, *x509.Certificate) bool
	last  atomic.Pointer[believed]
}

// believed is what was looked at last, and found to be right.
type believed struct {
	cert   *x509.Certificate
	claims []credentials.Claim
}

// RoundTrip implements http.RoundTripper. Of a request to a server that is not
// believed, nothing but its headers is sent.
func (b *believing) RoundTrip(r *http.Request) (*http.Response, error) {
	claims := b.claims(r)
	if len(claims) == 0 {
		return b.Transport.RoundTrip(r)
	}
	var doubt atomic.Pointer[error]
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if err := b.look(i.Conn, claims); err != nil && (b.knows == nil || !b.knows(r, certificateOf(i.Conn))) {
			doubt.Store(&err)
		}
	}}))
	if body := r.Body; body != nil && body != http.NoBody {
		r.Body = doubtedBody{body, &doubt}
		if again := r.GetBody; again != nil {
			r.GetBody = func() (io.ReadCloser, error) {
				body, err := again()
				if err != nil {
					return nil, err
				}
				return doubtedBody{body, &doubt}, nil
			}
		}
	}
	res, err := b.Transport.RoundTrip(r)
	if why := doubt.Load(); why != nil {
		if err == nil {
			res.Body.Close()
		}
		b.Transport.CloseIdleConnections() // another one may lead to the right server
		return nil, *why
	}
	return res, err
}

// look reports, as an error, whether the server at a connection's end is believed.
func (b *believing) look(c net.Conn, claims []credentials.Claim) error {
	cert := certificateOf(c)
	if cert == nil {
		return credentials.NotBelieved("the server has no certificate", claims[0].String())
	}
	if l := b.last.Load(); l != nil && l.cert == cert && same(l.claims, claims) {
		return nil
	}
	if err := credentials.Believe(cert, claims); err != nil {
		return err
	}
	b.last.Store(&believed{cert, claims})
	return nil
}

// same reports whether two lists of claims are the same, which they mostly are in memory.
func same(a, b []credentials.Claim) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] || slices.Equal(a, b)
}

// certificateOf returns the certificate at the other end of a connection, or nil.
func certificateOf(c net.Conn) *x509.Certificate {
	if known, ok := c.(doubtedConn); ok {
		c = known.Conn
	}
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	if chain := t.ConnectionState().PeerCertificates; len(chain) > 0 {
		return chain[0]
	}
	return nil
}

// doubtedBody is a request's content, which goes to nobody who is in doubt.
type doubtedBody struct {
	io.ReadCloser
	doubt *atomic.Pointer[error]
}

func (b doubtedBody) Read(p []byte) (int, error) {
	if why := b.doubt.Load(); why != nil {
		return 0, *why
	}
	return b.ReadCloser.Read(p)
}

// servesHeader is the header of a forwarded call with its claims: the memories that the
// sender's names list for the server. The forwarding server checks the claims against the
// target's certificate, which the sender does not see.
const servesHeader = "Engram-Serves"

// notBelievedHeader says in an answer that for this reason the call was not handed on.
const notBelievedHeader = "Engram-Not-Believed"

// telling tells who hands calls on what the server that is meant serves.
type telling struct {
	*http.Transport
	serves func() []credentials.Claim
	last   atomic.Pointer[toldClaims]
}

// toldClaims is what was told last, as it was written.
type toldClaims struct {
	claims []credentials.Claim
	text   string
}

// RoundTrip implements http.RoundTripper.
func (t *telling) RoundTrip(r *http.Request) (*http.Response, error) {
	if claims := t.serves(); len(claims) > 0 {
		text, err := t.text(claims)
		if err != nil {
			return nil, err
		}
		r = r.WithContext(r.Context()) // a copy: who calls owns the request
		r.Header = r.Header.Clone()
		r.Header.Set(servesHeader, text)
	}
	return t.Transport.RoundTrip(r)
}

// text returns claims as a header's value.
func (t *telling) text(claims []credentials.Claim) (string, error) {
	if l := t.last.Load(); l != nil && same(l.claims, claims) {
		return l.text, nil
	}
	text, err := servesText(claims)
	if err != nil {
		return "", err
	}
	t.last.Store(&toldClaims{claims, text})
	return text, nil
}

const (
	copyMark = "copy "    // before what is claimed to be a copy
	packMark = "deflate " // before what is compressed (RFC 1951), and base64

	// Bounds of the claims in a header, in bytes: from where on they are compressed, of
	// the header's value, of the text in it. HTTP/2 sends a header of up to 4 KiB once in
	// a connection.
	packedServes = 2 << 10
	maxServes    = 32 << 10
	maxServed    = 1 << 20
)

// servesText writes claims as a header's value. The error is Exhausted if there are too
// many.
func servesText(claims []credentials.Claim) (string, error) {
	text := claimsText(claims)
	if len(text) <= packedServes {
		return text, nil
	}
	var b strings.Builder
	b.WriteString(packMark)
	encoder := base64.NewEncoder(base64.RawStdEncoding, &b)
	w, err := flate.NewWriter(encoder, flate.BestCompression)
	if err == nil {
		_, err = io.WriteString(w, text)
		err = errors.Join(err, w.Close(), encoder.Close())
	}
	if err != nil {
		return "", engram.Errorf(engram.Internal, servesHeader, "the header cannot be written: %w", err)
	}
	if len(text) > maxServed || b.Len() > maxServes {
		return "", engram.Errorf(engram.Exhausted, claims[0].String(), "the names say of its server that it serves %d memories, too many to tell who hands the call on; connect where the server can be reached directly", len(claims))
	}
	return b.String(), nil
}

// unpackServes returns the text of a header's value.
func unpackServes(value string) (string, error) {
	packed, ok := strings.CutPrefix(value, packMark)
	if !ok {
		return value, nil
	}
	r := flate.NewReader(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(packed)))
	text, err := io.ReadAll(io.LimitReader(r, maxServed+1))
	if err != nil || len(text) > maxServed {
		return "", errImproperServes()
	}
	return string(text), nil
}

func errImproperServes() error {
	return engram.Errorf(engram.Invalid, servesHeader, "the header does not say properly what the server serves")
}

// claimsText writes claims as text.
func claimsText(claims []credentials.Claim) string {
	texts := make([]string, len(claims))
	for i, c := range claims {
		texts[i] = url.PathEscape(c.Robot) + "/" + url.PathEscape(c.Memory)
		if c.Copy {
			texts[i] = copyMark + texts[i]
		}
	}
	return strings.Join(texts, ",")
}

// parseServes reads what servesText wrote.
func parseServes(value string) ([]credentials.Claim, error) {
	text, err := unpackServes(value)
	if text == "" {
		return nil, err
	}
	var claims []credentials.Claim
	for part := range strings.SplitSeq(text, ",") {
		var c credentials.Claim
		part, c.Copy = strings.CutPrefix(part, copyMark)
		robot, memory, ok := strings.Cut(part, "/")
		var robotErr, memoryErr error
		c.Robot, robotErr = url.PathUnescape(robot)
		c.Memory, memoryErr = url.PathUnescape(memory)
		if !ok || robotErr != nil || memoryErr != nil || c.Memory == "" {
			return nil, errImproperServes()
		}
		claims = append(claims, c)
	}
	return claims, nil
}

// disbelief returns the error of a call that was not handed on because the server was
// not believed, or err.
func disbelief(ce *connect.Error, err *engram.Error) error {
	if err.Code == engram.Forbidden && ce.Meta().Get(notBelievedHeader) != "" {
		return credentials.NotBelieved(err.Msg, err.Thing)
	}
	return err
}
