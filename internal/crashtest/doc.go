// Package crashtest holds the tests that kill a memory server and look at what it
// has after its next start: a real process with SIGKILL, and one in this process whose
// file system loses power and fails. They check guarantee 1 of docs/guarantees.md.
//
// CI runs a bounded number of kills. For many:
//
//	go test ./internal/crashtest -run TestKill -kills 10000 -within 6h -timeout 0
package crashtest
