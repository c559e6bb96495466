package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ltm/service"
)

// What a [Store] offers beside answering queries is defined apart from it, for
// clients.
type (
	Service       = service.Service
	EpisodeInfo   = service.EpisodeInfo
	Damaged       = service.Damaged
	SegmentPolicy = service.SegmentPolicy
	Rule          = service.Rule
	Duration      = service.Duration
	Stats         = service.Stats
	SegmentStats  = service.SegmentStats
	Forgetting    = service.Forgetting
	Forgotten     = service.Forgotten
	ForgettingAct = service.ForgettingAct
	Compacted     = service.Compacted
	Progress      = service.Progress
)

var (
	_ Service             = (*Store)(nil)
	_ engram.Reader       = (*Store)(nil)
	_ engram.PartReader   = (*Store)(nil)
	_ engram.LatestReader = (*Store)(nil)
)
