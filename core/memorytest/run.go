package memorytest

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// MemoryName is the name of the memory that the function given to [Run] provides.
const MemoryName = "Test"

// Memory is what every implementation must have.
type Memory interface {
	engram.Writer
	engram.Reader
	engram.LatestReader
	engram.Subscriber
	engram.Segments
	engram.Types
	engram.Statistician
}

// options say what the suite may expect of an implementation.
type options struct {
	memory     string
	maxPayload int
	longTerm   bool
	entities   int
}

// Option changes what [Run] expects.
type Option func(*options)

// MaxPayload gives the limit on one payload's bytes that the memory was opened
// with. Without it the suite does not test the limit.
func MaxPayload(bytes int) Option { return func(o *options) { o.maxPayload = bytes } }

// Name says that the memory has another name than [MemoryName], such as that of
// another robot's. Types are then not those of all memories that can be reached.
func Name(memory string) Option { return func(o *options) { o.memory = memory } }

// LongTerm says that the memory has a long-term memory that records everything: what
// the working memory has evicted is found there.
func LongTerm() Option { return func(o *options) { o.longTerm = true } }

// Entities says how many entities the suite puts into one segment, instead of 10,000.
func Entities(n int) Option { return func(o *options) { o.entities = n } }

// Run tests a memory. open returns one that holds an unbounded memory of the name
// "Test" and lives as long as the test it is given; it is called for each part of
// the suite, and may return the same one or a new one each time: each part makes
// core segments of its own. Default limits (see wm.Limits) are expected to hold.
func Run(t *testing.T, open func(t *testing.T) Memory, opts ...Option) {
	o := options{memory: MemoryName, entities: 10_000}
	for _, opt := range opts {
		opt(&o)
	}
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			part.run(&suite{T: t, m: open(t), options: o})
		})
	}
}

// parts is the suite, in the order it runs.
var parts = []struct {
	name string
	run  func(*suite)
}{
	{"Commit", testCommit},
	{"TransientCommit", testTransientCommit},
	{"TimesAhead", testTimesAhead},
	{"Instances", testInstances},
	{"PartialFailure", testPartialFailure},
	{"BadUpdates", testBadUpdates},
	{"BadPayloads", testBadPayloads},
	{"PayloadLimit", testPayloadLimit},
	{"ProviderTypes", testProviderTypes},
	{"CommitStream", testCommitStream},
	{"CommitStreamClosed", testCommitStreamClosed},

	{"Selectors", testSelectors},
	{"SelectorUnion", testSelectorUnion},
	{"OutOfOrder", testOutOfOrder},
	{"Supersede", testSupersede},
	{"AsOf", testAsOf},
	{"LatestReader", testLatestReader},
	{"ExtremeTimes", testExtremeTimes},
	{"Names", testNames},
	{"OddNames", testOddNames},
	{"BareNames", testBareNames},
	{"NothingFound", testNothingFound},
	{"WithoutPayload", testWithoutPayload},
	{"Where", testWhere},
	{"FilterOrder", testFilterOrder},
	{"OfType", testOfType},
	{"LinksTo", testLinksTo},
	{"FilterFails", testFilterFails},
	{"Fields", testFields},
	{"Target", testTarget},
	{"BadQueries", testBadQueries},
	{"ManyEntities", testManyEntities},
	{"Parts", testParts},
	{"Cases", testCases},
	{"Bounds", testBounds},

	{"SubscribeNow", testSubscribeNow},
	{"SubscribeLast", testSubscribeLast},
	{"SubscribeTime", testSubscribeTime},
	{"SubscribeNumber", testSubscribeNumber},
	{"SubscribePatterns", testSubscribePatterns},
	{"SubscribeData", testSubscribeData},
	{"SubscribeWhere", testSubscribeWhere},
	{"SubscribeLastWhere", testSubscribeLastWhere},
	{"SubscribeFailures", testSubscribeFailures},
	{"SubscribeSlow", testSubscribeSlow},
	{"SubscribeBad", testSubscribeBad},
	{"SubscribeEnd", testSubscribeEnd},
	{"SubscribeRemoved", testSubscribeRemoved},
	{"SubscribeRemovals", testSubscribeRemovals},

	{"Segments", testSegments},
	{"BadSegments", testBadSegments},
	{"RemoveSegment", testRemoveSegment},
	{"Describe", testDescribe},
	{"Types", testTypeDefs},
	{"Stats", testStats},
	{"Predict", testPredict},

	{"ConcurrentWriters", testConcurrentWriters},
	{"ConcurrentBackfill", testConcurrentBackfill},
	{"WholeSnapshots", testWholeSnapshots},
}

// suite is one part of the suite at work, in core segments of its own.
type suite struct {
	*testing.T
	options
	m        Memory
	segments int // made so far
}
