package local

import (
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// subscribe serves a subscription until it, the call or the connection ends.
func (c *conn) subscribe(cl *call, request []byte) error {
	var m engramv1.SubscribeRequest
	if err := proto.Unmarshal(request, &m); err != nil {
		return engram.Errorf(engram.Invalid, "", "not a SubscribeRequest: %w", err)
	}
	sub, err := c.s.rare.rpc.ParseSubscription(&m)
	if err != nil {
		return err
	}
	var number uint64
	numbered, hasNumber := c.s.svc.(interface{ Number() uint64 })
	if hasNumber {
		number = numbered.Number() // before it begins, so that resuming from it misses nothing
	}
	updates, err := c.s.svc.Subscribe(cl.ctx, sub)
	if err != nil {
		return err
	}
	defer updates.Close()
	e, err := cl.w.begin(cl.ctx)
	if err != nil {
		return err
	}
	e.u64(updates.Epoch())
	e.u64(number)
	if hasNumber {
		e.u8(subscribedHasNumber)
	} else {
		e.u8(0)
	}
	cl.send(kindSubscribed, flagMore)
	for {
		// First the room, then the updates: those that wait are subject to the
		// subscription's policy for slow consumers.
		if err := cl.credit.wait(cl.ctx); err != nil {
			return err
		}
		batch, err := updates.Next(cl.ctx)
		if err != nil {
			return err
		}
		if err := cl.updates(batch); err != nil {
			return err
		}
	}
}

const subscribedHasNumber = 1

// updates sends a batch, in frames of about frameBytes.
func (cl *call) updates(batch []engram.Update) error {
	for len(batch) > 0 {
		n, size := 0, 0
		for n < len(batch) && size < min(frameBytes, int(cl.w.peer.frame)/2) {
			if s := batch[n].Snapshot; s != nil {
				if err := checkSnapshot(batch[n].ID, s.Instances, cl.w.peer.frame/2); err != nil {
					if n > 0 {
						break // the others first
					}
					// Not Exhausted: trying again does not help.
					return engram.Errorf(engram.OutOfRange, "", "the subscription cannot go on: %w", err)
				}
				records, payloads := snapshotSize(s.Instances)
				size += records + payloads
			} else {
				records, _ := snapshotSize(nil)
				size += records
			}
			n++
		}
		e, err := cl.w.begin(cl.ctx)
		if err != nil {
			return err
		}
		e.u32(uint32(n))
		for i := range batch[:n] {
			e.update(&batch[i])
		}
		cl.credit.use(headerSize + e.used())
		cl.send(kindUpdates, flagMore)
		batch = batch[n:]
	}
	return nil
}
