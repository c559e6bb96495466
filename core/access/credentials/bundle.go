package credentials

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

const (
	certBlock = "CERTIFICATE"
	keyBlock  = "PRIVATE KEY"
)

// maxFile is the size of the largest file of credentials, in bytes.
const maxFile = 1 << 20

// Bundle is what a file of credentials holds.
type Bundle struct {
	Cert        *x509.Certificate
	key         crypto.Signer
	Authorities []*x509.Certificate // whose certificates are believed
}

// Identity returns whom the credentials are of.
func (b *Bundle) Identity() (access.Identity, error) { return IdentityOf(b.Cert) }

// IsServer reports whether the certificate is a server's.
func (b *Bundle) IsServer() bool { return IsServer(b.Cert) }

// IsServer reports whether a certificate is a server's.
func IsServer(cert *x509.Certificate) bool {
	return slices.Contains(cert.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
}

// Encode returns the file's text: the certificate, its key, and the authorities. It is
// secret.
func (b *Bundle) Encode() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(b.key)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "", "the key cannot be written")
	}
	var out bytes.Buffer
	for _, block := range []*pem.Block{{Type: certBlock, Bytes: b.Cert.Raw}, {Type: keyBlock, Bytes: key}} {
		out.Write(pem.EncodeToMemory(block))
	}
	for _, ca := range b.Authorities {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: certBlock, Bytes: ca.Raw}))
	}
	return out.Bytes(), nil
}

// Parse reads a file of credentials. Errors do not show what is in it.
func Parse(text []byte) (*Bundle, error) {
	b, err := parse(text)
	switch {
	case err != nil:
		return nil, err
	case b.Cert == nil:
		return nil, engram.Errorf(engram.Invalid, "", "there is no certificate")
	case len(b.Authorities) == 0:
		return nil, engram.Errorf(engram.Invalid, "", "there is no certificate of an authority")
	case b.Cert.IsCA:
		return nil, engram.Errorf(engram.Invalid, "", "these are the authority's own; make credentials with 'engram auth add'")
	}
	if _, err := b.Identity(); err != nil {
		return nil, err
	}
	if _, err := ServingOf(b.Cert); err != nil {
		return nil, err
	}
	return b, nil
}

func parse(text []byte) (*Bundle, error) {
	if len(text) > maxFile {
		return nil, engram.Errorf(engram.Exhausted, "", "more than %d bytes are no credentials", maxFile)
	}
	b := &Bundle{}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		switch block.Type {
		case certBlock:
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, engram.Errorf(engram.Corrupt, "", "a certificate is damaged")
			}
			if b.Cert == nil {
				b.Cert = cert
			} else if cert.IsCA {
				b.Authorities = append(b.Authorities, cert)
			}
		case keyBlock:
			key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			signer, ok := key.(crypto.Signer)
			if err != nil || !ok {
				return nil, engram.Errorf(engram.Corrupt, "", "the private key is damaged")
			}
			b.key = signer
		default:
			return nil, engram.Errorf(engram.Invalid, "", "there are certificates and one private key, but no %.32q", block.Type)
		}
	}
	if b.key == nil {
		return nil, engram.Errorf(engram.Invalid, "", "there is no private key")
	}
	if b.Cert != nil {
		public, ok := b.key.Public().(interface{ Equal(crypto.PublicKey) bool })
		if !ok || !public.Equal(b.Cert.PublicKey) {
			return nil, engram.Errorf(engram.Invalid, "", "the private key does not belong to the certificate")
		}
	}
	return b, nil
}

// tls returns the certificate for TLS.
func (b *Bundle) tls() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{b.Cert.Raw}, PrivateKey: b.key, Leaf: b.Cert}
}

// pool returns the authorities as a pool.
func (b *Bundle) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, ca := range b.Authorities {
		pool.AddCert(ca)
	}
	return pool
}

// readFile reads a file of credentials that nobody else may read.
func readFile(file string) (*Bundle, error) {
	f, err := os.Open(file)
	if err != nil {
		code := engram.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			code = engram.NotFound
		}
		return nil, engram.Errorf(code, file, "the credentials cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, file, "the credentials cannot be read: %w", err)
	}
	others := os.FileMode(0o077)
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); dir != "" && filepath.Dir(file) == filepath.Clean(dir) {
		// systemd's, which only the service may enter: what looks like the group's right to
		// read is the mask of the list by which the service's user may.
		others = 0o037
	}
	if info.Mode().Perm()&others != 0 {
		return nil, engram.Errorf(engram.Forbidden, file, "others may read or change the credentials (mode %04o); 'chmod 600' the file, and rotate them if others could read it", info.Mode().Perm())
	}
	if info.Size() > maxFile {
		return nil, engram.Errorf(engram.Exhausted, file, "more than %d bytes are no credentials", maxFile)
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return nil, engram.Errorf(engram.Unavailable, file, "the credentials cannot be read: %w", err)
	}
	b, err := Parse(text)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), file, "no credentials: %w", err)
	}
	return b, nil
}
