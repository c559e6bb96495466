package main

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
)

// drive is what some of the clients do: each connects to a server, makes its entities
// known by a commit to each and watches them; then all of them commit in rounds.
func (o *options) drive(ctx context.Context) error {
	clients := make([]*driver, o.driver)
	connected := make(chan error, len(clients))
	for worker := range 8 {
		go func() {
			for i := worker; i < len(clients); i += 8 {
				var err error
				clients[i], err = o.connect(ctx, o.clients+i)
				connected <- err
			}
		}()
	}
	for range clients {
		if err := <-connected; err != nil {
			return err
		}
	}
	fmt.Println("ready")
	for round := range o.rounds {
		for _, d := range clients {
			if err := d.commit(ctx, round+1); err != nil {
				return err
			}
		}
	}
	fmt.Println("done")
	<-ctx.Done() // they stay until they are ended
	return nil
}

// driver is one client.
type driver struct {
	c        *client.Client
	entities []engram.ID
	updates  engram.UpdateStream
}

func (o *options) connect(ctx context.Context, number int) (*driver, error) {
	server := number % o.servers
	c, err := client.Connect(ctx, client.Options{Address: "unix:" + o.socket(server)})
	if err != nil {
		return nil, err
	}
	d := &driver{c: c}
	core, err := engram.NewID(memory(server), "Things")
	if err != nil {
		return nil, err
	}
	if err := c.AddCoreSegment(ctx, engram.CoreSegment{ID: core, History: engram.Bounds{MaxCount: 100}}); err != nil {
		return nil, err
	}
	for i := range o.entities {
		id, err := engram.NewID(memory(server), "Things", fmt.Sprint("client", number), fmt.Sprint("thing", i))
		if err != nil {
			return nil, err
		}
		d.entities = append(d.entities, id)
	}
	mine, err := engram.ParsePattern(d.entities[0].Parent().String())
	if err != nil {
		return nil, err
	}
	if d.updates, err = c.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{mine}, WithData: true}); err != nil {
		return nil, err
	}
	return d, d.commit(ctx, 0)
}

// commit commits to every entity and waits until it was told of all of them.
func (d *driver) commit(ctx context.Context, round int) error {
	var c engram.Commit
	for i, id := range d.entities {
		p, err := idf.ValuePayload(map[string]any{"round": round, "thing": i, "text": "a cup on the table, seen by the camera of the head"})
		if err != nil {
			return err
		}
		c.Updates = append(c.Updates, engram.EntityUpdate{Entity: id, Time: engram.TimeOf(time.Now()), Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	results, err := d.c.Commit(ctx, c)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	for told := 0; told < len(d.entities); {
		batch, err := d.updates.Next(ctx)
		if err != nil {
			return err
		}
		told += len(batch)
	}
	return nil
}
