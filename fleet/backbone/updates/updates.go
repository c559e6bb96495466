// Package updates tells of a memory server's updates on the backbone, on subjects
//
//	engram.update.<memory>.<core>.<provider>.<entity>
//
// so that anything that speaks NATS can listen. A message is JSON ([Message]). It is a
// notice, delivered at most once: who must not miss anything subscribes to the
// memory instead, and who sees a gap in the numbers of a server can ask it.
package updates

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

// Message is an update as it stands in a message.
type Message struct {
	ID         string      `json:"id"` // of the snapshot
	Number     uint64      `json:"number,string"`
	Epoch      uint64      `json:"epoch,string"`    // the epoch of the server that Number belongs to
	Robot      string      `json:"robot,omitempty"` // whose memory it is, as ID does not say; none if it has no name
	Server     string      `json:"server"`
	Arrived    engram.Time `json:"arrived"`
	Supersedes bool        `json:"supersedes,omitempty"`
	// Dropped counts the updates before this one that were not published because
	// there were too many.
	Dropped   uint64     `json:"dropped,string,omitempty"`
	Instances []Instance `json:"instances,omitempty"` // where data is published
}

// Instance is an instance with its payload in the type's JSON form.
type Instance struct {
	Type       string          `json:"type"`
	Sent       engram.Time     `json:"sent"`
	Confidence float32         `json:"confidence"`
	Data       json.RawMessage `json:"data"`
}

// Service is what the updates come from.
type Service interface {
	engram.Subscriber
	engram.Types
}

// Options configure [Publish].
type Options struct {
	Robot  string // its name, "" if it has none
	Server string // identity of the memory server
	// Data says of which entities updates are published with their data, and is asked for
	// each update; the others' notices have IDs only. Nil means of none. Data that is
	// larger than a message may be is left out.
	Data func(entity engram.ID) bool
	Log  *slog.Logger // nil means slog.Default()
}

// Publish publishes every update from now on, until ctx ends or the service closes.
// While the backbone is away notices are lost.
func Publish(ctx context.Context, b *backbone.Backbone, svc Service, o Options) error {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &publisher{b: b, svc: svc, o: o, registry: idf.NewRegistry()}
	stream, err := svc.Subscribe(ctx, engram.Subscription{WithData: o.Data != nil, Queue: 16384})
	switch {
	case ctx.Err() != nil, engram.CodeOf(err) == engram.Unavailable:
		return nil
	case err != nil:
		return err
	}
	for u, err := range engram.Updates(ctx, stream) {
		switch {
		case ctx.Err() != nil, engram.CodeOf(err) == engram.Unavailable:
			return nil
		case err != nil:
			return err
		}
		p.publish(ctx, u, stream.Epoch())
	}
	return nil
}

type publisher struct {
	b        *backbone.Backbone
	svc      Service
	o        Options
	registry *idf.Registry
	told     time.Time // when it was last logged that nothing can be published
}

// publish publishes an update. What fails is lost; that is logged now and then.
func (p *publisher) publish(ctx context.Context, u engram.Update, epoch uint64) {
	m := Message{
		ID: u.ID.String(), Number: u.Number, Epoch: epoch, Robot: p.o.Robot, Server: p.o.Server, Arrived: u.Arrived,
		Supersedes: u.Supersedes, Dropped: u.Dropped,
	}
	entity := u.ID.Truncate(engram.LevelEntity)
	err := func() error {
		if u.Snapshot != nil && p.o.Data(entity) {
			if err := p.addData(ctx, &m, u.Snapshot); err != nil {
				return err
			}
		}
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		return p.b.Conn().PublishMsg(&nats.Msg{Subject: subject.OfUpdates(entity), Data: body})
	}()
	if err != nil && time.Since(p.told) > 10*time.Second {
		p.told = time.Now()
		p.o.Log.Warn("updates are not published on the backbone", "update", m.ID, "error", err)
	}
}

// addData adds a snapshot's data, unless that is too large.
func (p *publisher) addData(ctx context.Context, m *Message, s *engram.Snapshot) error {
	const overhead = 4096 // of the message beside the data
	// JSON is longer than the payload; base64 alone makes it a third longer.
	if limit := int(p.b.Conn().MaxPayload()); s.Size()*4/3+overhead > limit {
		return nil
	}
	size := overhead
	var instances []Instance
	for i := range s.Instances {
		in := &s.Instances[i]
		t, err := p.typ(ctx, in.Payload.Type)
		if err != nil {
			return err
		}
		data, err := t.JSON(in.Payload.Bytes, idf.JSONOptions{SummarizeBytes: -1})
		if err != nil {
			return err
		}
		if size += len(data); size > int(p.b.Conn().MaxPayload()) {
			return nil
		}
		instances = append(instances, Instance{Type: in.Payload.Type, Sent: in.Sent, Confidence: in.Confidence, Data: data})
	}
	m.Instances = instances
	return nil
}

func (p *publisher) typ(ctx context.Context, name string) (*idf.Type, error) {
	if t, ok := p.registry.Get(name); ok {
		return t, nil
	}
	def, err := p.svc.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.registry.Add(def)
}
