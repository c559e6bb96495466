package api_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	copies "github.com/seed-301d4374/engram/fleet/copies/api"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// What is told of copies comes as it was told.
func TestCopyStatus(t *testing.T) {
	list := []contract.Status{
		{Copy: contract.Copy{Pattern: engram.MustPattern("*:Object/Instance"), Rules: contract.Rules{MaxRate: 2, Gather: contract.NoGather}}, State: contract.StateWaiting, Since: 3, Error: "nobody", Made: 1},
		{
			Copy: contract.Copy{Pattern: engram.MustPattern("robot1:Object/Instance")}, Rule: "*:Object/Instance", Configured: true, Owner: "robot1", State: contract.StateLive, Since: 5,
			Position: contract.Position{Epoch: 1, Number: 2, Arrived: 3}, Updates: 4, Bytes: 5, Lag: 6, Contact: 7, Received: 8, Payload: 9, Wire: 10, Had: 11, Removed: 12,
			LeftOut: []contract.LeftOutCount{{Reason: contract.LeftOutRate, Count: 13, Bytes: 14}}, Lost: 15,
			Losses: []contract.Loss{
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
	contract.Admin
	list []contract.Status
}

func (l listed) CopyStatus(context.Context) ([]contract.Status, error) { return l.list, nil }
