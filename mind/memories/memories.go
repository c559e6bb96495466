package memories

import (
	"io/fs"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Option is something that [All] adds to the memories.
type Option func(*options)

type options struct {
	knowledge    []fs.FS
	monitorEvery time.Duration
	poses        pose.Retention
}

func optionsOf(opts []Option) options {
	o := options{poses: DefaultPoseRetention()}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithPriorKnowledge commits a folder of prior knowledge when the server starts;
// see [PriorKnowledge]. It may be given several times.
func WithPriorKnowledge(dir fs.FS) Option {
	return func(o *options) { o.knowledge = append(o.knowledge, dir) }
}

// WithSystemMonitor has the memory SystemState watch the computer and the memory
// server, once in each period; see [MonitorSystem].
func WithSystemMonitor(every time.Duration) Option {
	return func(o *options) { o.monitorEvery = every }
}

// WithPoseRetention sets how much of each edge's history of poses or joint values
// the memory RobotState keeps; the zero Retention keeps everything. The default is
// [DefaultPoseRetention].
func WithPoseRetention(keep pose.Retention) Option {
	return func(o *options) { o.poses = keep }
}

// All returns all concrete memories. A server with all of them keeps less than
// 2 GiB of payloads.
func All(opts ...Option) []server.Memory {
	o := optionsOf(opts)
	p := newPoses(o.poses)
	all := []server.Memory{
		robotState(p), object(p), Vision(), Speech(), skillWith(p.service), Navigation(), Grasp(),
		World(), Knowledge(), SystemState(), Example(), GeneralPurpose(),
	}
	for i := range all {
		m := &all[i]
		m.Policies = policies[m.Name]
		switch {
		case m.Name == "SystemState" && o.monitorEvery > 0:
			m.Hooks.Run = MonitorSystem(o.monitorEvery)
		case m.Name == "GeneralPurpose" && len(o.knowledge) > 0:
			// Any memory's Start hook would do: they run when all memories are there.
			m.Hooks.Start = PriorKnowledge(o.knowledge...)
		}
	}
	return all
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// segment defines a core segment of payloads of the type, with bounds of each
// entity's history. What it holds may be lost when the server dies: there is more to
// come, as of raw sensors.
func segment(memory, name, typ string, history engram.Bounds) engram.CoreSegment {
	return engram.CoreSegment{ID: engram.MustID(memory + "/" + name), Type: typ, History: history, Durability: engram.Volatile}
}

// logged is a segment of what does not come again: where the server has a log, it is
// in it.
func logged(s engram.CoreSegment) engram.CoreSegment {
	s.Durability = engram.Logged
	return s
}

// forever keeps the newest versions of what changes rarely, of whatever age.
func forever(versions int) engram.Bounds { return engram.Bounds{MaxCount: versions} }
