package files_test

import (
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/world/files"
)

func init() { files.WorldMemory = memories.World }
