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
