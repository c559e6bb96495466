package rpc

import (
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What a call says of the server that it is handed on to is read as it was meant, and
// what anybody else writes there does no harm.
func FuzzServes(f *testing.F) {
	f.Add("robot1/Object", "robot1", "Object", false)
	f.Add("copy robot1/Object,/Vision", "", "Ünï, cøde/%", true)
	f.Add(",", "a,b", "copy x", false)
	f.Add("%zz/%", "/", "", true)
	f.Add("deflate AAAA", "robot1", strings.Repeat("Object", 1000), true)
	f.Fuzz(func(t *testing.T, text, robot, memory string, copied bool) {
		claims, err := parseServes(text)
		if err != nil && engram.CodeOf(err) != engram.Invalid {
			t.Errorf("%q: %v", text, err)
		}
		for _, c := range claims {
			if c.Memory == "" {
				t.Errorf("%q: a claim of nothing", text)
			}
		}
		if memory == "" {
			return
		}
		want := []credentials.Claim{{Robot: robot, Memory: memory, Copy: copied}, {Memory: "Object"}}
		written, err := servesText(want)
		if err != nil && engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%v: %v", want, err)
		}
		if err != nil {
			return
		}
		if strings.ContainsAny(written, "\r\n") {
			t.Errorf("%q would end the header", written)
		}
		if got, err := parseServes(written); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v was written %q and read %v, %v", want, written, got, err)
		}
	})
}

// What a server serves is told in little, however much it is: the header goes with each
// call, and servers refuse headers of over 64 KiB.
func TestServesIsSmall(t *testing.T) {
	var claims []credentials.Claim
	for i := range 5000 {
		claims = append(claims, credentials.Claim{Robot: fmt.Sprintf("robot%d", i%10), Memory: fmt.Sprintf("Memory%04d", i), Copy: i%2 == 0})
	}
	for _, n := range []int{1, 20, 100, len(claims)} {
		text, err := servesText(claims[:n])
		if err != nil || len(text) > maxServes || n <= 100 && len(text) > packedServes {
			t.Errorf("%d claims take %d bytes, %v", n, len(text), err)
		}
		if got, err := parseServes(text); err != nil || !slices.Equal(got, claims[:n]) {
			t.Errorf("%d claims are read as %d, %v", n, len(got), err)
		}
	}
	claims = nil
	random := rand.NewChaCha8([32]byte{})
	for range 2000 {
		name := make([]byte, 100)
		random.Read(name)
		claims = append(claims, credentials.Claim{Memory: hex.EncodeToString(name)})
	}
	if _, err := servesText(claims); engram.CodeOf(err) != engram.Exhausted {
		t.Errorf("what is too much: %v", err)
	}
	var bomb strings.Builder
	encoder := base64.NewEncoder(base64.RawStdEncoding, &bomb)
	w, err := flate.NewWriter(encoder, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, 16<<20))
	w.Close()
	encoder.Close()
	if _, err := parseServes(packMark + bomb.String()); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("what grows too much: %v", err)
	}
}

// seenHeaders keeps of each call whether it told what the server serves.
type seenHeaders struct {
	http.Handler
	mu   sync.Mutex
	told []string
}

func (s *seenHeaders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.told = append(s.told, r.Header.Get(servesHeader))
	s.mu.Unlock()
	s.Handler.ServeHTTP(w, r)
}

func (s *seenHeaders) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told
}

// A call that is handed on reaches a server of which the names say much, and does not take
// that with it.
func TestClaimsAreNotHandedOn(t *testing.T) {
	service, err := server.New(server.Config{Memories: []server.Memory{{Name: "M"}}, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	o := Options{Log: testkit.Quiet}
	far := &seenHeaders{Handler: NewHandler(service, nil, o)}
	begin := func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	farServer := begin(far)
	o.Backbone = func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", farServer.Listener.Addr().String())
	}
	handler := NewHandler(service, nil, o)
	defer handler.forward.transport.CloseIdleConnections()
	near := &seenHeaders{Handler: handler}
	var claims []credentials.Claim
	for i := range 5000 {
		claims = append(claims, credentials.Claim{Robot: "robot1", Memory: fmt.Sprintf("Memory%04d", i)})
	}
	c, err := Dial(t.Context(), begin(near).URL, DialOptions{Via: "far", Serves: func() []credentials.Claim { return claims }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	said, handedOn := near.seen(), far.seen()
	if len(said) == 0 || len(said) != len(handedOn) {
		t.Fatalf("%d calls were to be handed on, %d arrived", len(said), len(handedOn))
	}
	for i := range said {
		if said[i] == "" || handedOn[i] != "" {
			t.Errorf("told: %d bytes, handed on: %d", len(said[i]), len(handedOn[i]))
		}
	}
}
