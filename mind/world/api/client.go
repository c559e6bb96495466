package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram/core/feature"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// NewClient returns who answers questions about the world at a server. The error of a question is Unsupported if
// the server has no memory World.
func NewClient(c feature.Conn) answer.Service { return client{c} }

type client struct{ feature.Conn }

// part is a pointer to a message that an answer comes in.
type part[M any] interface {
	*M
	proto.Message
	GetOpening() *engramv1.WorldOpening
}

// receive asks, and calls use with each part of the answer but those that only tell how far the world is read.
func receive[M any, P part[M]](ctx context.Context, c client, call string, q *answer.Question, request proto.Message, use func(P) error) error {
	return exchange(ctx, c, call, q, request, nil, use)
}

// exchange is receive of a call to which send sends more requests; nil for none.
func exchange[M any, P part[M]](ctx context.Context, c client, call string, q *answer.Question, request proto.Message, send func(feature.ClientStream) error, use func(P) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.Open(ctx, "/"+name+"/"+call, request)
	if err != nil {
		return err
	}
	defer s.Close()
	if send != nil {
		if err := send(s); err != nil && !errors.Is(err, io.EOF) { // at its end the server says why it takes no more
			return err
		}
	}
	for {
		m := P(new(M))
		err := s.Receive(m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if o := m.GetOpening(); o != nil {
			if q.Opening != nil {
				q.Opening(int(o.GetDone()), int(o.GetOf()))
			}
			continue
		}
		if err := use(m); err != nil {
			return err
		}
	}
}

func questionMessage(q *answer.Question) *engramv1.WorldQuestion {
	m := &engramv1.WorldQuestion{At: (*int64)(q.At), AsOf: (*int64)(q.AsOf), Robots: q.Robots, WaitNanos: int64(q.Wait)}
	for _, mark := range q.After {
		m.After = append(m.After, &engramv1.WorldMark{Epoch: mark.Epoch, Number: mark.Number})
	}
	return m
}

// rows asks for rows and hands them over.
func (c client) rows(ctx context.Context, call string, q *answer.Question, request proto.Message, hand func([]answer.Row) error) (left answer.LeftOut, err error) {
	var rows []answer.Row
	err = receive(ctx, c, call, q, request, func(m *engramv1.WorldRows) error {
		if l := m.GetLeftOut(); l != nil {
			left = answer.LeftOut{Gone: int(l.GetGone()), Provisional: int(l.GetProvisional())}
		}
		rows = rows[:0]
		for _, r := range m.GetRows() {
			row, err := rowOf(r)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 {
			return nil
		}
		return hand(rows)
	})
	return left, err
}

// Tree implements [answer.Service].
func (c client) Tree(ctx context.Context, q answer.Question, of answer.Tree, hand func([]answer.Row) error) error {
	_, err := c.rows(ctx, "Tree", &q, &engramv1.WorldTreeRequest{Question: questionMessage(&q), Item: of.Item, Place: of.Place, Whole: of.Whole}, hand)
	return err
}

// Items implements [answer.Service].
func (c client) Items(ctx context.Context, q answer.Question, names []string, whole bool, hand func([]answer.Row) error) error {
	_, err := c.rows(ctx, "Items", &q, &engramv1.WorldItemsRequest{Question: questionMessage(&q), Names: names, Whole: whole}, hand)
	return err
}

// Near implements [answer.Service].
func (c client) Near(ctx context.Context, q answer.Question, n answer.Near, hand func([]answer.Row) error) (answer.LeftOut, error) {
	return c.rows(ctx, "Near", &q, &engramv1.WorldNearRequest{Question: questionMessage(&q), Around: n.Around, Radius: n.Radius, Filter: filterMessage(&n.Filter)}, hand)
}

// In implements [answer.Service].
func (c client) In(ctx context.Context, q answer.Question, in answer.In, hand func([]answer.Row) error) (answer.LeftOut, error) {
	return c.rows(ctx, "In", &q, &engramv1.WorldInRequest{Question: questionMessage(&q), Place: in.Place, Filter: filterMessage(&in.Filter)}, hand)
}

func filterMessage(f *answer.Filter) *engramv1.WorldFilter {
	return &engramv1.WorldFilter{Presence: engramv1.WorldFilter_Presence(f.Presence), Kind: f.Kind, Class: f.Class, Whole: f.Whole}
}

// Names implements [answer.Service].
func (c client) Names(ctx context.Context, q answer.Question, prefix string) (names []string, err error) {
	request := &engramv1.WorldItemNamesRequest{Question: questionMessage(&q), Prefix: prefix}
	err = receive(ctx, c, "ItemNames", &q, request, func(m *engramv1.WorldNames) error {
		names = append(names, m.GetNames()...)
		return nil
	})
	return names, err
}

// Joints implements [answer.Service].
func (c client) Joints(ctx context.Context, q answer.Question) (joints []answer.Joint, err error) {
	err = receive(ctx, c, "Joints", &q, &engramv1.WorldJointsRequest{Question: questionMessage(&q)}, func(m *engramv1.WorldJoints) error {
		joints = append(joints, things(m.GetJoints(), jointOf)...)
		return nil
	})
	return joints, err
}

// Maps implements [answer.Service].
func (c client) Maps(ctx context.Context, q answer.Question, of answer.Maps) (maps []answer.Map, err error) {
	request := &engramv1.WorldMapsRequest{Question: questionMessage(&q), Place: of.Place, Sensors: of.Sensors, Algorithms: of.Algorithms, Kind: of.Kind}
	err = receive(ctx, c, "Maps", &q, request, func(m *engramv1.WorldMaps) error {
		maps = append(maps, things(m.GetMaps(), mapOf)...)
		return nil
	})
	return maps, err
}

// MapData implements [answer.Service].
func (c client) MapData(ctx context.Context, q answer.Question, name string) ([]byte, error) {
	data, _, err := c.bytes(ctx, "MapData", &q, &engramv1.WorldMapDataRequest{Question: questionMessage(&q), Name: name})
	return data, err
}

// bytes asks for bytes and puts them together.
func (c client) bytes(ctx context.Context, call string, q *answer.Question, request proto.Message) (data []byte, notes []string, err error) {
	err = receive(ctx, c, call, q, request, func(m *engramv1.WorldBytes) error {
		data, notes = append(data, m.GetPiece()...), append(notes, m.GetNotes()...)
		return nil
	})
	return data, notes, err
}

// Components implements [answer.Service].
func (c client) Components(ctx context.Context, q answer.Question) (all []answer.Component, pipes []answer.Pipe, err error) {
	request := &engramv1.WorldComponentsRequest{Question: questionMessage(&q)}
	err = receive(ctx, c, "Components", &q, request, func(m *engramv1.WorldComponents) error {
		all, pipes = append(all, things(m.GetComponents(), componentOf)...), append(pipes, things(m.GetPipes(), pipeOf)...)
		return nil
	})
	return all, pipes, err
}

// Covers implements [answer.Service].
func (c client) Covers(ctx context.Context, q answer.Question, what string) (covers []answer.Cover, err error) {
	request := &engramv1.WorldCoversRequest{Question: questionMessage(&q), What: what}
	err = receive(ctx, c, "Covers", &q, request, func(m *engramv1.WorldCovers) error {
		covers = append(covers, things(m.GetCovers(), coverOf)...)
		return nil
	})
	return covers, err
}

// Diff implements [answer.Service].
func (c client) Diff(ctx context.Context, q answer.Question, d answer.Diff) (all []answer.Difference, err error) {
	request := &engramv1.WorldDiffRequest{Question: questionMessage(&q), From: int64(d.From), To: (*int64)(d.To), Trans: d.Threshold.Trans, Rot: d.Threshold.Rot}
	err = receive(ctx, c, "Diff", &q, request, func(m *engramv1.WorldDifferences) error {
		all = append(all, things(m.GetDifferences(), differenceOf)...)
		return nil
	})
	return all, err
}

// Export implements [answer.Service].
func (c client) Export(ctx context.Context, q answer.Question, e answer.Export) ([]byte, []string, error) {
	return c.bytes(ctx, "Export", &q, &engramv1.WorldExportRequest{Question: questionMessage(&q), Item: e.Item, Nested: e.Nested, Json: e.JSON})
}
