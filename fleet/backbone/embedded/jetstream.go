package embedded

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

// JetStream answers on any subject that a request names, also where the asker may not
// publish. So with credentials it is not asked itself: the NATS server turns the subjects
// of requests into those below asked, for which there are permissions, and this process
// hands on below granted what is answered in inboxes only. Permissions are looked at after
// that turn, so nobody else can publish below granted.
const (
	asked   = "$JS.asked."
	granted = "$JS.granted."
)

// turned are the subjects of requests and what the NATS server makes of them.
var turned = map[string]string{
	"$JS.API.>":       asked + "API.>",
	"$KV.>":           asked + "$KV.>",
	granted + "API.>": "$JS.API.>",
	granted + "$KV.>": "$KV.>",
}

// handOn has JetStream answer in inboxes only.
func (e *Server) handOn(ctx context.Context) error {
	b, err := backbone.Connect(ctx, backbone.Options{InProcess: e, Log: e.o.Log})
	if err != nil {
		return err
	}
	e.asks = b
	// One of the servers of a cluster hands a request on.
	_, err = b.Conn().QueueSubscribe(asked+">", "engram", func(m *nats.Msg) {
		if m = harmless(m); m != nil {
			_ = b.Conn().PublishMsg(m) // who asked asks again
		}
	})
	if err == nil {
		err = b.Flush(ctx)
	}
	if err != nil {
		return engram.Errorf(engram.Unavailable, asked+">", "the embedded backbone refuses the subscription: %w", err)
	}
	return nil
}

// harmless returns a request as it is handed on; nil if something would be sent elsewhere
// than to an inbox. Of its headers only those are kept that the name system needs: others
// empty the bucket, for example.
func harmless(m *nats.Msg) *nats.Msg {
	request := strings.TrimPrefix(m.Subject, asked)
	if m.Reply != "" && !subject.IsInbox(m.Reply) {
		return nil
	}
	if strings.HasPrefix(request, "API.CONSUMER.CREATE.") {
		var create server.CreateConsumerRequest
		if err := json.Unmarshal(m.Data, &create); err != nil {
			return nil
		}
		if to := create.Config.DeliverSubject; to != "" && !subject.IsInbox(to) {
			return nil
		}
	}
	out := &nats.Msg{Subject: granted + request, Reply: m.Reply, Data: m.Data, Header: nats.Header{}}
	for _, h := range []string{"KV-Operation", "Nats-Expected-Last-Subject-Sequence"} {
		if v := m.Header.Get(h); v != "" {
			out.Header.Set(h, v)
		}
	}
	return out
}
