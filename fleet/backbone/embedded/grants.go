package embedded

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

// everyone may publish and hear this: look names up, ask for announcements, dial servers.
// All else of JetStream's interface, also under the domain's name, is refused to
// programs, servers and leaf nodes alike: with streams of one's own one could speak for
// others, and change names. Requests to JetStream have the subjects that the NATS server
// turned theirs into.
var (
	mayPublish = []string{
		"engram.names", "engram.dial.*", "engram.tunnel.>",
		asked + "API.INFO", asked + "API.STREAM.INFO.*", asked + "API.STREAM.MSG.GET.*", asked + "API.DIRECT.GET.>",
		asked + "API.CONSUMER.CREATE.*.>", asked + "API.CONSUMER.CREATE.*", asked + "API.CONSUMER.INFO.>", asked + "API.CONSUMER.DELETE.>", "$JS.FC.>",
	}
	mayHear = []string{"engram.names", "engram.names.>"}
)

// answerWithin is how long the answer to a request may take.
const answerWithin = time.Minute

// ofProgram returns what a program may do on the fabric of a robot. It may read
// everything, so it hears the notices.
func ofProgram(id access.Identity, robot string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append([]string{subject.MakeBucket(robot, subject.Bucket(""))}, mayPublish...)},
		Subscribe: &server.SubjectPermission{Allow: slices.Concat(mayHear, ownSubjects(id), notices)},
	}
}

// notices are the subjects of the notices of updates.
var notices = []string{"engram.update.>"}

// ownSubjects are the subjects of an identity's own answers and tunnels.
func ownSubjects(id access.Identity) []string {
	return []string{subject.Inbox(string(id)) + ".>", subject.Tunnels(string(id)) + ".>"}
}

// ofServer returns what a server may do on the fabric of a robot: what a program may, and
// speak for the memories that its certificate allows. hears says that the rules let it
// read everything.
func ofServer(id access.Identity, s credentials.Serving, robot string, hears bool) *server.Permissions {
	g := grantsOf(id, s, robot)
	publish := slices.Concat(mayPublish, g.announce, g.update, g.names)
	hear := slices.Concat(mayHear, ownSubjects(id), []string{"engram.dial.*"})
	if hears {
		hear = append(hear, notices...)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: publish},
		Subscribe: &server.SubjectPermission{Allow: hear},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: answerWithin},
	}
}

// ofLeaf returns what the fabric of another robot may do on this one. It speaks for all
// of that robot's programs and servers, so it hears their answers and tunnels, too; names
// are changed and looked up in each robot's own fabric.
func ofLeaf(s credentials.Serving, hears bool) *server.Permissions {
	g := grantsOf("", s, "")
	const answers, tunnels, dial = "_INBOX.>", "engram.tunnel.>", "engram.dial.*"
	hear := slices.Concat(mayHear, []string{answers, tunnels, dial})
	if hears {
		hear = append(hear, notices...)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: slices.Concat(g.announce, g.update, []string{"engram.names", answers, tunnels, dial})},
		Subscribe: &server.SubjectPermission{Allow: hear},
	}
}

// notAcross are the subjects that do not pass between fabrics: each has names of its own.
var notAcross = []string{"$JS.>", "$KV.>", subject.Buckets}

// grants are the subjects by which a server speaks for memories.
type grants struct {
	announce []string // announcements to other robots
	update   []string // notices of updates
	names    []string // keys of the name system, and the buckets that have them
}

// grantsOf returns the subjects of the memories that a certificate of an identity allows,
// on the fabric of a robot; "" is one that has no name.
func grantsOf(id access.Identity, s credentials.Serving, robot string) grants {
	own := s.Own
	if s.All() {
		own = []string{"*:*"}
	}
	var g grants
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, p := range own {
		of, memory := credentials.SplitServing(p)
		add(&g.announce, "engram.names."+token(of)+".*")
		add(&g.update, "engram.update."+token(memory)+".>")
		// The fabric's own bucket has the names of its robot, those of others theirs.
		buckets := []string{subject.Bucket(of)}
		switch {
		case strings.Contains(of, "*"):
			buckets = []string{"*"}
		case robot == "" || of == robot:
			buckets = append(buckets, subject.Bucket(""))
		}
		for _, b := range buckets {
			add(&g.names, subject.MakeBucket(robot, b))
			add(&g.names, asked+"$KV."+b+"."+token(memory))
			add(&g.names, asked+"$KV."+b+"."+subject.HolderKeys(string(id))+"*")
		}
	}
	return g
}

// token encodes a name, or any name for a pattern of names: a subject can hold no finer
// pattern. Who asks a server looks at its certificate, too.
func token(pattern string) string {
	if strings.Contains(pattern, "*") {
		return "*"
	}
	return subject.Token(pattern)
}
