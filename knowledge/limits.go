package knowledge

import "time"

// Limits bound what one question may take; 0 is no limit.
type Limits struct {
	Time   time.Duration
	Steps  int64 // goals, answers of facts, and terms that are looked at
	Memory int64 // bytes
}

// DefaultLimits are those of a question of a person.
var DefaultLimits = Limits{Time: time.Minute, Memory: 512 << 20}
