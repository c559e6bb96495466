package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/meter"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/ops/clock"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/release"
)

// Sources are what is shown. What is nil is not there, and neither are its metrics. The
// functions are called by one goroutine at a time, must be quick, and safe for use beside
// the server's work.
type Sources struct {
	Server, Robot string
	Memory        func() wm.Figures
	Meter         *meter.Meter
	// LongTerm returns the figures of the long-term memory. The statistics, which cost
	// more, are asked for once in a while only.
	LongTerm      func() ltm.Figures
	LongTermStats func(ctx context.Context) (ltm.Stats, error)
	Disk          func() (write time.Duration, err error)
	Names         func() Names
	Backbone      func() Backbone
	Copies        func(ctx context.Context) ([]contract.Status, error)
	Skews         func() []clock.Skew
	Health        func(ctx context.Context) health.Report
}

// Names tell how the name system is.
type Names struct {
	Registered bool // this server's memories are
	Entries    int  // memories that this server knows of
}

// Backbone tells how the connection to the backbone is.
type Backbone struct {
	Connected                    bool
	Reconnects                   uint64
	InMessages, OutMessages      uint64
	InBytes, OutBytes            uint64
	RoundTrip                    time.Duration // 0 if unknown
	Embedded                     bool          // and so the following are known
	Clients, LeafNodes, Clusters int
	LeafExpected                 int // leaf nodes that this server is configured to be of
}

// Bounds of labels: what is beyond is summed up under "(other)", or left out where sums
// mean nothing.
const (
	maxSegments = 500
	maxCopies   = 200
	maxSkews    = 100
	other       = "(other)"
)

// statsHold is how long the long-term memory's statistics hold.
const statsHold = 15 * time.Second

// collector collects everything of the server itself.
type collector struct {
	s Sources

	mu       sync.Mutex // one at a time
	stats    ltm.Stats
	statsErr error
	asked    time.Time
}

// NewRegistry returns a registry of all metrics: the server's, the Go runtime's and the
// process's.
func NewRegistry(s Sources) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{s: s},
	)
	return r
}

// Handler answers with all metrics. What cannot be collected is logged and left out. That
// the client went away, or too much time passed, ends the answer and is no fault of a metric.
func Handler(s Sources, log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(NewRegistry(s), promhttp.HandlerOpts{
		ErrorLog:            faults{log},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
}

// faults logs what is wrong with metrics. The handler writes on, metric by metric, after the
// answer has ended, and tells each time that it could not.
type faults struct{ log *slog.Logger }

// Println implements promhttp.Logger.
func (f faults) Println(v ...any) {
	for _, what := range v {
		if err, ok := what.(error); ok && (errors.Is(err, context.Canceled) || errors.Is(err, http.ErrHandlerTimeout)) {
			return
		}
	}
	f.log.Warn(strings.TrimSuffix(fmt.Sprintln(v...), "\n"))
}

// Describe implements prometheus.Collector: which metrics there are depends on the
// sources, so it says nothing beforehand.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	e := &emitter{out: out}
	e.info(c.s)
	if c.s.Meter != nil {
		e.edge("rpc", &c.s.Meter.RPC)
		e.edge("local", &c.s.Meter.Local)
	}
	segments := segmentLabels{}
	if c.s.Memory != nil {
		e.memory(c.s.Memory(), segments)
	}
	if c.s.LongTerm != nil {
		e.recorder(c.s.LongTerm())
	}
	if c.s.LongTermStats != nil {
		if time.Since(c.asked) > statsHold {
			c.stats, c.statsErr = c.s.LongTermStats(ctx)
			c.asked = time.Now()
		}
		if c.statsErr == nil {
			e.longTerm(&c.stats, segments)
		}
	}
	if c.s.Disk != nil {
		if took, err := c.s.Disk(); err == nil {
			e.gauge("engram_disk_write_seconds", "How long it took last to write 4 KiB to the data folder and sync it.", took.Seconds())
		}
	}
	if c.s.Names != nil {
		e.names(c.s.Names())
	}
	if c.s.Backbone != nil {
		e.backbone(c.s.Backbone())
	}
	if c.s.Copies != nil {
		if status, err := c.s.Copies(ctx); err == nil {
			e.copies(status)
		}
	}
	if c.s.Skews != nil {
		e.skews(c.s.Skews())
	}
	if c.s.Health != nil {
		e.health(c.s.Health(ctx))
	}
}

func (e *emitter) info(s Sources) {
	r := release.Current()
	e.gauge("engram_build_info", "What program this is; always 1.", 1, "version", r.Version, "commit", r.Commit)
	e.gauge("engram_server_info", "Which server this is; always 1.", 1, "server", s.Server, "robot", s.Robot)
}

func (e *emitter) edge(name string, m *meter.Edge) {
	const commits = "How long commits took, from where the edge has read them to where it answers. Of commits in pipelines of the local edge, one in 32 is measured."
	e.histogram("engram_commit_duration_seconds", commits, &m.Commits, "edge", name, "call", "single")
	if name == "local" {
		e.histogram("engram_commit_duration_seconds", commits, &m.Streamed, "edge", name, "call", "pipelined")
		e.counter("engram_pipelined_commits_total", "Commits that came in pipelines.", float64(m.Pipelined()), "edge", name)
	}
	e.histogram("engram_query_duration_seconds", "How long queries took, and look-ups of one snapshot.", &m.Queries, "edge", name)
	e.counter("engram_entity_updates_total", "Entity updates that were answered, refused ones included.", float64(m.Updates()), "edge", name)
	e.gauge("engram_edge_subscriptions", "Subscriptions that are open at an edge.", float64(m.Subscriptions()), "edge", name)
	m.Refusals(func(call meter.Call, code engram.Code, n uint64) {
		e.counter("engram_refusals_total", "Calls, and entity updates in commits, that were refused.", float64(n), "edge", name, "call", call.String(), "code", code.String())
	})
}

func (e *emitter) memory(f wm.Figures, labels segmentLabels) {
	e.counter("engram_updates_total", "Updates of the working memory: the number of the newest.", float64(f.Number))
	e.gauge("engram_subscriptions", "Subscriptions of the working memory, those in this process included.", float64(f.Subscriptions))
	e.counter("engram_subscriptions_begun_total", "Subscriptions ever begun.", float64(f.Begun))
	e.gauge("engram_subscription_queue_updates", "Updates that wait in the queues of subscriptions.", float64(f.Waiting))
	e.gauge("engram_subscription_queue_bytes", "Payload bytes that wait in the queues of subscriptions.", float64(f.WaitingBytes))
	e.gauge("engram_subscription_lag_updates", "Updates that wait in the fullest queue of a subscription.", float64(f.Behind))
	e.counter("engram_subscription_dropped_updates_total", "Updates that queues of slow subscribers dropped or replaced.", float64(f.Dropped))
	for _, i := range f.Indexes {
		of := []string{"index", i.Name}
		e.gauge("engram_index_ready", "1 if queries use the secondary index; 0 before the first that could, and while it is filled.", truth(i.Ready), of...)
		e.gauge("engram_index_entries", "Entries of the secondary index.", float64(i.Entries), of...)
		e.gauge("engram_index_bytes", "About the RAM that the secondary index takes.", float64(i.Bytes), of...)
		e.gauge("engram_index_lag_updates", "Updates that the secondary index has not seen yet.", float64(i.Behind), of...)
		e.counter("engram_index_fills_total", "How often the secondary index was filled.", float64(i.Fills), of...)
		e.counter("engram_index_missed_updates_total", "Updates that were gone before the secondary index came to them.", float64(i.Missed), of...)
	}
	sums := map[[2]string]*wm.SegmentFigures{}
	for _, s := range f.Segments {
		l := labels.of(s.Segment)
		sum := sums[l]
		if sum == nil {
			sum = &wm.SegmentFigures{}
			sums[l] = sum
		}
		sum.Entities += s.Entities
		sum.Snapshots += s.Snapshots
		sum.Bytes += s.Bytes
		sum.Committed += s.Committed
		sum.Written += s.Written
		sum.Evicted += s.Evicted
		sum.Refused += s.Refused
	}
	for l, s := range sums {
		of := []string{"memory", l[0], "core_segment", l[1]}
		e.gauge("engram_segment_entities", "Entities in the working memory.", float64(s.Entities), of...)
		e.gauge("engram_segment_snapshots", "Snapshots in the working memory, superseded versions included.", float64(s.Snapshots), of...)
		e.gauge("engram_segment_bytes", "Payload bytes in the working memory.", float64(s.Bytes), of...)
		e.counter("engram_segment_committed_snapshots_total", "Snapshots that were committed.", float64(s.Committed), of...)
		e.counter("engram_segment_committed_bytes_total", "Payload bytes that were committed.", float64(s.Written), of...)
		e.counter("engram_segment_evicted_snapshots_total", "Snapshots and versions that were dropped from the working memory to stay within its bounds.", float64(s.Evicted), of...)
		e.counter("engram_segment_refused_updates_total", "Entity updates that the working memory refused.", float64(s.Refused), of...)
	}
}

func (e *emitter) recorder(f ltm.Figures) {
	e.gauge("engram_recorder_lag_updates", "Updates that the recorder has still to see.", float64(f.Behind))
	e.gauge("engram_recorder_stalled", "1 while the recorder waits for a disk that refuses.", truth(f.Stalled))
	e.counter("engram_recorder_lost_versions_total", "Versions that could not be recorded.", float64(f.Lost))
	e.gauge("engram_log_bytes", "Bytes of the log's files.", float64(f.LogBytes))
	e.gauge("engram_logs_failing", "Logs that cannot be written.", float64(f.LogFailing))
	e.gauge("engram_episodes_without_digests", "Sealed episodes whose payloads are read to fill a secondary index.", float64(f.Undigested))
	e.gauge("engram_log_losses", "Parts of logs that were on the disk and were found gone or damaged, in this epoch and earlier ones.", float64(f.LogLosses))
}

func (e *emitter) longTerm(st *ltm.Stats, labels segmentLabels) {
	e.gauge("engram_episodes", "Episodes on disk, the open one included.", float64(st.Episodes))
	e.gauge("engram_episode_bytes", "Bytes of all episodes' files.", float64(st.Bytes))
	e.gauge("engram_disk_bytes", "Bytes of the disk that the data folder is on.", float64(st.DiskTotal))
	e.gauge("engram_disk_free_bytes", "Bytes of it that are free.", float64(st.DiskFree))
	e.gauge("engram_long_term_troubles", "Things of the long-term memory that do not work just now.", float64(len(st.Health)))
	sums := map[[2]string]*ltm.SegmentStats{}
	for _, s := range st.Segments {
		l := labels.of(s.Segment)
		sum := sums[l]
		if sum == nil {
			sum = &ltm.SegmentStats{}
			sums[l] = sum
		}
		sum.Snapshots += s.Snapshots
		sum.Bytes += s.Bytes
		sum.Recorded += s.Recorded
		sum.Filtered += s.Filtered
		sum.Forgotten += s.Forgotten
	}
	for l, s := range sums {
		of := []string{"memory", l[0], "core_segment", l[1]}
		e.gauge("engram_segment_disk_snapshots", "Snapshots in sealed episodes.", float64(s.Snapshots), of...)
		e.gauge("engram_segment_disk_bytes", "Bytes of them in the episodes' files.", float64(s.Bytes), of...)
		e.counter("engram_segment_recorded_versions_total", "Versions that were recorded.", float64(s.Recorded), of...)
		e.counter("engram_segment_filtered_versions_total", "Versions that policies left out.", float64(s.Filtered), of...)
		e.counter("engram_segment_forgotten_versions_total", "Versions that were forgotten on disk, earlier epochs included.", float64(s.Forgotten), of...)
	}
}

func (e *emitter) names(n Names) {
	e.gauge("engram_names_registered", "1 while this server's memories are registered with the name system.", truth(n.Registered))
	e.gauge("engram_names_entries", "Memories that the name system knows.", float64(n.Entries))
}

func (e *emitter) backbone(b Backbone) {
	e.gauge("engram_backbone_connected", "1 while the server is connected to the backbone.", truth(b.Connected))
	e.counter("engram_backbone_reconnects_total", "How often the connection was made again.", float64(b.Reconnects))
	e.counter("engram_backbone_received_messages_total", "Messages from the backbone.", float64(b.InMessages))
	e.counter("engram_backbone_sent_messages_total", "Messages to the backbone.", float64(b.OutMessages))
	e.counter("engram_backbone_received_bytes_total", "Payload bytes from the backbone.", float64(b.InBytes))
	e.counter("engram_backbone_sent_bytes_total", "Payload bytes to the backbone.", float64(b.OutBytes))
	if b.RoundTrip > 0 {
		e.gauge("engram_backbone_round_trip_seconds", "How long a message to the backbone and back takes.", b.RoundTrip.Seconds())
	}
	if b.Embedded {
		e.gauge("engram_backbone_clients", "Connections to the embedded backbone.", float64(b.Clients))
		e.gauge("engram_backbone_leaf_nodes", "Leaf node connections of the embedded backbone.", float64(b.LeafNodes))
		e.gauge("engram_backbone_leaf_nodes_expected", "Leaf node connections that this server is configured to make.", float64(b.LeafExpected))
		e.gauge("engram_backbone_routes", "Connections to other servers of the cluster.", float64(b.Clusters))
	}
}

func (e *emitter) copies(all []contract.Status) {
	all = slices.DeleteFunc(slices.Clone(all), func(c contract.Status) bool { return c.OfMany() }) // its numbers are those of what it made
	for i := range all[:min(len(all), maxCopies)] {
		c := &all[i]
		of := []string{"copy", c.Pattern.String()}
		for _, s := range []contract.State{contract.StateWaiting, contract.StateCatching, contract.StateLive, contract.StateFailed} {
			e.gauge("engram_copy_state", "1 for the state that a copy is in.", truth(c.State == s), append(of, "state", string(s))...)
		}
		e.gauge("engram_copy_lag_updates", "Updates that a copy is behind its owner, as last told.", float64(c.Updates), of...)
		e.gauge("engram_copy_lag_bytes", "Payload bytes that a copy is behind its owner, as last told.", float64(c.Bytes), of...)
		if c.Contact != 0 { // else it is not known
			e.gauge("engram_copy_lag_seconds", "How far a copy is behind its owner, by the owner's clock, once that was heard.", c.Lag.Seconds(), of...)
		}
		e.counter("engram_copy_received_versions_total", "Versions that a copy was given.", float64(c.Received), of...)
		e.counter("engram_copy_received_bytes_total", "Their payload bytes.", float64(c.Payload), of...)
		e.counter("engram_copy_wire_bytes_total", "Bytes over the link for a copy.", float64(c.Wire), of...)
		e.counter("engram_copy_lost_versions_total", "Versions that were gone before they could be pulled.", float64(c.Lost), of...)
		for _, l := range c.LeftOut {
			e.counter("engram_copy_left_out_versions_total", "Versions that rules left out of a copy.", float64(l.Count), append(of, "reason", l.Reason)...)
		}
	}
}

func (e *emitter) skews(all []clock.Skew) {
	const help = "How far another server's clock is ahead of this one's; negative if it is behind."
	for _, s := range all[:min(len(all), maxSkews)] {
		if !s.Known() {
			continue
		}
		e.gauge("engram_clock_skew_seconds", help, s.Offset.Seconds(), "peer", s.Server)
		e.gauge("engram_clock_skew_uncertainty_seconds", "How wrong engram_clock_skew_seconds can be.", s.Uncertainty().Seconds(), "peer", s.Server)
	}
}

func (e *emitter) health(r health.Report) {
	e.gauge("engram_ready", "1 while the server is ready, as /readyz says.", truth(r.Ready()))
	for _, c := range r.Checks {
		for _, s := range []health.Status{health.OK, health.Degraded, health.Failed} {
			e.gauge("engram_health_status", "1 for the status of a check.", truth(c.Status == s), "check", c.Check, "status", string(s))
		}
	}
}
