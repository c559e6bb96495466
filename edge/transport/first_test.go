package transport_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport"
)

// dialled is a connection of the test.
type dialled struct {
	address string
	closed  bool
}

func (d *dialled) Close() error {
	d.closed = true
	return nil
}

// The first address that answers is taken, and none is waited for that does not.
func TestFirstAddressThatAnswers(t *testing.T) {
	dial := func(ctx context.Context, address string) (*dialled, error) {
		what, after, _ := strings.Cut(address, " ")
		if after != "" {
			took, err := time.ParseDuration(after)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-time.After(took):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if what == "refused" {
			return nil, errors.New("refused")
		}
		return &dialled{address: address}, nil
	}
	for _, c := range []struct {
		addresses []string
		want      string // the address, or what the error mentions
		took      time.Duration
	}{
		{[]string{"there", "there too"}, "there", 0},
		{[]string{"refused", "there"}, "there", 0},
		{[]string{"away 1h", "there 1s"}, "there 1s", 1250 * time.Millisecond},
		{[]string{"slow 2s", "slow 1900ms"}, "slow 2s", 2 * time.Second},
		{[]string{"slow 2900ms"}, "slow 2900ms", 2900 * time.Millisecond},
		{[]string{"away 1h"}, "nothing answers within 3s", 3 * time.Second},
		{[]string{"away 1h", "refused 1s"}, "refused", 3 * time.Second},
		{nil, "no address", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			conn, err := transport.First(t.Context(), c.addresses, 3*time.Second, dial)
			if took := time.Since(began); took != c.took {
				t.Errorf("%q took %v, want %v", c.addresses, took, c.took)
			}
			switch {
			case err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("%q: %v, want %s", c.addresses, err, c.want)
			case err == nil && (conn.address != c.want || conn.closed):
				t.Errorf("%q led to %+v, want %s", c.addresses, conn, c.want)
			}
		})
	}
}

// A server is not believed where another one was met at each of its addresses; where one
// did not answer, it is away.
func TestUnreached(t *testing.T) {
	away, other := errors.New("no route"), credentials.NotBelieved("another one", "A")
	for name, c := range map[string]struct {
		errs     []error // of the addresses
		code     engram.Code
		believed bool
	}{
		"away":                {[]error{away, away}, engram.Unavailable, true},
		"another one":         {[]error{other}, engram.Forbidden, false},
		"another one at both": {[]error{other, other}, engram.Forbidden, false},
		"another one at one":  {[]error{other, away}, engram.Unavailable, true},
		"no address":          {nil, engram.Unavailable, true},
	} {
		addresses := make([]string, len(c.errs))
		tried := make(chan error, len(c.errs))
		for _, err := range c.errs {
			tried <- err
		}
		_, err := transport.First(t.Context(), addresses, 3*time.Second, func(context.Context, string) (*dialled, error) { return nil, <-tried })
		err = transport.Unreached("s", err)
		if engram.CodeOf(err) != c.code || errors.Is(err, credentials.ErrNotBelieved) == c.believed {
			t.Errorf("%s: %v (%v)", name, err, engram.CodeOf(err))
		}
	}
}
