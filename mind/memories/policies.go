package memories

import (
	"time"

	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// What fills disks goes first when they fill, what a robot is and did goes last.
const (
	raw       = -20 // sensors that see: most of all bytes
	housework = -10
	usual     = 0
	deeds     = 10 // what the robot was told, decided and did
	identity  = 20 // what it is, and how its memories of places were put right
)

// seen is the policy of what sees: five times a second, as in the online stage of the
// ArMem paper, and as good as 40 dB where a codec may lose something.
func seen(rate float64) policy.Policy {
	return policy.Policy{Record: policy.Rate, MaxRate: rate, Quality: 40, Priority: raw}
}

// rarely is the policy of what changes rarely, and is often committed unchanged.
func rarely(priority int) policy.Policy {
	return policy.Policy{Record: policy.Change, Similar: policy.Similarity{Exact: true}, Priority: priority, Recall: true}
}

func every(priority int) policy.Policy { return policy.Policy{Record: policy.All, Priority: priority} }

// policies are the defaults of what the long-term memory does, by memory and core
// segment. docs/ltm.md has them as a table.
var policies = map[string]map[string]policy.Policy{
	"RobotState": {
		"Description":    rarely(identity),
		"Proprioception": every(usual),
		"Localization":   every(usual),
		"Revision":       every(identity),
		"Acquisition":    every(deeds),
	},
	"Object": {
		"Class":                  rarely(deeds),
		"Instance":               every(usual),
		"Attachments":            every(deeds),
		"ArticulatedAttachments": every(deeds),
	},
	"Vision": {
		"ImageRGB":   seen(5),
		"ImageDepth": seen(5),
		"PointCloud": seen(1),
		"LaserScan":  seen(5),
	},
	"Speech": {
		"Answer":  every(deeds),
		"Command": every(deeds),
		"Text":    every(deeds),
	},
	"Skill": {
		"Request":     every(deeds),
		"Abort":       every(deeds),
		"Provider":    {Record: policy.Rate, MaxRate: 0.1},
		"Switch":      every(deeds),
		"Caller":      {Record: policy.Never},
		"Condition":   every(deeds),
		"Description": rarely(deeds),
		"Execution":   every(deeds),
		"Activity":    every(deeds),
		"Transition":  every(deeds),
		"Plan":        every(deeds),
		"Trajectory":  rarely(deeds),
	},
	"Navigation": {
		"Location": rarely(deeds),
		"Graph":    rarely(deeds),
		"Costmap":  {Record: policy.Change, MaxRate: 1, Similar: policy.Similarity{Exact: true}, Priority: housework},
		"Plan":     every(deeds),
		"Event":    every(deeds),
		"Result":   every(deeds),
	},
	"Grasp": {
		"Affordance": {Record: policy.Change, Similar: policy.Similarity{Exact: true}, Priority: usual},
		"Candidate":  {Record: policy.Change, Similar: policy.Similarity{Exact: true}, Priority: usual},
	},
	"Knowledge": {
		"Ontology":   every(deeds),
		"Class":      every(deeds),
		"Property":   every(deeds),
		"Individual": every(deeds),
	},
	"World": {
		"Item":         every(deeds),
		"Map":          rarely(deeds),
		"MapData":      rarely(deeds),
		"Articulation": every(deeds),
		"Component":    rarely(deeds),
		"State":        every(deeds),
		"Observation":  every(housework),
		"Clock":        every(usual), // as that of SystemState
	},
	"SystemState": {
		"Cpu":    watched,
		"Ram":    watched,
		"Memory": watched,
		// Times of then are compared by what was known of clocks then.
		"Clock": every(usual),
		// What was forgotten, and why, is told for good, as is who was let in, denied
		// and revoked.
		"Forgetting": every(identity),
		"Audit":      every(identity),
	},
	"Example": {
		"ExampleData": every(usual),
	},
}

// watched is the policy of how computers are: every 10 s, for a month.
var watched = policy.Policy{
	Record: policy.Rate, MaxRate: 0.1, Priority: housework,
	Keep: policy.Retention{MaxAge: 30 * 24 * time.Hour},
}
