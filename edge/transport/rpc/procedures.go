package rpc

import (
	"github.com/seed-301d4374/engram/core/feature"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// The services that this package implements, as the API calls them.
const (
	memoryService = "engram.v1.MemoryService"
	nameService   = "engram.v1.NameService"
)

// What the paths of their procedures begin with.
const (
	memoryPath = "/" + memoryService + "/"
	namePath   = "/" + nameService + "/"
)

// The procedures that edge/transport/local has its own form of.
const (
	QueryPath     = memoryPath + "Query"
	SubscribePath = memoryPath + "Subscribe"
)

// unruled is the rule of their calls: what one may do is for the server behind them to say,
// who has a guard of its own ([feature.Guard]).
var unruled feature.Rule

// service returns the procedures of MemoryService.
func (h memoryHandler) service() feature.Feature {
	return feature.New(memoryService,
		feature.Unary("Info", unruled, h.info),
		feature.Unary("Commit", unruled, h.commit),
		feature.Pipe[engramv1.CommitRequest]("CommitStream", unruled, h.commitMessages),
		feature.Unary("Query", unruled, h.query),
		feature.Stream("QueryStream", unruled, h.queryStream),
		feature.Unary("Latest", unruled, h.latest),
		feature.Stream("Subscribe", unruled, h.subscribe),
		feature.Unary("Predict", unruled, h.predict),
		feature.Unary("Describe", unruled, h.describe),
		feature.Unary("AddSegment", unruled, h.addSegment),
		feature.Unary("RemoveSegment", unruled, h.removeSegment),
		feature.Unary("AddType", unruled, h.addType),
		feature.Unary("GetType", unruled, h.getType),
		feature.Unary("ListTypes", unruled, h.listTypes),
		feature.Unary("Stats", unruled, h.stats),
	)
}

// service returns the procedures of NameService.
func (h nameHandler) service() feature.Feature {
	return feature.New(nameService,
		feature.Unary("Register", unruled, h.register),
		feature.Unary("Renew", unruled, h.renew),
		feature.Unary("Release", unruled, h.release),
		feature.Unary("Resolve", unruled, h.resolve),
		feature.Unary("ListNames", unruled, h.listNames),
		feature.Stream("WatchNames", unruled, h.watchNames).Watching(),
		feature.Stream("WatchRevocations", unruled, h.watchRevocations).Watching(),
	)
}
