package updates_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/backbone/updates"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Kept by nats-server for the life of the process.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server/ats.init.0.func1"))
}

// What is committed is heard by a plain NATS client, whatever it is called.
func TestPublish(t *testing.T) {
	fabric, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer fabric.Close()
	b, err := backbone.Connect(t.Context(), backbone.Options{InProcess: fabric, Log: testkit.Quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{{
		Name: "Object", Segments: []engram.CoreSegment{{ID: engram.MustID("Object/Instance")}, {ID: engram.MustID("Object/Class")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	listener, err := nats.Connect(fabric.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	heard := make(chan *nats.Msg, 16)
	if _, err := listener.ChanSubscribe("engram.update.Object.>", heard); err != nil {
		t.Fatal(err)
	}
	if err := listener.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	subscribed := &announced{Server: s, done: make(chan struct{})}
	go func() {
		ended <- updates.Publish(ctx, b, subscribed, updates.Options{Robot: "robot1", Server: "arm", Data: engram.MustID("Object/Instance").Contains, Log: testkit.Quiet})
	}()
	<-subscribed.done
	for i, entity := range []string{"Object/Instance/Vision/blue cup", "Object/Class/prior/cup"} {
		p := testkit.Value(t, map[string]any{"handle": true})
		results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: engram.MustID(entity), Time: engram.Time(i + 1), Instances: []engram.Instance{engram.NewInstance(p)},
		}}})
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
	}
	for i, want := range []struct {
		subject, id string
		data        bool
	}{
		{"engram.update.Object.Instance.Vision.blue=20cup", "Object/Instance/Vision/blue cup/1970-01-01 00:00:00.000000001", true},
		{"engram.update.Object.Class.prior.cup", "Object/Class/prior/cup/1970-01-01 00:00:00.000000002", false},
	} {
		msg := <-heard
		var m updates.Message
		if err := json.Unmarshal(msg.Data, &m); err != nil {
			t.Fatalf("%s: %v", msg.Data, err)
		}
		if msg.Subject != want.subject || m.ID != want.id || m.Number != uint64(i+1) || m.Epoch != s.Epoch() || m.Robot != "robot1" || m.Server != "arm" {
			t.Errorf("on %s: %s", msg.Subject, msg.Data)
		}
		if (len(m.Instances) == 1) != want.data {
			t.Errorf("data of %s: %+v", m.ID, m.Instances)
		}
		if want.data && (string(m.Instances[0].Data) != `{"handle":true}` || m.Instances[0].Confidence != 1) {
			t.Errorf("data of %s: %s", m.ID, m.Instances[0].Data)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server that ends before it has begun to publish has nothing to complain of.
func TestPublishThatEndsAtOnce(t *testing.T) {
	s, err := server.New(server.Config{Log: testkit.Quiet, Memories: []server.Memory{{Name: "Object"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := updates.Publish(ctx, nil, s, updates.Options{Log: testkit.Quiet}); err != nil {
		t.Errorf("told to end: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := updates.Publish(t.Context(), nil, s, updates.Options{Log: testkit.Quiet}); err != nil {
		t.Errorf("the server is closed: %v", err)
	}
}

// announced closes done once it is subscribed to.
type announced struct {
	*server.Server
	done chan struct{}
}

func (a *announced) Subscribe(ctx context.Context, s engram.Subscription) (engram.UpdateStream, error) {
	defer close(a.done)
	return a.Server.Subscribe(ctx, s)
}
