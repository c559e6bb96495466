// Package subject writes names as subjects of the message fabric and as keys of its
// buckets. It is apart from the connection, so that it can be used and tested
// without a server.
package subject

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/seed-301d4374/engram"
)

// maxToken bounds an encoded name, so that a subject of four stays within the 4 KiB
// that NATS takes.
const maxToken = 512

// Token encodes any name as one token of a subject or of a key of a bucket: letters,
// digits, "-" and "_" stand for themselves, other bytes are "=" and two hexadecimal
// digits, the empty name is "=". What would be longer than 512 bytes is cut and
// ends in "==" and a hash; it cannot be decoded.
func Token(name string) string {
	const digits = "0123456789ABCDEF"
	plain := name != ""
	for i := range len(name) {
		plain = plain && verbatim(name[i])
	}
	if plain && len(name) <= maxToken {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; verbatim(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	switch {
	case name == "":
		return "="
	case b.Len() <= maxToken:
		return b.String()
	}
	sum := sha256.Sum256([]byte(name))
	tail := "==" + hex.EncodeToString(sum[:16])
	head := b.String()[:maxToken-len(tail)]
	if i := strings.LastIndexByte(head, '='); i > len(head)-3 {
		head = head[:i] // not through an escape
	}
	return head + tail
}

// NameOf decodes a token; ok is false if it is none, or was cut.
func NameOf(token string) (name string, ok bool) {
	if token == "=" {
		return "", true
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		switch {
		case verbatim(c):
			b.WriteByte(c)
		case c == '=' && i+2 < len(token):
			raw, err := hex.DecodeString(token[i+1 : i+3])
			if err != nil {
				return "", false
			}
			b.WriteByte(raw[0])
			i += 2
		default:
			return "", false
		}
	}
	return b.String(), token != ""
}

func verbatim(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// OfUpdates returns the subject of an entity's updates,
// engram.update.<memory>.<core>.<provider>.<entity>; of a shallower ID, the subject
// that selects all below it.
func OfUpdates(id engram.ID) string {
	s := "engram.update"
	for _, name := range id.Names() {
		s += "." + Token(name)
	}
	if id.Level() < engram.LevelEntity {
		s += ".>"
	}
	return s
}

// Inbox returns the prefix of the subjects on which an identity gets answers, so that it
// need not be let hear those of others; "" is one that is not known.
func Inbox(identity string) string { return of("_INBOX", identity) }

// Tunnels returns the prefix of the subjects at which tunnels of an identity end.
func Tunnels(identity string) string { return of("engram.tunnel", identity) }

func of(prefix, identity string) string {
	if identity == "" {
		return prefix
	}
	return prefix + "." + Token(identity)
}

// IsInbox reports whether a subject is one for answers. Whoever answers a request looks,
// since any subject may be named for the answer.
func IsInbox(s string) bool { return isBelow(s, "_INBOX.") }

// IsTunnel reports whether a subject is the end of a tunnel.
func IsTunnel(s string) bool { return isBelow(s, "engram.tunnel.") }

func isBelow(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && rest != "" && len(s) <= 4*maxToken && !strings.ContainsAny(rest, "*> \t\r\n\x00") &&
		!strings.Contains(s, "..") && !strings.HasSuffix(s, ".")
}

// Bucket returns the name of the key-value bucket with a robot's names; "" is the robot
// whose fabric it is.
func Bucket(robot string) string {
	if robot == "" {
		return "engram-names"
	}
	return "engram-names-" + robot
}

// Buckets are the subjects of [MakeBucket].
const Buckets = "engram.bucket.>"

// MakeBucket returns the subject on which the fabric of a JetStream domain is asked to
// make a bucket; "*" is any.
func MakeBucket(domain, bucket string) string {
	if bucket != "*" {
		bucket = Token(bucket)
	}
	return "engram.bucket." + Token(domain) + "." + bucket
}

// HolderPrefix begins the keys of the copies that servers hold; no memory's key has a dot.
const HolderPrefix = "copies."

// HolderKeys returns the prefix of such keys of an identity's servers; "" is one that is
// not known.
func HolderKeys(identity string) string {
	return of(strings.TrimSuffix(HolderPrefix, "."), identity) + "."
}
