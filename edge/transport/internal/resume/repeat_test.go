package resume

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

func coded(c engram.Code) error { return engram.Errorf(c, "", "refused") }

// A call is repeated only where the server was away and it may be.
func TestRepeat(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error // of the attempts; the last one's stays
		again bool
		tries int
		code  engram.Code
	}{
		"at once":         {[]error{nil}, true, 1, 0},
		"the second time": {[]error{coded(engram.Unavailable), nil}, true, 2, 0},
		"away for long":   {[]error{coded(engram.Unavailable)}, true, 3, engram.Unavailable},
		"only once":       {[]error{coded(engram.Unavailable)}, false, 1, engram.Unavailable},
		"refused":         {[]error{coded(engram.NotFound)}, true, 1, engram.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := Repeat(t.Context(), func() (bool, error) {
					tries++
					return c.again, c.errs[min(tries, len(c.errs))-1]
				})
				if engram.CodeOf(err) != c.code || tries != c.tries {
					t.Errorf("%v after %d attempts", err, tries)
				}
			})
		})
	}
}

// The end of the call's context ends the pauses.
func TestRepeatGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Repeat(ctx, func() (bool, error) { return true, coded(engram.Unavailable) }); engram.CodeOf(err) != engram.Unavailable {
		t.Error(err)
	}
}

// A stream is opened again until that succeeds, will never, or has taken too long.
func TestReconnect(t *testing.T) {
	stopped := errors.New("stopped")
	for name, c := range map[string]struct {
		errs  []error
		limit time.Duration
		stop  time.Duration // when the context ends, 0 for never
		lives int
		want  error
		code  engram.Code
	}{
		"when it is back":    {errs: []error{coded(engram.Unavailable), coded(engram.Exhausted), coded(engram.Unavailable), nil}},
		"with another epoch": {errs: []error{coded(engram.Unavailable), coded(engram.Conflict), nil}, lives: 1},
		"after another":      {errs: []error{credentials.NotBelieved("another one", "A"), coded(engram.Unavailable), nil}},
		"revoked":            {errs: []error{coded(engram.Unavailable), credentials.ErrRevoked}, code: engram.Forbidden},
		"never":              {errs: []error{coded(engram.Unavailable), coded(engram.Invalid)}, code: engram.Invalid},
		"not within limit":   {errs: []error{coded(engram.Unavailable)}, limit: time.Minute, code: engram.Unavailable},
		"given up":           {errs: []error{coded(engram.Unavailable)}, stop: time.Minute, want: stopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.stop > 0 {
					time.AfterFunc(c.stop, func() { cancel(stopped) })
				}
				began, tries, lives := time.Now(), 0, 0
				err := Reconnect(ctx, "here", c.limit, func() error {
					tries++
					return c.errs[min(tries, len(c.errs))-1]
				}, func() { lives++ })
				if c.want != nil && err != c.want || c.want == nil && engram.CodeOf(err) != c.code {
					t.Errorf("it ends with %v", err)
				}
				if lives != c.lives {
					t.Errorf("%d new lives, want %d", lives, c.lives)
				}
				if tries < len(c.errs) {
					t.Errorf("%d attempts of %d", tries, len(c.errs))
				}
				if took := time.Since(began); took > 2*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
