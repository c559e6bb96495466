package access

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Identity is who makes a call: the name in a certificate, "uid:1000" for a user of
// the server's own computer, or one of those below.
type Identity string

const (
	// Owner is the user whom the server runs as, on the same computer. Who is that can
	// read the server's memory anyway, so it may do everything.
	Owner Identity = "owner"
	// Anonymous is who did not say who they are.
	Anonymous Identity = "anonymous"
)

// UserPrefix begins the identities of the computer's users.
const UserPrefix = "uid:"

// OfUser returns the identity of a user of this computer.
func OfUser(uid int) Identity {
	if uid == os.Getuid() {
		return Owner
	}
	return Identity(UserPrefix + strconv.Itoa(uid))
}

// MaxIdentityLen is the length of the longest identity, in bytes.
const MaxIdentityLen = 128

// CheckIdentity returns an Invalid error if a name cannot be that in a certificate:
// letters, digits and ".", "_", "-", "@", and not the name of somebody without one.
func CheckIdentity(name string) error {
	foreign := func(r rune) bool { return !strings.ContainsRune(identityLetters, r) }
	if name == "" || len(name) > MaxIdentityLen || strings.ContainsFunc(name, foreign) {
		return engram.Errorf(engram.Invalid, fmt.Sprintf("%.64q", name), "an identity has 1 to %d letters, digits, \".\", \"_\", \"-\" and \"@\"", MaxIdentityLen)
	}
	if id := Identity(name); id == Owner || id == Anonymous {
		return engram.Errorf(engram.Invalid, name, "this name is for who has no certificate; choose another one")
	}
	return nil
}

const identityLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-@"

type identityKey struct{}

// WithIdentity returns a context for calls that id makes.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityOf returns who makes the call, [Anonymous] if nobody said.
func IdentityOf(ctx context.Context) Identity {
	if id, ok := ctx.Value(identityKey{}).(Identity); ok {
		return id
	}
	return Anonymous
}
