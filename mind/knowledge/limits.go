package knowledge

import (
	"time"

	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// Limits bound what one question may take; 0 is no limit.
type Limits = logic.Limits

// DefaultLimits are those of a question of a person.
var DefaultLimits = Limits{Time: time.Minute, Memory: 512 << 20}
