package copies

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// ParseArgs is [Parse] for what a shell hands over: the pattern and the rules as words
// of their own, or all of it, or some, in quotes as one.
func ParseArgs(args []string) (contract.Copy, error) {
	if len(args) > 0 && strings.ContainsAny(args[0], " \t\r\n") { // which names may hold, too
		words, err := split(args[0])
		switch {
		case err != nil && strings.Contains(args[0], "="):
			return contract.Copy{}, engram.Errorf(engram.Invalid, args[0], "%w", err)
		case err == nil && slices.ContainsFunc(words[min(1, len(words)):], isRule):
			args = append(words, args[1:]...)
		}
	}
	return ParseWords(args)
}

// isRule reports whether a word looks like a rule, right or wrong.
func isRule(word string) bool {
	key, _, valued := strings.Cut(word, "=")
	return word == "spare" || valued && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz-_") == ""
}
