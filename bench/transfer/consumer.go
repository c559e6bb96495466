package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-301d4374/engram"
)

// The ways in which a consumer gets its data.
const (
	bySubscription = "subscription" // with data
	byNotification = "notification" // of IDs, then a query for the data
	byPolling      = "polling"      // a query for what is new, again and again
	byFrames       = "frames"       // subscription with data, of the camera's images
)

// task is what a consumer is asked to do on one connection.
type task struct {
	Transport, Address string
	Kind               string
	Way                string
	Batch              int // tells the producer whenever it has so many objects
}

// told is what a consumer tells the producer: once when it has begun, and then
// whenever it has a batch as business objects.
type told struct {
	At     int64 // monotonic
	Number int64 // of the last object
	Lost   int64 // updates, or states, that it never got
	Polls  int64 // queries that brought something new
}

// serveConsumer is a consumer's process. It does a task for each connection.
func serveConsumer(ctx context.Context, socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	if err := sayReady(nil); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil // the listener is closed when the producer has ended
		}
		go func() {
			defer conn.Close()
			if err := consume(ctx, conn); err != nil && !errors.Is(err, errGone) {
				fmt.Fprintln(os.Stderr, "consumer:", err)
			}
		}()
	}
}

// errGone says that the producer wants no more.
var errGone = errors.New("the producer is gone")

func consume(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := bufio.NewReader(conn)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	svc, err := connect(ctx, t.Transport, t.Address)
	if err != nil {
		return err
	}
	defer svc.Close()
	go func() { // the producer says no more until it closes the connection
		r.ReadByte()
		cancel()
	}()
	c := consumer{task: t, svc: svc, tell: func(x told) error {
		if err := binary.Write(conn, binary.LittleEndian, x); err != nil {
			return errGone
		}
		return nil
	}}
	if t.Way == byFrames {
		return c.frames(ctx)
	}
	c.batch = newBatch(kindNamed(t.Kind), min(t.Batch, held))
	switch t.Way {
	case bySubscription, byNotification:
		err = c.updates(ctx)
	case byPolling:
		err = c.poll(ctx)
	default:
		err = fmt.Errorf("no way %q", t.Way)
	}
	if ctx.Err() != nil {
		return errGone
	}
	return err
}

type consumer struct {
	task
	svc   service
	tell  func(told) error
	batch *batch
	got   int
}

// take converts a snapshot, and tells the producer when a batch is complete.
func (c *consumer) take(s *engram.Snapshot) error {
	if err := c.batch.take(c.got, s); err != nil {
		return err
	}
	if c.got++; c.got%c.Batch > 0 {
		return nil
	}
	at := monotonic()
	return c.tell(told{At: at, Number: c.batch.objects[(c.got-1)%len(c.batch.objects)].number()})
}

func (c *consumer) subscribe(ctx context.Context, entity engram.ID, data bool) (engram.UpdateStream, error) {
	st, err := c.svc.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.PatternOf(entity)}, WithData: data, Queue: 65536, Transient: true,
	})
	if err != nil {
		return nil, err
	}
	return st, c.tell(told{At: monotonic()})
}

func (c *consumer) updates(ctx context.Context) error {
	data := c.Way == bySubscription
	st, err := c.subscribe(ctx, c.batch.kind.entity, data)
	if err != nil {
		return err
	}
	defer st.Close()
	for {
		updates, err := st.Next(ctx)
		if err != nil {
			return err
		}
		for i := range updates {
			if lost := updates[i].Dropped; lost > 0 {
				return c.tell(told{Lost: int64(lost)})
			}
			if data {
				if err := c.take(updates[i].Snapshot); err != nil {
					return err
				}
			}
		}
		if data {
			continue
		}
		from, _ := updates[0].ID.Time()
		to, _ := updates[len(updates)-1].ID.Time()
		if err := c.query(ctx, engram.Interval{Start: from, End: to + 1}); err != nil {
			return err
		}
	}
}

// query takes the snapshots of an interval.
func (c *consumer) query(ctx context.Context, iv engram.Interval) error {
	res, err := c.svc.Query(ctx, engram.SelectID(c.batch.kind.entity, engram.In(iv)))
	if err != nil {
		return err
	}
	for item := range res.All() {
		if err := c.take(item.Snapshot); err != nil {
			return err
		}
	}
	return nil
}

// poll asks for what is newer than what it has until it has a batch.
func (c *consumer) poll(ctx context.Context) error {
	entity := c.batch.kind.entity
	newest, err := c.svc.Latest(ctx, entity)
	if err != nil {
		return err
	}
	last, polls, got := newest.Time, int64(0), int64(0)
	if err := c.tell(told{At: monotonic()}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		res, err := c.svc.Query(ctx, engram.SelectID(entity, engram.In(engram.Interval{Start: last + 1, End: engram.MaxTime})))
		if err != nil {
			return err
		}
		before := got
		for item := range res.All() {
			if err := c.batch.take(0, item.Snapshot); err != nil {
				return err
			}
			got++
			last = item.Snapshot.Time
		}
		if got > before {
			polls++
			// Numbers count from 0; what the history did not keep until it was asked
			// for is lost.
			if number := c.batch.objects[0].number(); number >= int64(c.Batch)-1 {
				return c.tell(told{At: monotonic(), Number: number, Lost: number + 1 - got, Polls: polls})
			}
		}
	}
	return nil
}

// frames takes the camera's images, and looks at their sizes only, as what to do
// with them is not the memory's business.
func (c *consumer) frames(ctx context.Context) error {
	st, err := c.subscribe(ctx, frames, true)
	if err != nil {
		return err
	}
	defer st.Close()
	for {
		updates, err := st.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range updates {
			if err := c.tell(told{At: monotonic(), Number: int64(updates[i].Snapshot.Size()), Lost: int64(updates[i].Dropped)}); err != nil {
				return err
			}
		}
	}
}

// consumerConn is the producer's end of a task.
type consumerConn struct {
	net.Conn
}

// patience is how long the producer waits for what the consumer must say soon.
const patience = 30 * time.Second

// startTask has a consumer begin a task.
func startTask(dir, name string, t task) (consumerConn, error) {
	conn, err := net.Dial("unix", filepath.Join(dir, name))
	if err != nil {
		return consumerConn{}, err
	}
	c := consumerConn{conn}
	err = json.NewEncoder(conn).Encode(t)
	if err == nil {
		_, err = c.next()
	}
	if err != nil {
		conn.Close()
		return consumerConn{}, fmt.Errorf("the consumer does not begin: %w", err)
	}
	return c, nil
}

// next waits for what the consumer says next.
func (c consumerConn) next() (told, error) {
	var x told
	c.SetReadDeadline(time.Now().Add(patience))
	if err := binary.Read(c, binary.LittleEndian, &x); err != nil {
		return told{}, fmt.Errorf("the consumer does not answer: %w", err)
	}
	if x.Lost > 0 {
		return x, fmt.Errorf("%w: %d updates", errLost, x.Lost)
	}
	return x, nil
}

// errLost says that the consumer was too slow.
var errLost = errors.New("the consumer lost updates")
