// Package copies holds read-only copies of other servers' provider segments in a
// memory server. It pulls from the owners, resumes at a stored position, and counts the
// versions that rules left out. docs/distribution.md is the guide.
package copies
