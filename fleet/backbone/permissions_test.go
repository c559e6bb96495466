package backbone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What a NATS cluster once denied is remembered of calls that need it, within bounds, and
// tried again after a while: it may be allowed by then. Only the subscription by which a
// connection gets its answers, which it makes once, is denied until it is a new one.
func TestDenialsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPermissions("cluster", testkit.Quiet)
		deny := func(subject string) {
			t.Helper()
			if !p.note(errors.New(`nats: Permissions Violation for Subscription to "` + subject + `"`)) {
				t.Fatalf("%s: not taken for a denial", subject)
			}
		}
		denied := func(prefix string) bool {
			t.Helper()
			err := p.allowed(t.Context(), func(s string) bool { return strings.HasPrefix(s, prefix) }, context.Context.Err)
			if err != nil && engram.CodeOf(err) != engram.Forbidden {
				t.Error(err)
			}
			return err != nil
		}
		expect := func(when string, want map[string]bool) {
			t.Helper()
			for prefix, is := range want {
				if denied(prefix) != is {
					t.Errorf("%s, %q is denied: %v, want %v", when, prefix, !is, is)
				}
			}
		}
		deny("_INBOX.one")
		deny("engram.names.>")
		expect("at once", map[string]bool{"_INBOX.": true, "engram.": true, "$JS.": false})
		time.Sleep(denialFor)
		expect("later", map[string]bool{"_INBOX.": false, "engram.": false})
		for i := range 10 * maxDenials {
			deny(fmt.Sprintf("_INBOX.%d", i))
			deny(fmt.Sprintf("engram.dial.%d.%d", i, i))
		}
		deny("_INBOX.connection.*")
		if n := len(p.heard); n > maxDenials+1 {
			t.Errorf("%d denials are remembered", n)
		}
		time.Sleep(denialFor)
		deny("_INBOX.connection.*")
		time.Sleep(denialFor)
		expect("of the answers", map[string]bool{"_INBOX.": true, "engram.": false})
		p.forget()
		expect("on a new connection", map[string]bool{"_INBOX.": false})
	})
}
