package secure

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram/access"
)

// Peer is the process at the other end of a connection, as the kernel vouches for.
type Peer struct {
	PID int
	UID int
	GID int
}

// Program returns what names the program of the process: its file, and of an interpreter the script;
// its number where the system does not tell. It is for statistics: a process can pretend.
func (p Peer) Program() string {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	if err != nil || len(args) == 0 {
		return strconv.Itoa(p.PID)
	}
	words := strings.Split(string(args[:min(len(args), maxArgs)]), "\x00")
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
	if err != nil { // of another user's process
		file = words[0]
	}
	if !interpreter.MatchString(filepath.Base(file)) {
		return file
	}
	for _, w := range words[1:] {
		file += " " + w
		if !strings.HasPrefix(w, "-") {
			break
		}
	}
	return file
}

// maxArgs bounds what is looked at of a command line.
const maxArgs = 4096

var interpreter = regexp.MustCompile(`^(python|pypy|node|deno|bun|ruby|perl|java|bash|dash|sh|lua|julia|R)[0-9.]*$`)

// userOf returns the identity of a Unix socket's other end, Anonymous where the kernel
// does not tell.
func userOf(conn *net.UnixConn) access.Identity {
	p, err := PeerOf(conn)
	if err != nil {
		return access.Anonymous
	}
	return access.OfUser(p.UID)
}
