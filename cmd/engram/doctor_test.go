package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// slow is a memory that does not count what it holds until it is asked no more.
type slow struct{ *server.Server }

func (slow) Stats(ctx context.Context, _ engram.Pattern, _ engram.Level) ([]engram.Stats, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// stuck is a memory that tells nothing of what it holds until it is asked no more.
type stuck struct{ slow }

func (stuck) Describe(ctx context.Context, _ engram.Pattern) ([]engram.Description, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// barred is one that does not say either which segments it has.
type barred struct{ slow }

func (barred) Describe(context.Context, engram.Pattern) ([]engram.Description, error) {
	return nil, engram.Errorf(engram.Unavailable, "", "not now")
}

// A server that answers and whose memory hangs is found out, within the time that is
// given for each answer; one that only takes long to count is none.
func TestDoctorOfAMemoryThatHangs(t *testing.T) {
	testkit.RealTime(t, "a server on the same computer says within 2 s who it is")
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "M"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	says := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"server":"first","status":"ok","checks":[]}`))
	}
	code, out := doctorOf(t, stuck{slow{s}}, hangs)
	if code != exitFailed || !strings.Contains(out, `server "first" does not say within 2s how it is`) || !strings.Contains(out, `server "first" does not say within 2s what it holds`) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if _, out := doctorOf(t, slow{s}, says); strings.Contains(out, "hangs") || !strings.Contains(out, `server "first" works, and takes longer than 2s to count what it holds`) {
		t.Errorf("of one that is slow: %s", out)
	}
	if _, out := doctorOf(t, barred{slow{s}}, says); strings.Contains(out, "hangs") || strings.Contains(out, `"first" works`) {
		t.Errorf("of one that nothing is known of: %s", out)
	}
}

// doctorOf looks at a server of a memory and of what says how it is, and returns the exit code
// and what is printed.
func doctorOf(t *testing.T, m feature.Server, readyz http.HandlerFunc) (int, string) {
	t.Helper()
	operations := http.NewServeMux()
	operations.HandleFunc("/readyz", readyz)
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	l, err := rpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- rpc.Serve(ctx, rpc.NewHandler(m, nil, rpc.Options{Server: "first", Operations: operations}), l)
	}()
	defer func() {
		stop()
		<-served
	}()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	code := run(patience, []string{"doctor", "--address", address, "--timeout", "2s"}, nil, &out, &out)
	if err := patience.Err(); err != nil {
		t.Error(err)
	}
	return code, out.String()
}
