package client

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// claims is what the names say just now that a server serves. Where there are
// credentials, the server is believed only if its certificate allows all of it: one that
// announces a memory too many is told and asked nothing new. That is looked at when a call,
// a subscription or a stream begins; those that began before go on until they end.
type claims struct {
	list atomic.Pointer[[]credentials.Claim]
}

// doubt is the disbelief that a server met, and what the names said of it then.
type doubt struct {
	err    error
	claims *[]credentials.Claim
}

// doubts notes why a server was not reached, if that is disbelief.
func (cn *conn) doubts(err error) {
	if !errors.Is(err, credentials.ErrNotBelieved) {
		cn.doubted.Store(nil)
		return
	}
	cn.doubted.Store(&doubt{err, cn.claims.list.Load()})
}

// errDown returns why a server is not tried that was not reached a moment ago; nil if it
// was not believed, and the names say something else of it by now.
func (cn *conn) errDown() error {
	switch d := cn.doubted.Load(); {
	case d == nil:
		return cn.errSuspected(engram.Errorf(engram.Unavailable, cn.server, "the memory server was not reached a moment ago, and is not yet back"))
	case d.claims == cn.claims.list.Load():
		return d.err
	}
	return nil
}

func (c *claims) get() []credentials.Claim {
	if list := c.list.Load(); list != nil {
		return *list
	}
	return nil
}

// set replaces the list by another one of the same things, or others. One that says the
// same stays the same list, by which it is known again.
func (c *claims) set(list []credentials.Claim) {
	slices.SortFunc(list, func(a, b credentials.Claim) int {
		if order := cmp.Or(strings.Compare(a.Robot, b.Robot), strings.Compare(a.Memory, b.Memory)); order != 0 || a.Copy == b.Copy {
			return order
		}
		if b.Copy {
			return -1
		}
		return 1
	})
	if now := c.list.Load(); now == nil || !slices.Equal(*now, list) {
		c.list.Store(&list)
	}
}

// claimLocked tells the connections what the names say of their servers.
func (c *router) claimLocked(all map[*conn][]credentials.Claim) {
	var home []credentials.Claim
	for cn, list := range all {
		cn.claims.set(list)
		if c.athome(cn) {
			home = append(home, list...)
		}
	}
	c.home.claims.set(home)
}

// unanswered reports whether an error says that the server did not answer, or was not asked
// because its certificate does not allow the memory. Another server may answer then.
func unanswered(err error) bool {
	return engram.CodeOf(err) == engram.Unavailable || errors.Is(err, credentials.ErrNotBelieved)
}

// missingReason returns why the memories of a server that has not answered are missing.
func missingReason(err error) string {
	if errors.Is(err, credentials.ErrNotBelieved) {
		return engram.MissingNotBelieved
	}
	return engram.MissingUnreachable
}
