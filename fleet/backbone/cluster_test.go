package backbone_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/mns/kv"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/fabrics"
)

// cluster is a NATS server with an administration of its own, as users have it.
type cluster struct {
	*server.Server
	dir string
	url string
	ca  string // file
}

// startCluster starts a NATS server with TLS by an authority of its own.
func startCluster(t *testing.T, set func(*server.Options)) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c.ca = c.write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	o := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: filepath.Join(c.dir, "store"),
		// Enough for what accounts reserve, however full this machine's disk is.
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 30,
		TLS: true, TLSTimeout: 60, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
	}
	set(o)
	if c.Server, err = server.NewServer(o); err != nil {
		t.Fatal(err)
	}
	c.Start()
	t.Cleanup(func() { c.Shutdown(); c.WaitForShutdown() })
	if !c.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	c.url = strings.Replace(c.ClientURL(), "nats://", "tls://", 1)
	return c
}

func (c *cluster) write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(c.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// keyPair returns a new key with its seed and public key.
func keyPair(t *testing.T, make func() (nkeys.KeyPair, error)) (k nkeys.KeyPair, seed, public string) {
	t.Helper()
	k, err := make()
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = k.PublicKey(); err != nil {
		t.Fatal(err)
	}
	return k, string(text), public
}

// encode signs claims.
func encode(t *testing.T, c jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	text, err := c.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// used has a connection do what a server of a robot does.
func used(t *testing.T, o backbone.Options) {
	t.Helper()
	b := fabrics.Connect(t, o)
	if _, err := b.Domain(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := kv.Open(t.Context(), b.JetStream(), kv.Options{Robot: "robot1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := names.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object"}, Addresses: []string{"nats:s"}}); err != nil {
		t.Fatal(err)
	}
	if entries, err := names.List(t.Context()); err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	l, err := b.Listen("s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := b.Dial(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// refused returns the error of a connection that must fail.
func refused(t *testing.T, o backbone.Options) error {
	t.Helper()
	o.Log = testkit.Quiet
	b, err := backbone.Connect(t.Context(), o)
	if err == nil {
		b.Close()
		t.Fatal("let in")
	}
	if strings.Contains(err.Error(), "SU") && strings.Contains(err.Error(), "SEED") {
		t.Errorf("a secret in %v", err)
	}
	return err
}

// A cluster of operators and accounts takes the credentials that it has issued, and what
// is wrong with others is told.
func TestClusterByJWT(t *testing.T) {
	operator, _, operatorKey := keyPair(t, nkeys.CreateOperator)
	account, _, accountKey := keyPair(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(accountKey)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: 1 << 30, DiskStorage: 1 << 30, Streams: 100, Consumer: 100}
	accounts := &server.MemAccResolver{}
	if err := accounts.Store(accountKey, encode(t, claims, operator)); err != nil {
		t.Fatal(err)
	}
	_, _, system := keyPair(t, nkeys.CreateAccount)
	if err := accounts.Store(system, encode(t, jwt.NewAccountClaims(system), operator)); err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, func(o *server.Options) {
		o.TrustedOperators = []*jwt.OperatorClaims{jwt.NewOperatorClaims(operatorKey)}
		o.AccountResolver, o.SystemAccount = accounts, system
	})
	creds := func(name string, by nkeys.KeyPair, change func(*jwt.UserClaims)) string {
		_, seed, public := keyPair(t, nkeys.CreateUser)
		user := jwt.NewUserClaims(public)
		change(user)
		text, err := jwt.FormatUserConfig(encode(t, user, by), []byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		return c.write(t, name, string(text))
	}
	right := creds("right", account, func(*jwt.UserClaims) {})
	used(t, backbone.Options{URL: c.url, CAFile: c.ca, CredsFile: right})

	stranger, _, _ := keyPair(t, nkeys.CreateAccount)
	for _, tt := range []struct {
		name string
		o    backbone.Options
		code engram.Code
		says string
	}{
		{"no credentials", backbone.Options{CAFile: c.ca}, engram.Forbidden, "does not let this program in"},
		{"of another account", backbone.Options{CAFile: c.ca, CredsFile: creds("other", stranger, func(*jwt.UserClaims) {})}, engram.Forbidden, "does not let this program in"},
		{"expired", backbone.Options{CAFile: c.ca, CredsFile: creds("expired", account, func(u *jwt.UserClaims) { u.Expires = time.Now().Add(-time.Hour).Unix() })}, engram.Forbidden, "does not let this program in"},
		{"no file", backbone.Options{CAFile: c.ca, CredsFile: right + "x"}, engram.NotFound, "there is no such file"},
		{"not credentials", backbone.Options{CAFile: c.ca, CredsFile: c.ca}, engram.Invalid, "not the JWT and the seed"},
		{"no authority", backbone.Options{CredsFile: right}, engram.Forbidden, "--backbone-ca"},
		{"an authority that is none", backbone.Options{CAFile: right, CredsFile: right}, engram.Invalid, "no certificates"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.URL = c.url
			if err := refused(t, tt.o); engram.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v (%v)", err, engram.CodeOf(err))
			}
		})
	}
}

// A cluster of nkeys likewise; what a user may not publish or hear is told at once, not
// waited for.
func TestClusterByNKey(t *testing.T) {
	users := map[string]*server.Permissions{
		"all":       nil,
		"listed":    {Publish: &server.SubjectPermission{Allow: documented}, Subscribe: &server.SubjectPermission{Allow: documentedHeard}},
		"no names":  {Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}}},
		"no inbox":  {Subscribe: &server.SubjectPermission{Deny: []string{"_INBOX.>"}}},
		"no write":  {Publish: &server.SubjectPermission{Deny: []string{"$KV.>"}}},
		"no dial":   {Publish: &server.SubjectPermission{Deny: []string{"engram.dial.>"}}},
		"no tunnel": {Subscribe: &server.SubjectPermission{Deny: []string{"engram.tunnel.>"}}},
		"no listen": {Subscribe: &server.SubjectPermission{Deny: []string{"engram.dial.>"}}},
	}
	seeds := map[string]string{}
	var known []*server.NkeyUser
	for name, p := range users {
		_, seed, public := keyPair(t, nkeys.CreateUser)
		seeds[name] = seed
		known = append(known, &server.NkeyUser{Nkey: public, Permissions: p})
	}
	c := startCluster(t, func(o *server.Options) { o.Nkeys = known })
	of := func(name string) backbone.Options {
		return backbone.Options{URL: c.url, CAFile: c.ca, NKeyFile: c.write(t, strings.ReplaceAll(name, " ", "-"), seeds[name]), Log: testkit.Quiet}
	}
	used(t, of("all"))
	t.Run("listed", func(t *testing.T) { used(t, of("listed")) })

	_, seed, _ := keyPair(t, nkeys.CreateUser)
	seeds["stranger"] = seed
	if err := refused(t, of("stranger")); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "does not let this program in") || strings.Contains(err.Error(), seed) {
		t.Errorf("a stranger: %v", err)
	}
	o := of("all")
	o.NKeyFile = c.ca
	if err := refused(t, o); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("not an nkey: %v", err)
	}

	far := fabrics.Connect(t, of("all"))
	l, err := far.Listen("far")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	denied := func(t *testing.T, what string, err error, subjects ...string) {
		t.Helper()
		if engram.CodeOf(err) != engram.Forbidden || !slices.ContainsFunc(subjects, func(s string) bool { return strings.Contains(err.Error(), s) }) {
			t.Errorf("%s: %v (%v)", what, err, engram.CodeOf(err))
		}
	}
	for name, try := range map[string]func(t *testing.T, b *backbone.Backbone){
		"no names": func(t *testing.T, b *backbone.Backbone) {
			_, err := b.Domain(t.Context())
			denied(t, "the domain", err, "$JS.API.INFO")
		},
		"no inbox": func(t *testing.T, b *backbone.Backbone) {
			_, err := b.Domain(t.Context())
			denied(t, "the domain", err, "_INBOX.")
			_, err = b.Dial(t.Context(), "far") // what was denied before is not waited for again
			denied(t, "dialling", err, "_INBOX.")
		},
		"no write": func(t *testing.T, b *backbone.Backbone) {
			err := b.Names(t.Context(), func(ctx context.Context) error {
				names, err := kv.Open(ctx, b.JetStream(), kv.Options{Robot: "robot1"})
				if err == nil {
					_, err = names.Register(ctx, mns.Registration{Server: "w", Memories: []string{"Mine"}, Addresses: []string{"nats:w"}})
				}
				return err
			})
			denied(t, "registering", err, "$KV.")
		},
		"no dial": func(t *testing.T, b *backbone.Backbone) {
			_, err := b.Dial(t.Context(), "far")
			denied(t, "dialling", err, "engram.dial.")
			_, err = b.Listen("near")
			denied(t, "listening", err, "engram.dial.")
		},
		"no tunnel": func(t *testing.T, b *backbone.Backbone) {
			denied(t, "settling", b.Flush(t.Context()), "engram.tunnel.")
			_, err := b.Dial(t.Context(), "far")
			denied(t, "dialling", err, "engram.tunnel.")
		},
		"no listen": func(t *testing.T, b *backbone.Backbone) {
			_, err := b.Listen("near")
			denied(t, "listening", err, "engram.dial.")
		},
	} {
		t.Run(name, func(t *testing.T) { try(t, fabrics.Connect(t, of(name))) })
	}
}

// documented and documentedHeard are what docs/security.md says that servers must be
// allowed to publish and to hear.
var (
	documented      = []string{"engram.>", "$JS.API.>", "$JS.FC.>", "$KV.engram-names.>", "$KV.engram-names-robot1.>", "_INBOX.>"}
	documentedHeard = []string{"engram.>", "_INBOX.>"}
)
