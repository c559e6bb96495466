package memories

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

const acquisitionType = "engram.robot_state.Acquisition"

// maxAcquisitions bounds what the memory keeps of each sensor, and what the store
// remembers of all together.
const maxAcquisitions = 100_000

// acquisitionKey is the key of a *pose.Acquisition in a commit's context, through
// which the Write hook tells the service what became of the commit.
type acquisitionKey struct{}

// acquisitionOf is what the committer of an acquisition said, or the memory holds.
type acquisitionOf struct {
	lookup.Acquire
	id       pose.AcquisitionID
	released bool
}

func readAcquisition(entity engram.ID, t engram.Time, b []byte) (a acquisitionOf, err error) {
	typ, ok := Type(acquisitionType)
	if !ok {
		return a, engram.Errorf(engram.Internal, acquisitionType, "the type is not defined")
	}
	value, err := typ.Decode(b)
	if err != nil {
		return a, err
	}
	m, _ := value.(map[string]any)
	robot := lookup.RobotOf(entity)
	if robot == lookup.RevisionProvider {
		robot = ""
	}
	a.Sensor, _ = m["sensor_frame_id"].(string)
	if a.Sensor == "" {
		a.Sensor = entity.Entity()
	}
	a.Sensor, a.Time = lookup.Absolute(robot, a.Sensor), t
	number, _ := m["number"].(uint64)
	a.id = pose.AcquisitionID(number)
	a.released, _ = m["released"].(bool)
	return a, nil
}

// writeAcquisition is the memory's Write hook of acquisitions: it acquires, or releases.
// What the store refuses is refused; what the memory refuses changes nothing in the
// store. The snapshot holds the answer.
func (p *poses) writeAcquisition(ctx context.Context, u engram.EntityUpdate, put func(engram.EntityUpdate) error) error {
	if len(u.Instances) != 1 {
		return engram.Errorf(engram.Invalid, u.Entity.String(), "an acquisition is one instance, not %d", len(u.Instances))
	}
	in := u.Instances[0]
	ask, err := readAcquisition(u.Entity, u.Time, in.Payload.Bytes)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.store.AcquiredAt(ask.Sensor, ask.Time)
	if ask.released {
		if before == 0 {
			return engram.Errorf(engram.NotFound, u.Entity.String(), "no acquisition of %s at %v is remembered; it was released, or dropped for newer ones", ask.Sensor, ask.Time)
		}
		if err := put(u); err != nil {
			return err
		}
		return p.store.Release(before)
	}
	got, err := lookup.ApplyAcquire(p.store, ask.Acquire)
	if err != nil {
		return err
	}
	if in.Payload.Bytes, err = withAnswer(in.Payload.Bytes, &got); err == nil {
		u.Instances = []engram.Instance{in}
		err = put(u)
	}
	if err != nil && before == 0 {
		_ = p.store.Release(got.ID) // it was made just now, under the lock
	}
	if to, ok := ctx.Value(acquisitionKey{}).(*pose.Acquisition); ok && err == nil {
		*to = got
	}
	return err
}

// replayAcquisition remembers an acquisition that the memory holds.
func (p *poses) replayAcquisition(it *engram.Item) {
	entity := it.ID.Truncate(engram.LevelEntity)
	p.mu.Lock()
	defer p.mu.Unlock()
	a, err := readAcquisition(entity, it.Time, it.Instances[0].Payload.Bytes)
	if err == nil && !a.released {
		err = p.store.Restore(a.id, a.Sensor, a.Time)
	}
	if err != nil {
		p.service.LeaveOut(entity, it.Time, engram.Errorf(engram.CodeOf(err), entity.String(), "when the poses were rebuilt: %w", err))
	}
}

// acquisitionEntity is the entity of the acquisitions of a sensor, by the full name of
// its frame.
func acquisitionEntity(sensor string) (engram.ID, error) {
	robot, name, ok := strings.Cut(sensor, "/")
	if !ok {
		robot, name = lookup.RevisionProvider, sensor
	}
	return engram.NewID("RobotState", "Acquisition", robot, name)
}

// commitAcquisition commits an acquisition to the memory, whose hook acquires.
func (p *poses) commitAcquisition(ctx context.Context, a lookup.Acquire) (got pose.Acquisition, err error) {
	typ, ok := Type(acquisitionType)
	if !ok {
		return got, engram.Errorf(engram.Internal, acquisitionType, "the type is not defined")
	}
	value := map[string]any{"timestamp": a.Time, "sensor_frame_id": a.Sensor}
	if a.Data.Level() != engram.LevelRoot {
		value["data"] = a.Data
	}
	b, err := typ.Encode(value)
	if err != nil {
		return got, err
	}
	entity, err := acquisitionEntity(a.Sensor)
	if err != nil {
		return got, err
	}
	err = p.commitAcquired(context.WithValue(ctx, acquisitionKey{}, &got), entity, a.Time, engram.Payload{Type: acquisitionType, Bytes: b})
	return got, err
}

// commitRelease commits that an acquisition was released, so that a restart does not
// bring it back.
func (p *poses) commitRelease(ctx context.Context, id pose.AcquisitionID) error {
	sensor, t, ok := p.store.Acquired(id)
	if !ok {
		return pose.NotAcquired(id)
	}
	entity, err := acquisitionEntity(sensor)
	if err != nil {
		return err
	}
	svc := p.svc.Load()
	if svc == nil {
		return errNotStarted()
	}
	r, err := (*svc).Query(ctx, engram.SelectID(entity, engram.In(engram.Interval{Start: t, End: t.Add(1)})))
	if err != nil {
		return err
	}
	for it := range r.All() {
		held := it.Instances[0].Payload
		held.Bytes = protowire.AppendVarint(protowire.AppendTag(slices.Clone(held.Bytes), releasedMember, protowire.VarintType), 1)
		return p.commitAcquired(ctx, entity, t, held)
	}
	return p.store.Release(id) // the memory forgot it
}

func errNotStarted() error {
	return engram.Errorf(engram.Unavailable, "RobotState/Acquisition", "the memory has not started")
}

func (p *poses) commitAcquired(ctx context.Context, entity engram.ID, t engram.Time, payload engram.Payload) error {
	svc := p.svc.Load()
	if svc == nil {
		return errNotStarted()
	}
	results, err := (*svc).Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: entity, Time: t, Instances: []engram.Instance{engram.NewInstance(payload)},
	}}})
	if err == nil {
		err = results[0].Err
	}
	return err
}

// The numbers of members of the type. The memory sets those before data.
const (
	dataMember     = 10
	releasedMember = 11
)

// withAnswer returns an acquisition's payload with what the store answered. Members
// that a type adds to the acquisition's stay as they are.
func withAnswer(b []byte, a *pose.Acquisition) ([]byte, error) {
	typ, ok := Type(acquisitionType)
	if !ok {
		return nil, engram.Errorf(engram.Internal, acquisitionType, "the type is not defined")
	}
	m := poseMembers(a.Pose, &a.Cov)
	m["timestamp"], m["sensor_frame_id"], m["base_frame_id"] = a.Time, a.Sensor, a.Base
	m["number"], m["revision"] = uint64(a.ID), uint64(a.Info.Revision)
	out, err := typ.Encode(m)
	if err != nil {
		return nil, err
	}
	for rest := b; len(rest) > 0; {
		num, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return nil, engram.Errorf(engram.Corrupt, "payload", "%w", protowire.ParseError(n))
		}
		if num >= dataMember {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	return out, nil
}
