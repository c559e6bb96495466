// Package api is the feature by which programs ask about the world and state something in it
// (engram.v1.WorldService): its calls, their rules, and a client.
package api

import (
	"context"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/feature/wire"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

const name = "engram.v1.WorldService"

const (
	// partSize is how many things an answer has at most, but for rows, which come in parts.
	partSize = 1000
	// pieceSize is how many bytes an answer has at most.
	pieceSize = 1 << 20
	// wholeRows is of how many items an answer has all that is known at most.
	wholeRows = 64
)

// Feature offers questions about the world, of what the caller may read, and statements for it, of what he may write: who answers
// looks at that with [access.CommitIn].
func Feature(s answer.Service) feature.Feature {
	h := handler{s}
	sees := feature.Sees(access.Read)
	return feature.New(name,
		feature.Stream("Tree", sees, h.tree).Lasting(),
		feature.Stream("Items", sees, h.items).Lasting(),
		feature.Stream("Near", sees, h.near).Lasting(),
		feature.Stream("In", sees, h.in).Lasting(),
		feature.Stream("ItemNames", sees, h.itemNames).Lasting(),
		feature.Stream("Joints", sees, h.joints).Lasting(),
		feature.Stream("Maps", sees, h.maps).Lasting(),
		feature.Stream("MapData", sees, h.mapData).Lasting(),
		feature.Stream("Components", sees, h.components).Lasting(),
		feature.Stream("Covers", sees, h.covers).Lasting(),
		feature.Stream("Diff", sees, h.diff).Lasting(),
		feature.Stream("Export", sees, h.export).Lasting(),
		feature.Stream("Known", sees, h.known).Lasting(),
		feature.Pipe[engramv1.WorldStateRequest]("State", sees, h.state).Lasting().Carrying(access.Write),
		feature.Stream("Move", sees, h.move).Lasting(),
		feature.Stream("Remove", sees, h.remove).Lasting(),
		feature.Stream("Withdraw", sees, h.withdraw).Lasting(),
	)
}

type handler struct{ answer.Service }

// question returns what a request asks of, whose answers tell with opening how far the world is read.
func question(ctx context.Context, m *engramv1.WorldQuestion, opening func(*engramv1.WorldOpening) error) (answer.Question, error) {
	if m == nil {
		m = &engramv1.WorldQuestion{}
	}
	q := answer.Question{
		At: (*engram.Time)(m.At), AsOf: (*engram.Time)(m.AsOf), Robots: m.GetRobots(), Wait: time.Duration(m.GetWaitNanos()),
		Opening: telling(opening),
	}
	if q.Wait < 0 {
		return q, engram.Errorf(engram.Invalid, "", "wait_nanos is %d; it is 0 or more", m.GetWaitNanos())
	}
	if err := wire.LimitsOf(ctx).Breadth("robots and marks", len(m.GetRobots())+len(m.GetAfter())); err != nil {
		return q, err
	}
	for _, mark := range m.GetAfter() {
		q.After = append(q.After, answer.Mark{Epoch: mark.GetEpoch(), Number: mark.GetNumber()})
	}
	return q, nil
}

// telling returns what tells how far the world is read.
func telling(opening func(*engramv1.WorldOpening) error) func(done, of int) {
	return func(done, of int) {
		_ = opening(&engramv1.WorldOpening{Done: uint64(done), Of: uint64(of)}) // who is gone waits no longer: ctx ends
	}
}

// sendRows returns what sends rows.
func sendRows(send func(*engramv1.WorldRows) error) (opening func(*engramv1.WorldOpening) error, part func([]answer.Row) error) {
	opening = func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldRows{Opening: o}) }
	part = func(rows []answer.Row) error {
		size := len(rows)
		if size > 0 && rows[0].Item != nil {
			size = wholeRows
		}
		for some := range slices.Chunk(rows, max(size, 1)) {
			if err := send(&engramv1.WorldRows{Rows: rowMessages(some)}); err != nil {
				return err
			}
		}
		return nil
	}
	return opening, part
}

func (h handler) tree(ctx context.Context, m *engramv1.WorldTreeRequest, send func(*engramv1.WorldRows) error) error {
	opening, part := sendRows(send)
	q, err := question(ctx, m.GetQuestion(), opening)
	if err != nil {
		return err
	}
	return h.Tree(ctx, q, answer.Tree{Item: m.GetItem(), Place: m.GetPlace(), Whole: m.GetWhole()}, part)
}

func (h handler) items(ctx context.Context, m *engramv1.WorldItemsRequest, send func(*engramv1.WorldRows) error) error {
	opening, part := sendRows(send)
	q, err := question(ctx, m.GetQuestion(), opening)
	if err != nil {
		return err
	}
	if err := wire.LimitsOf(ctx).Breadth("names", len(m.GetNames())); err != nil {
		return err
	}
	return h.Items(ctx, q, m.GetNames(), m.GetWhole(), part)
}

func (h handler) near(ctx context.Context, m *engramv1.WorldNearRequest, send func(*engramv1.WorldRows) error) error {
	opening, part := sendRows(send)
	q, err := question(ctx, m.GetQuestion(), opening)
	if err != nil {
		return err
	}
	left, err := h.Near(ctx, q, answer.Near{Around: m.GetAround(), Radius: m.GetRadius(), Filter: filter(m.GetFilter())}, part)
	if err != nil {
		return err
	}
	return sendLeft(send, left)
}

func (h handler) in(ctx context.Context, m *engramv1.WorldInRequest, send func(*engramv1.WorldRows) error) error {
	opening, part := sendRows(send)
	q, err := question(ctx, m.GetQuestion(), opening)
	if err != nil {
		return err
	}
	left, err := h.In(ctx, q, answer.In{Place: m.GetPlace(), Filter: filter(m.GetFilter())}, part)
	if err != nil {
		return err
	}
	return sendLeft(send, left)
}

func filter(m *engramv1.WorldFilter) answer.Filter {
	return answer.Filter{Presence: answer.Presence(m.GetPresence()), Kind: m.GetKind(), Class: m.GetClass(), Whole: m.GetWhole()}
}

func sendLeft(send func(*engramv1.WorldRows) error, left answer.LeftOut) error {
	return send(&engramv1.WorldRows{LeftOut: &engramv1.WorldLeftOut{Gone: uint64(left.Gone), Provisional: uint64(left.Provisional)}})
}

// inParts sends things, so many at once.
func inParts[T any, M any](all []T, message func([]T) M, send func(M) error) error {
	for some := range slices.Chunk(all, partSize) {
		if err := send(message(some)); err != nil {
			return err
		}
	}
	return nil
}

func (h handler) itemNames(ctx context.Context, m *engramv1.WorldItemNamesRequest, send func(*engramv1.WorldNames) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldNames{Opening: o}) })
	if err != nil {
		return err
	}
	names, err := h.Names(ctx, q, m.GetPrefix())
	if err != nil {
		return err
	}
	return inParts(names, func(some []string) *engramv1.WorldNames { return &engramv1.WorldNames{Names: some} }, send)
}

func (h handler) joints(ctx context.Context, m *engramv1.WorldJointsRequest, send func(*engramv1.WorldJoints) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldJoints{Opening: o}) })
	if err != nil {
		return err
	}
	joints, err := h.Joints(ctx, q)
	if err != nil {
		return err
	}
	return inParts(joints, jointMessages, send)
}

func (h handler) maps(ctx context.Context, m *engramv1.WorldMapsRequest, send func(*engramv1.WorldMaps) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldMaps{Opening: o}) })
	if err != nil {
		return err
	}
	maps, err := h.Maps(ctx, q, answer.Maps{Place: m.GetPlace(), Sensors: m.GetSensors(), Algorithms: m.GetAlgorithms(), Kind: m.GetKind()})
	if err != nil {
		return err
	}
	return inParts(maps, mapMessages, send)
}

func (h handler) mapData(ctx context.Context, m *engramv1.WorldMapDataRequest, send func(*engramv1.WorldBytes) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldBytes{Opening: o}) })
	if err != nil {
		return err
	}
	data, err := h.MapData(ctx, q, m.GetName())
	if err != nil {
		return err
	}
	return sendBytes(data, send)
}

func sendBytes(data []byte, send func(*engramv1.WorldBytes) error) error {
	for piece := range slices.Chunk(data, pieceSize) {
		if err := send(&engramv1.WorldBytes{Piece: piece}); err != nil {
			return err
		}
	}
	return nil
}

func (h handler) components(ctx context.Context, m *engramv1.WorldComponentsRequest, send func(*engramv1.WorldComponents) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldComponents{Opening: o}) })
	if err != nil {
		return err
	}
	components, pipes, err := h.Components(ctx, q)
	if err != nil {
		return err
	}
	if err := inParts(components, componentMessages, send); err != nil {
		return err
	}
	return inParts(pipes, pipeMessages, send)
}

func (h handler) covers(ctx context.Context, m *engramv1.WorldCoversRequest, send func(*engramv1.WorldCovers) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldCovers{Opening: o}) })
	if err != nil {
		return err
	}
	covers, err := h.Covers(ctx, q, m.GetWhat())
	if err != nil {
		return err
	}
	return inParts(covers, coverMessages, send)
}

func (h handler) diff(ctx context.Context, m *engramv1.WorldDiffRequest, send func(*engramv1.WorldDifferences) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldDifferences{Opening: o}) })
	if err != nil {
		return err
	}
	d := answer.Diff{From: engram.Time(m.GetFrom()), To: (*engram.Time)(m.To), Threshold: pose.Threshold{Trans: m.GetTrans(), Rot: m.GetRot()}}
	differences, err := h.Diff(ctx, q, d)
	if err != nil {
		return err
	}
	return inParts(differences, differenceMessages, send)
}

func (h handler) export(ctx context.Context, m *engramv1.WorldExportRequest, send func(*engramv1.WorldBytes) error) error {
	q, err := question(ctx, m.GetQuestion(), func(o *engramv1.WorldOpening) error { return send(&engramv1.WorldBytes{Opening: o}) })
	if err != nil {
		return err
	}
	text, notes, err := h.Export(ctx, q, answer.Export{Item: m.GetItem(), Nested: m.GetNested(), JSON: m.GetJson()})
	if err != nil {
		return err
	}
	if err := inParts(notes, func(some []string) *engramv1.WorldBytes { return &engramv1.WorldBytes{Notes: some} }, send); err != nil {
		return err
	}
	return sendBytes(text, send)
}
