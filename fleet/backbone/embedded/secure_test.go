package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
)

// leaf is a leaf node as the NATS server asks about it.
type leaf struct {
	server.ClientAuthentication
	number uint64
	cert   *x509.Certificate
	closed atomic.Bool
}

func (l *leaf) Kind() int                 { return server.LEAF }
func (l *leaf) RegisterUser(*server.User) {}
func (l *leaf) GetID() uint64             { return l.number }
func (l *leaf) GetTLSConnectionState() *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{l.cert}}
}

func (l *leaf) RemoteAddress() net.Addr {
	if l.closed.Load() {
		return nil
	}
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(l.number)}
}

// A leaf node that is admitted while others are, and is revoked before the NATS server
// can find it by its number, is cut as soon as it can.
func TestLeafIsCutWheneverItIsRevoked(t *testing.T) {
	d := deployment.New(t)
	of := func(number uint64, id access.Identity) *leaf {
		return &leaf{number: number, cert: d.Server(t, id).Current().Cert}
	}
	rules := access.New(access.Options{})
	defer rules.Close()
	const unknown = 3 // times that the first is not found
	asked := 0
	cut := make(chan uint64, 1)
	a := &admission{secure: secure.Options{Access: rules}, open: map[server.ClientAuthentication]admitted{}, disconnect: func(number uint64) error {
		if asked++; asked <= unknown {
			return errors.New("no such client or leafnode id")
		}
		cut <- number
		return nil
	}}
	wasCut := func() uint64 { t.Helper(); return testkit.Receive(t, cut) }
	first, second, third := of(1, "robot1"), of(2, "robot2"), of(3, "robot3")
	for _, l := range []*leaf{first, second} {
		if !a.Check(l) {
			t.Fatalf("leaf %d is not let in", l.number)
		}
	}
	if err := rules.Set(access.Policy{Revoked: []access.Revocation{{Identity: "robot1"}}}); err != nil {
		t.Fatal(err)
	}
	if number := wasCut(); number != first.number || asked != unknown+1 {
		t.Errorf("leaf %d was cut after %d tries", number, asked)
	}

	// What has ended is forgotten, and nobody cuts it.
	second.closed.Store(true)
	first.closed.Store(true)
	if !a.Check(third) {
		t.Fatal("the third is not let in")
	}
	if _, ok := a.open[third]; !ok || len(a.open) != 1 {
		t.Errorf("%d connections are known", len(a.open))
	}
	if err := rules.Set(access.Policy{Revoked: []access.Revocation{{Identity: "robot2"}, {Identity: "robot3"}}}); err != nil {
		t.Fatal(err)
	}
	if number := wasCut(); number != third.number {
		t.Errorf("leaf %d was cut", number)
	}
}
