package record

import "github.com/seed-301d4374/engram/core/server"

// Knowledge is memories.Knowledge, which tests within this package cannot import.
var Knowledge func() server.Memory
