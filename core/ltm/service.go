package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/admin"
)

// What a [Store] offers beside answering queries is defined apart from it, for
// clients.
type (
	Service       = admin.Service
	EpisodeInfo   = admin.EpisodeInfo
	Damaged       = admin.Damaged
	SegmentPolicy = admin.SegmentPolicy
	Rule          = admin.Rule
	Duration      = admin.Duration
	Stats         = admin.Stats
	SegmentStats  = admin.SegmentStats
	Forgetting    = admin.Forgetting
	Forgotten     = admin.Forgotten
	ForgettingAct = admin.ForgettingAct
	Compacted     = admin.Compacted
	Progress      = admin.Progress
)

var (
	_ Service             = (*Store)(nil)
	_ engram.Reader       = (*Store)(nil)
	_ engram.PartReader   = (*Store)(nil)
	_ engram.LatestReader = (*Store)(nil)
)
