package backbone

import (
	"log/slog"
	"net/url"
	"regexp"

	"github.com/seed-301d4374/engram"
)

// Options say what the backbone is.
type Options struct {
	// URL of an existing NATS server, "nats://host:port"; several are separated by
	// commas. Empty means to embed one.
	URL string
	// Robot names the robot (or the base station), of letters, digits, "-" and "_".
	// It is the JetStream domain of an embedded server; robots that meet have
	// different names.
	Robot string
	// Dir is where an embedded server keeps its files; empty means in a temporary
	// folder that is removed at the end.
	Dir string

	// The rest is for an embedded server.

	Listen     string   // host:port for other processes; empty means this process only
	LeafListen string   // host:port for the leaf nodes of other robots
	LeafOf     []string // URLs of the base station's leaf listener, "nats-leaf://host:port" or "nats://host:port"
	Cluster    string   // host:port for the other servers of a cluster
	Routes     []string // URLs of those, "nats://host:port"

	Log *slog.Logger // nil means slog.Default()
}

var robotName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Check returns an Invalid error that names the wrong option.
func (o Options) Check() error {
	if o.Robot != "" && !robotName.MatchString(o.Robot) {
		return engram.Errorf(engram.Invalid, o.Robot, "a robot's name has 1 to 64 letters, digits, \"-\" and \"_\"")
	}
	if o.URL != "" && (o.Listen != "" || o.LeafListen != "" || len(o.LeafOf) > 0 || o.Cluster != "" || len(o.Routes) > 0) {
		return engram.Errorf(engram.Invalid, redacted(o.URL), "an existing backbone has its own configuration; listen, leaf and cluster options are for an embedded one")
	}
	if len(o.LeafOf) > 0 && o.Robot == "" {
		return engram.Errorf(engram.Invalid, redacted(o.LeafOf[0]), "a leaf node needs its robot's name, so that it can be told from the others")
	}
	if len(o.Routes) > 0 && o.Cluster == "" {
		return engram.Errorf(engram.Invalid, redacted(o.Routes[0]), "routes to a cluster need an address at which this server listens for it")
	}
	return nil
}

// redacted returns a URL's text without its password.
func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the URL"
	}
	return u.Redacted()
}
