package memories

import (
	"context"
	"io/fs"
	"maps"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// monitor measures, and commits what it measured.
type monitor struct {
	svc  engram.Service
	proc procFS
	host string

	cpuType, ramType, memoryType *idf.Type

	before     cpuTimes // at the commit before
	beforeTime time.Time
	committed  map[string]uint64 // snapshots ever stored, by memory, at the commit before
}

func newMonitor(svc engram.Service, proc fs.FS, host string) (*monitor, error) {
	m := &monitor{svc: svc, proc: procFS{proc}, host: host, committed: map[string]uint64{}}
	for name, into := range map[string]**idf.Type{
		"engram.system_state.Cpu": &m.cpuType, "engram.system_state.Ram": &m.ramType, "engram.system_state.Memory": &m.memoryType,
	} {
		t, ok := Type(name)
		if !ok {
			return nil, engram.Errorf(engram.Internal, name, "the type is not defined")
		}
		*into = t
	}
	m.before = m.proc.cpuTimes()
	m.beforeTime = time.Now()
	return m, nil
}

// commit measures and commits once. Refused updates are not the monitor's concern;
// the segments count them.
func (m *monitor) commit(ctx context.Context, now time.Time) error {
	t := engram.TimeOf(now)
	elapsed := now.Sub(m.beforeTime)
	m.beforeTime = now
	var c engram.Commit
	add := func(segment, entity string, typ *idf.Type, value map[string]any) error {
		value["timestamp"] = t
		b, err := typ.Encode(value)
		if err != nil {
			return err
		}
		id, err := engram.NewID("SystemState", segment, MonitorProvider, entity)
		if err != nil {
			return err
		}
		c.Updates = append(c.Updates, engram.EntityUpdate{
			Entity: id, Time: t, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
		})
		return nil
	}
	if err := add("Cpu", m.host, m.cpuType, m.cpu(elapsed)); err != nil {
		return err
	}
	if err := add("Ram", m.host, m.ramType, m.ram()); err != nil {
		return err
	}
	memories, err := m.memories(ctx, elapsed)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(memories)) {
		if err := add("Memory", name, m.memoryType, memories[name]); err != nil {
			return err
		}
	}
	_, err = m.svc.Commit(ctx, c)
	return err
}

// cpu returns a Cpu about the time since the commit before.
func (m *monitor) cpu(elapsed time.Duration) map[string]any {
	after := m.proc.cpuTimes()
	value := map[string]any{
		"load":         after.all.loadSince(m.before.all),
		"load_average": m.proc.loadAverage(),
	}
	if len(after.cores) == len(m.before.cores) {
		loads := make([]float64, len(after.cores))
		for i := range loads {
			loads[i] = after.cores[i].loadSince(m.before.cores[i])
		}
		value["core_load"] = loads
	}
	if used := after.process - m.before.process; elapsed > 0 && used > 0 {
		value["process_load"] = used.Seconds() / elapsed.Seconds()
	}
	m.before = after
	return value
}

// ram returns a Ram.
func (m *monitor) ram() map[string]any {
	info := m.proc.memoryInfo()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	return map[string]any{
		"total": info["MemTotal"], "available": info["MemAvailable"],
		"swap_total": info["SwapTotal"], "swap_used": info["SwapTotal"] - info["SwapFree"],
		"process_resident": m.proc.resident(), "process_heap": int64(heap[0].Value.Uint64()),
	}
}

// memories returns a Memory for each memory of the server.
func (m *monitor) memories(ctx context.Context, elapsed time.Duration) (map[string]map[string]any, error) {
	stats, err := m.svc.Stats(ctx, engram.Pattern{}, engram.LevelCoreSegment)
	if err != nil {
		return nil, err
	}
	memories := map[string]map[string]any{}
	segments := map[string][]any{}
	for _, s := range stats {
		name := s.ID.Memory()
		switch s.ID.Level() {
		case engram.LevelMemory:
			rate := 0.0
			if before, ok := m.committed[name]; ok && elapsed > 0 && s.Committed >= before {
				rate = float64(s.Committed-before) / elapsed.Seconds()
			}
			m.committed[name] = s.Committed
			memories[name] = map[string]any{"snapshots": int64(s.Snapshots), "bytes": s.Bytes, "commit_rate": rate}
		case engram.LevelCoreSegment:
			segments[name] = append(segments[name], map[string]any{
				"segment": s.ID, "entities": int64(s.Entities), "snapshots": int64(s.Snapshots),
				"superseded": int64(s.Superseded), "bytes": s.Bytes, "committed": int64(s.Committed),
				"evicted": int64(s.Evicted), "refused": int64(s.Refused),
			})
		}
	}
	for name, value := range memories {
		value["segments"] = segments[name]
	}
	return memories, nil
}
