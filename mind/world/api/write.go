package api

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

const (
	// mostThings is how many things are stated together at most, and mostBytes how many bytes they have. They are in main
	// memory until all are there.
	mostThings = 1_000_000
	mostBytes  = 512 << 20
)

// provider returns who states something, who is told with opening how far the world is read.
func provider(ctx context.Context, m *engramv1.WorldWriter, opening func(*engramv1.WorldOpening) error) (answer.Provider, error) {
	by := answer.Provider{Name: m.GetProvider(), Robots: m.GetRobots(), Opening: telling(opening)}
	if m.GetSource() < 0 || m.GetSource() > engramv1.WorldSource_WORLD_SOURCE_OPERATOR {
		return by, engram.Errorf(engram.Invalid, by.Name, "there is no source %d", m.GetSource())
	}
	by.Source = answer.Source(m.GetSource())
	if m != nil {
		by.Now = (*engram.Time)(m.Now)
	}
	return by, wire.LimitsOf(ctx).Breadth("robots", len(by.Robots))
}

func (h handler) known(ctx context.Context, m *engramv1.WorldKnownRequest, send func(*engramv1.WorldKnownThings) error) error {
	by, err := provider(ctx, m.GetWriter(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldKnownThings{Opening: o}) })
	if err != nil {
		return err
	}
	if err := wire.LimitsOf(ctx).Breadth("names", len(m.GetNames())); err != nil {
		return err
	}
	known, err := h.Known(ctx, by, m.GetNames())
	if err != nil {
		return err
	}
	return inParts(known, func(some []answer.Known) *engramv1.WorldKnownThings {
		return &engramv1.WorldKnownThings{Things: messages(some, knownMessage)}
	}, send)
}

func (h handler) state(ctx context.Context, p feature.Messages) error {
	first, s, err := receiveThings(p)
	if err != nil {
		return err
	}
	by, err := provider(ctx, first, func(o *engramv1.WorldOpening) error { return p.Send(&engramv1.WorldStated{Opening: o}) })
	if err != nil {
		return err
	}
	o, err := h.State(ctx, by, s)
	if err != nil {
		return err
	}
	return sendStated(&o, p.Send)
}

// receiveThings receives what is to be stated, and who states it.
func receiveThings(p feature.Messages) (by *engramv1.WorldWriter, s answer.Stating, err error) {
	for size := 0; ; {
		late := time.AfterFunc(p.Patience(), p.CloseReceive)
		received, err := p.Receive()
		late.Stop()
		if errors.Is(err, io.EOF) {
			return nil, s, engram.Errorf(engram.Invalid, "", "no part says that it is the last one; nothing was stated")
		}
		if err != nil {
			return nil, s, err
		}
		m := received.(*engramv1.WorldStateRequest)
		if by == nil {
			if by = m.GetWriter(); by == nil {
				return nil, s, engram.Errorf(engram.Invalid, "", "the first part does not say who states something")
			}
			s.Content, s.DryRun = m.GetContent(), m.GetDryRun()
		}
		for _, t := range m.GetThings() {
			thing, err := thingOf(t)
			if err != nil {
				return nil, s, err
			}
			size += len(thing.Payload.Bytes) + len(thing.Data)
			s.Things = append(s.Things, thing)
		}
		if len(s.Things) > mostThings || size > mostBytes {
			return nil, s, engram.Errorf(engram.Exhausted, "", "more than %d things or %d MiB are stated together; state them in several parts", mostThings, mostBytes>>20)
		}
		if m.GetLast() {
			return by, s, nil
		}
	}
}

// sendStated sends in parts what came of stating.
func sendStated(o *answer.Stated, part func(proto.Message) error) error {
	for some := range slices.Chunk(o.Failed, partSize) {
		m := &engramv1.WorldStated{}
		for _, err := range some {
			e := wire.ErrorMessage(err)
			if e == nil {
				e = &engramv1.Error{}
			}
			m.Failed = append(m.Failed, e)
		}
		if err := part(m); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(o.Notes, partSize) {
		if err := part(&engramv1.WorldStated{Notes: some}); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(o.Stated, partSize) {
		if err := part(&engramv1.WorldStated{Stated: some}); err != nil {
			return err
		}
	}
	return part(&engramv1.WorldStated{Mark: markMessage(o.Mark)})
}

func (h handler) move(ctx context.Context, m *engramv1.WorldMoveRequest, send func(*engramv1.WorldWritten) error) error {
	at, err := poseOf(m.GetPose())
	if err != nil {
		return engram.Errorf(engram.Invalid, m.GetItem(), "its pose: %w", err)
	}
	return wrote(ctx, m.GetWriter(), send, func(by answer.Provider) (answer.Mark, error) {
		return h.Move(ctx, by, m.GetItem(), m.GetParent(), at)
	})
}

func (h handler) remove(ctx context.Context, m *engramv1.WorldRemoveRequest, send func(*engramv1.WorldWritten) error) error {
	if m.GetChildren() < 0 || m.GetChildren() > engramv1.WorldRemoveRequest_CHILDREN_ORPHAN {
		return engram.Errorf(engram.Invalid, m.GetItem(), "nothing is known of children that become %d", m.GetChildren())
	}
	return wrote(ctx, m.GetWriter(), send, func(by answer.Provider) (answer.Mark, error) {
		return h.Remove(ctx, by, m.GetItem(), m.GetReason(), answer.Children(m.GetChildren()))
	})
}

func (h handler) withdraw(ctx context.Context, m *engramv1.WorldWithdrawRequest, send func(*engramv1.WorldWritten) error) error {
	return wrote(ctx, m.GetWriter(), send, func(by answer.Provider) (answer.Mark, error) { return h.Withdraw(ctx, by, m.GetName()) })
}

// wrote answers a call that writes and returns a mark.
func wrote(ctx context.Context, m *engramv1.WorldWriter, send func(*engramv1.WorldWritten) error, write func(answer.Provider) (answer.Mark, error)) error {
	by, err := provider(ctx, m, func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldWritten{Opening: o}) })
	if err != nil {
		return err
	}
	mark, err := write(by)
	if err != nil {
		return err
	}
	return send(&engramv1.WorldWritten{Mark: markMessage(mark)})
}

func markMessage(m answer.Mark) *engramv1.WorldMark {
	if m == (answer.Mark{}) {
		return nil
	}
	return &engramv1.WorldMark{Epoch: m.Epoch, Number: m.Number}
}

func markOf(m *engramv1.WorldMark) answer.Mark {
	return answer.Mark{Epoch: m.GetEpoch(), Number: m.GetNumber()}
}

func payloadMessage(p *engram.Payload) *engramv1.Payload {
	if p.Type == "" {
		return nil
	}
	return &engramv1.Payload{Type: p.Type, Data: p.Bytes}
}

func payloadOf(m *engramv1.Payload) engram.Payload {
	return engram.Payload{Type: m.GetType(), Bytes: m.GetData()}
}

func knownMessage(k *answer.Known) *engramv1.WorldKnown {
	return &engramv1.WorldKnown{
		Name: k.Name, Item: payloadMessage(&k.Item), Own: payloadMessage(&k.Own), Joint: payloadMessage(&k.Joint), Missing: k.Missing, Robot: k.Robot,
	}
}

func knownOf(m *engramv1.WorldKnown) answer.Known {
	return answer.Known{
		Name: m.GetName(), Item: payloadOf(m.GetItem()), Own: payloadOf(m.GetOwn()), Joint: payloadOf(m.GetJoint()), Missing: m.GetMissing(), Robot: m.GetRobot(),
	}
}

func thingMessage(t *answer.Thing) *engramv1.WorldThing {
	m := &engramv1.WorldThing{
		Name: t.Name, Payload: payloadMessage(&t.Payload), Confidence: t.Confidence, Data: t.Data, At: t.At, Members: t.Members, Partial: t.Partial,
	}
	if w := t.Withdrawal; w != (answer.Withdrawal{}) {
		m.Withdrawal = &engramv1.WorldWithdrawal{
			Item: w.Item, States: w.States, Joints: w.Joints, Maps: w.Maps, Joint: w.Joint, Map: w.Map, Component: w.Component,
		}
	}
	return m
}

func thingOf(m *engramv1.WorldThing) (answer.Thing, error) {
	t := answer.Thing{
		Name: m.GetName(), Payload: payloadOf(m.GetPayload()), Confidence: m.GetConfidence(), Data: m.Data, At: m.GetAt(), Members: m.GetMembers(), Partial: m.GetPartial(),
	}
	if w := m.GetWithdrawal(); w != nil {
		t.Withdrawal = answer.Withdrawal{
			Item: w.GetItem(), States: w.GetStates(), Joints: w.GetJoints(), Maps: w.GetMaps(), Joint: w.GetJoint(), Map: w.GetMap(), Component: w.GetComponent(),
		}
	}
	if m.GetPayload() != nil && (t.Payload.Type == "" || m.GetPayload().GetJson() != nil || m.GetWithdrawal() != nil) {
		return t, engram.Errorf(engram.Invalid, t.Name, "it is one payload of a type with its data, not as JSON, or one withdrawal")
	}
	return t, nil
}

func writerMessage(by *answer.Provider) *engramv1.WorldWriter {
	return &engramv1.WorldWriter{Provider: by.Name, Source: engramv1.WorldSource(by.Source), Robots: by.Robots, Now: (*int64)(by.Now)}
}

// writes is how [receive] is told of a call that writes.
func writes(by *answer.Provider) *answer.Question { return &answer.Question{Opening: by.Opening} }

// Known implements [answer.Service].
func (c client) Known(ctx context.Context, by answer.Provider, names []string) (all []answer.Known, err error) {
	request := &engramv1.WorldKnownRequest{Writer: writerMessage(&by), Names: names}
	err = receive(ctx, c, "Known", writes(&by), request, func(m *engramv1.WorldKnownThings) error {
		all = append(all, things(m.GetThings(), knownOf)...)
		return nil
	})
	if err == nil && len(all) != len(names) {
		err = wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "%d things are known of %d names", len(all), len(names)))
	}
	return all, err
}

// State implements [answer.Service].
func (c client) State(ctx context.Context, by answer.Provider, s answer.Stating) (o answer.Stated, err error) {
	parts := partsOf(s.Things)
	request := func(i int) *engramv1.WorldStateRequest {
		return &engramv1.WorldStateRequest{Things: messages(parts[i], thingMessage), Last: i == len(parts)-1}
	}
	first := request(0)
	first.Writer, first.Content, first.DryRun = writerMessage(&by), s.Content, s.DryRun
	send := func(stream feature.ClientStream) error {
		for i := range parts[1:] {
			if err := stream.Send(request(i + 1)); err != nil {
				return err
			}
		}
		return nil
	}
	err = exchange(ctx, c, "State", writes(&by), first, send, func(m *engramv1.WorldStated) error {
		for _, e := range m.GetFailed() {
			if e.GetCode() == "" {
				o.Failed = append(o.Failed, nil)
				continue
			}
			o.Failed = append(o.Failed, wire.ErrorFromMessage(e))
		}
		o.Notes, o.Stated = append(o.Notes, m.GetNotes()...), append(o.Stated, m.GetStated()...)
		if m.GetMark() != nil {
			o.Mark = markOf(m.GetMark())
		}
		return nil
	})
	if err == nil && !s.Content && len(o.Failed) > 0 && len(o.Failed) != len(s.Things) {
		err = wire.BadAnswer(engram.Errorf(engram.Corrupt, "", "%d things of %d are said to be wrong, or not", len(o.Failed), len(s.Things)))
	}
	return o, err
}

// partsOf parts things into what fits into messages; there is one at least.
func partsOf(all []answer.Thing) (parts [][]answer.Thing) {
	from, size := 0, 0
	for i := range all {
		n := len(all[i].Payload.Bytes) + len(all[i].Data)
		if i > from && (i-from >= partSize || size+n > pieceSize) {
			parts = append(parts, all[from:i])
			from, size = i, 0
		}
		size += n
	}
	return append(parts, all[from:])
}

// Move implements [answer.Service].
func (c client) Move(ctx context.Context, by answer.Provider, item, parent string, at *answer.Pose) (answer.Mark, error) {
	request := &engramv1.WorldMoveRequest{Writer: writerMessage(&by), Item: item, Parent: parent}
	if at != nil {
		request.Pose = &engramv1.WorldPose{Pose: poses.PoseMessage(at.Pose), Covariance: poses.CovMessage(&at.Cov)}
	}
	return c.written(ctx, "Move", &by, request)
}

// Remove implements [answer.Service].
func (c client) Remove(ctx context.Context, by answer.Provider, item, reason string, children answer.Children) (answer.Mark, error) {
	return c.written(ctx, "Remove", &by, &engramv1.WorldRemoveRequest{
		Writer: writerMessage(&by), Item: item, Reason: reason, Children: engramv1.WorldRemoveRequest_Children(children),
	})
}

// Withdraw implements [answer.Service].
func (c client) Withdraw(ctx context.Context, by answer.Provider, name string) (answer.Mark, error) {
	return c.written(ctx, "Withdraw", &by, &engramv1.WorldWithdrawRequest{Writer: writerMessage(&by), Name: name})
}

// written makes a call that writes and returns a mark.
func (c client) written(ctx context.Context, call string, by *answer.Provider, request proto.Message) (mark answer.Mark, err error) {
	err = receive(ctx, c, call, writes(by), request, func(m *engramv1.WorldWritten) error {
		mark = markOf(m.GetMark())
		return nil
	})
	return mark, err
}
