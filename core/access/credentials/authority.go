package credentials

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// uriPrefix begins the URI in a certificate that names its identity.
const uriPrefix = "identity:"

// clockSkew is how long before it was made a certificate is valid: robots' clocks differ.
const clockSkew = time.Hour

// Authority signs the certificates of a deployment.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes an authority for a deployment.
func NewAuthority(deployment string, valid time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, deployment, "no key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: deployment, Organization: []string{"engram"}},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(valid),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, deployment, "the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, deployment, "the authority's certificate: %w", err)
	}
	return &Authority{cert, key}, nil
}

func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "", "no random number: %w", err)
	}
	return n.Add(n, big.NewInt(1)), nil
}

// Deployment returns the name of the authority's deployment.
func (a *Authority) Deployment() string { return a.cert.Subject.CommonName }

// Issue makes credentials for an identity. A server may serve what is said; everything if
// nothing is.
func (a *Authority) Issue(id access.Identity, server bool, serving Serving, valid time.Duration) (*Bundle, error) {
	if err := access.CheckIdentity(string(id)); err != nil {
		return nil, err
	}
	if err := serving.Check(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, string(id), "no key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	end := now.Add(valid)
	if end.After(a.cert.NotAfter) {
		end = a.cert.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: string(id), Organization: []string{a.Deployment()}},
		NotBefore: now.Add(-clockSkew), NotAfter: end, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{{Scheme: "engram", Opaque: uriPrefix + string(id)}},
	}
	if server {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = []string{string(id)} // for clients of other makes, which want a name
		template.URIs = append(template.URIs, serving.uris()...)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, string(id), "the certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, string(id), "the certificate: %w", err)
	}
	return &Bundle{Cert: cert, key: key, Authorities: []*x509.Certificate{a.cert}}, nil
}

// Encode returns the authority's certificate, and its key, as PEM.
func (a *Authority) Encode() (cert, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return nil, nil, engram.Errorf(engram.Internal, a.Deployment(), "the key cannot be written")
	}
	return pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: a.cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

// ParseAuthority reads what [Authority.Encode] wrote.
func ParseAuthority(cert, key []byte) (*Authority, error) {
	b, err := parse(append(append([]byte(nil), cert...), key...))
	if err != nil {
		return nil, err
	}
	if b.Cert == nil || !b.Cert.IsCA {
		return nil, engram.Errorf(engram.Invalid, "", "not the certificate of an authority")
	}
	return &Authority{b.Cert, b.key}, nil
}

// IdentityOf returns whom a certificate is of. The error is Invalid for one that was
// not made by [Authority.Issue].
func IdentityOf(cert *x509.Certificate) (access.Identity, error) {
	for _, u := range cert.URIs {
		if name, ok := strings.CutPrefix(u.Opaque, uriPrefix); ok && u.Scheme == "engram" {
			if err := access.CheckIdentity(name); err != nil {
				return "", err
			}
			return access.Identity(name), nil
		}
	}
	return "", engram.Errorf(engram.Invalid, fmt.Sprintf("%.64q", cert.Subject.CommonName), "the certificate names no identity of engram; make one with 'engram auth add'")
}

// SerialOf returns a certificate's serial as revocations write it.
func SerialOf(cert *x509.Certificate) string { return cert.SerialNumber.Text(16) }
