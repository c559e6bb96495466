// Package copies holds read-only copies of other servers' provider segments in a
// memory server: it pulls from their owners where it stopped, whatever happened in
// between, and knows what rules left out. docs/distribution.md is the guide.
package copies
