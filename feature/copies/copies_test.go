package copies_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/feature/copies"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// What is told of copies comes as it was told.
func TestCopyStatus(t *testing.T) {
	list := []service.Status{
		{Copy: service.Copy{Pattern: engram.MustPattern("*:Object/Instance"), Rules: service.Rules{MaxRate: 2, Gather: service.NoGather}}, State: service.StateWaiting, Since: 3, Error: "nobody", Made: 1},
		{
			Copy: service.Copy{Pattern: engram.MustPattern("robot1:Object/Instance")}, Rule: "*:Object/Instance", Configured: true, Owner: "robot1", State: service.StateLive, Since: 5,
			Position: service.Position{Epoch: 1, Number: 2, Arrived: 3}, Updates: 4, Bytes: 5, Lag: 6, Contact: 7, Received: 8, Payload: 9, Wire: 10, Had: 11, Removed: 12,
			LeftOut: []service.LeftOutCount{{Reason: service.LeftOutRate, Count: 13, Bytes: 14}}, Lost: 15,
			Losses: []service.Loss{
				{ID: engram.MustID("robot1:Object/Instance/P/cup"), Reason: engram.MissingEvicted, Count: 14, Interval: engram.Interval{Start: 1, End: 9}, Noticed: 16},
				{ID: engram.MustID("robot1:Object"), Reason: "other", Interval: engram.Always()},
			},
		},
	}
	s := serving.Serve(t, serving.New(t, serving.Memory("Test", server.Hooks{})), nil, rpc.Options{Features: []feature.Feature{copies.Feature(listed{list: list})}}, serving.Socket(t))
	got, err := copies.NewClient(serving.Dial(t, s.Address, rpc.DialOptions{})).CopyStatus(t.Context())
	if err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("told is %+v, %v; want %+v", got, err, list)
	}
}

// listed is an admin that only lists.
type listed struct {
	service.Admin
	list []service.Status
}

func (l listed) CopyStatus(context.Context) ([]service.Status, error) { return l.list, nil }
