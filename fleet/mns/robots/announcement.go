package robots

import (
	"encoding/json"
	"net"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// Announcement is what is told of a server.
type Announcement struct {
	Robot  string `json:"robot"`
	Server string `json:"server"`
	// Epoch tells one run of the server from the next.
	Epoch uint64 `json:"life,string"`
	// Version counts what was announced in this epoch.
	Version uint64 `json:"version"`
	// Heartbeat says that version Version still holds, and is all that is said.
	Heartbeat bool `json:"beat,omitempty"`
	// Gone says that the server has left.
	Gone bool `json:"gone,omitempty"`

	Memories  []string `json:"memories,omitempty"`  // that it hosts, without the robot's name
	Copies    []string `json:"copies,omitempty"`    // of what it holds copies, by the names that they have there
	Addresses []string `json:"addresses,omitempty"` // best first, as far as others could reach them

	born time.Time // when one of this process was first announced
}

// askSubject is where one asks for announcements: of all servers, or of the one whose
// two tokens are the message.
const askSubject = "engram.names"

// maxAnnouncement bounds an announcement, in bytes.
const maxAnnouncement = 1 << 20

// tokens name the server on the message fabric.
func (a *Announcement) tokens() string { return subject.Token(a.Robot) + "." + subject.Token(a.Server) }

func (a *Announcement) subject() string { return askSubject + "." + a.tokens() }

// parse reads what came on a subject. The error is Invalid or Exhausted: anybody may
// send anything.
func parse(on string, data []byte) (a Announcement, err error) {
	if len(data) > maxAnnouncement {
		return a, engram.Errorf(engram.Exhausted, on, "an announcement has %d bytes; at most %d are read", len(data), maxAnnouncement)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, engram.Errorf(engram.Invalid, on, "not an announcement: %w", err)
	}
	if err := backbone.CheckRobot(a.Robot); err != nil {
		return a, err
	}
	if a.subject() != on {
		return a, engram.Errorf(engram.Invalid, on, "an announcement of another server, %q of %s", a.Server, a.Robot)
	}
	if a.Heartbeat || a.Gone {
		a.Memories, a.Copies, a.Addresses = nil, nil, nil
		if a.Server == "" || len(a.Server) > mns.MaxText {
			return a, engram.Errorf(engram.Invalid, on, "an announcement of no server")
		}
		return a, nil
	}
	if len(a.Addresses) <= mns.MaxAddresses {
		// One that leads to this computer would have this side take its own servers, of
		// which it may be the user, for another robot's.
		a.Addresses = reachable(a.Addresses)
	}
	r := mns.Registration{Server: a.Server, Memories: a.Memories, Addresses: a.Addresses, Copies: a.Copies}
	if err := r.Check(); err != nil {
		return a, err
	}
	for _, m := range a.Memories {
		if strings.Contains(m, ":") {
			return a, engram.Errorf(engram.Invalid, on, "a memory of the name %q cannot be told from another robot's", m)
		}
	}
	return a, nil
}

// reachable returns the addresses that may lead to a server from elsewhere.
func reachable(addresses []string) []string {
	var out []string
	for _, a := range addresses {
		scheme, host, http := strings.Cut(a, "://")
		http = http && (scheme == "http" || scheme == "https")
		switch {
		case http && leadsHere(host):
		case http, strings.HasPrefix(a, "nats:"):
			out = append(out, a)
		}
	}
	return out
}

// leadsHere reports whether a host and port are of the computer that dials them.
func leadsHere(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) || host == "" || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}
