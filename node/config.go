package node

import (
	"log/slog"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/mind/world"
)

// Config is what a node runs with. The zero value of each member is a default that is
// good for one computer.
type Config struct {
	// Memories are hosted; package memories has those that every robot needs.
	Memories []server.Memory
	// Limits are those of the working memory.
	Limits wm.Limits
	// Edge has the limits of calls. The node sets its other members: Server, Now, Grace,
	// Meter, Operations, Web, Backbone and Copies.
	Edge rpc.Options
	// Listen lists unix:/path and host:port; empty means [rpc.DefaultAddresses].
	Listen []string
	// Advertise lists addresses to register beside those that are listened on.
	Advertise []string
	// Robot is the name of this robot or base station, "" for none. With a backbone of
	// others, whose domain has a name, it is that.
	Robot string
	// Name is the server's, unique on the backbone; "" is made of robot, host name and
	// first address.
	Name string
	// Standby has the node wait while other servers host its memories, and take over when
	// they are gone.
	Standby bool
	// Data configures the long-term memory; nil keeps nothing on disk. The node sets Robot,
	// and Now if it is nil.
	Data *ltm.Options
	// Backbone connects several servers; nil means that the node is alone.
	Backbone *Backbone
	// Copies are held of what other servers own. They need a Backbone.
	Copies []contract.Copy
	// Recovery says what becomes of what the memories World, Object and Navigation said before
	// the node began and have lost, where copies at other servers have it. With Data it is
	// not withdrawn.
	Recovery world.Recovery
	// Security says who may do what.
	Security Security
	// Operations are for those who look after the server.
	Operations Operations
	// NoPage offers no page to browsers.
	NoPage bool
	// Assets are folders with files that descriptions of robots name, such as meshes, for the
	// page: package://arm/hand.stl is arm/hand.stl in the first that has it.
	Assets []string
	// Now is the clock; nil means [engram.Now].
	Now func() engram.Time
}

// Backbone says what a node's backbone is.
type Backbone struct {
	// URL of NATS servers; "" runs one inside the node, as Embedded says.
	URL string
	// Embedded configures that; the node sets Robot and Secure.
	Embedded embedded.Options
	// PublishData are the updates whose data are published, not only their IDs, where the
	// segment's policy does not say what is published.
	PublishData []engram.Pattern
	// Lease is how soon a server that died is gone from the names, where this one makes
	// the registry; 0 means kv.DefaultTTL.
	Lease time.Duration
	// Files for NATS servers of others: certificates of authorities (PEM), a user's JWT and
	// seed, the seed of an nkey; "" for none.
	CAFile, CredsFile, NKeyFile string
}

// Security has the files of credentials and access rules, "" for none, and the web pages
// with access. Both files are read again when they change.
type Security struct {
	Credentials string // the server's own: TLS on every TCP port, both ways
	Access      string // the rules
	Web         secure.Web
}

// Operations is what operators are offered.
type Operations struct {
	// Listen serves /metrics, /healthz and /readyz, and nothing else, at host:port; "" only
	// at the node's other addresses.
	Listen string
	// ClockEvery is how often to measure how far other servers' clocks are; 0 is never.
	ClockEvery time.Duration
	// Log takes what metrics have to say; nil means [slog.Default].
	Log *slog.Logger
}
