package files

import "github.com/seed-301d4374/engram/server"

// WorldMemory is the memory World. Package memories has it, which imports this one.
var WorldMemory func() server.Memory
