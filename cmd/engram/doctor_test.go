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
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// stuck is a memory that does not tell what it holds until it is asked no more.
type stuck struct{ *server.Server }

func (stuck) Stats(ctx context.Context, _ engram.Pattern, _ engram.Level) ([]engram.Stats, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A server that answers and whose memory hangs is found out, within the time that is
// given for each answer.
func TestDoctorOfAMemoryThatHangs(t *testing.T) {
	testkit.RealTime(t, "a server on the same computer says within 2 s who it is")
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "M"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	operations := http.NewServeMux()
	operations.HandleFunc("/readyz", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	address := "unix:" + filepath.Join(t.TempDir(), "s")
	l, err := rpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- rpc.Serve(ctx, rpc.NewHandler(stuck{s}, nil, rpc.Options{Server: "first", Operations: operations}), l)
	}()
	defer func() {
		stop()
		<-served
	}()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	code := run(patience, []string{"doctor", "--address", address, "--timeout", "2s"}, nil, &out, &out)
	if code != exitFailed || !strings.Contains(out.String(), `server "first" does not say within 2s how it is`) || !strings.Contains(out.String(), `server "first" does not say within 2s what it holds`) {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	if err := patience.Err(); err != nil {
		t.Error(err)
	}
}
