package server

import (
	"os"
	"runtime/debug"

	"github.com/seed-301d4374/engram/internal/mainmem"
)

// TuneRuntime sets the garbage collector for a process whose main job is to be a
// memory server: what the memory holds is large and lives long, what passes through
// is short-lived, and collecting at Go's default pace shows as delays of the data.
// It collects when the heap has grown fivefold, and earlier where the whole process
// would need more than its share of the main memory ([mainmem.Info.SoftLimit]), 3 GiB at
// most. The variables GOGC and GOMEMLIMIT take precedence.
func TuneRuntime() {
	const growthPercent = 400
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growthPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(mainmem.Read().SoftLimit()))
	}
}
