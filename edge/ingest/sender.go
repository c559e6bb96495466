package ingest

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/seed-301d4374/engram"
)

// A batch is committed when it has this many updates or payload bytes.
const (
	batchUpdates = 256
	batchBytes   = 1 << 20
)

// sender gathers entity updates into commits and counts their answers. It is used
// by one goroutine; another one of its own receives the answers of a pipeline.
type sender struct {
	ctx    context.Context
	dst    engram.Writer
	stream engram.CommitStream // nil: commit by commit
	keep   *keeping
	marks  marking
	times  map[engram.ID]*takenTimes // of the entities written to, by message

	updates   []engram.EntityUpdate
	instances []engram.Instance // of the updates, allocated together
	sent      []sent            // of the updates
	bytes     int

	received sync.WaitGroup
	mu       struct {
		sync.Mutex
		waiting [][]sent // of the commits sent, in order; also guards the reports' and tallies' counts
		err     error    // of receiving
	}
}

func newSender(ctx context.Context, dst engram.Writer, marks marking) (*sender, error) {
	s := &sender{ctx: ctx, dst: dst, marks: marks, keep: newKeeping(ctx, dst), times: map[engram.ID]*takenTimes{}}
	streamer, ok := dst.(engram.CommitStreamer)
	if !ok {
		return s, nil
	}
	stream, err := streamer.CommitStream(ctx)
	if errors.Is(err, engram.Unsupported) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	s.stream = stream
	s.received.Go(s.receive)
	return s, nil
}

// sent is what is to be counted when an update is answered.
type sent struct {
	tally *tally
	time  engram.Time
}

// refuse counts an update that was not even sent.
func (s *sender) refuse(t *TopicReport, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.refuse(err, 1)
}

// note counts what is to be said of an update that is sent all the same.
func (s *sender) note(t *TopicReport, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.Noted = counted(t.Noted, why, 1)
}

// add appends an update of one message; where another one has its time already, it
// gets the next nanosecond that is free. The error ends the import.
func (s *sender) add(t *TopicReport, entity engram.ID, at, logged engram.Time, p engram.Payload) error {
	times := s.times[entity]
	if times == nil {
		times = &takenTimes{}
		s.times[entity] = times
	}
	if free := times.take(at); free != at {
		t.Shifted++
		at = free
	}
	s.grow()
	i := len(s.instances)
	s.instances = append(s.instances, engram.Instance{Payload: p, Sent: logged, HasSent: true, Confidence: 1})
	return s.addAll(t, entity, at, s.instances[i:i+1:i+1])
}

// grow makes room for a batch where there is none.
func (s *sender) grow() {
	if s.updates == nil {
		s.updates = make([]engram.EntityUpdate, 0, batchUpdates)
		s.instances = make([]engram.Instance, 0, batchUpdates)
		s.sent = make([]sent, 0, batchUpdates)
	}
}

// addAll is add for a snapshot with its instances.
func (s *sender) addAll(t *TopicReport, entity engram.ID, at engram.Time, instances []engram.Instance) error {
	s.grow()
	of := s.keep.of(t, entity)
	s.updates = append(s.updates, engram.EntityUpdate{Entity: entity, Time: at, Instances: instances})
	s.sent = append(s.sent, sent{of, at})
	for i := range instances {
		s.bytes += len(instances[i].Payload.Bytes)
	}
	if len(s.updates) < batchUpdates && s.bytes < batchBytes {
		return nil
	}
	return s.commit()
}

// commit sends what was gathered.
func (s *sender) commit() error {
	if len(s.updates) == 0 {
		return nil
	}
	if err := s.marks.cover(s.ctx, s.updates); err != nil {
		return err
	}
	c, commit := engram.Commit{Updates: s.updates, Recorded: true}, s.sent
	s.bytes = 0
	if s.stream != nil {
		s.mu.Lock()
		s.mu.waiting = append(s.mu.waiting, commit)
		err := s.mu.err
		s.mu.Unlock()
		if err != nil {
			return err
		}
		s.updates, s.instances, s.sent = nil, nil, nil // the pipeline may hold them
		if err := s.stream.Send(c); err != nil {
			return s.cause(err)
		}
		return nil
	}
	s.updates, s.instances, s.sent = nil, nil, nil
	results, err := s.dst.Commit(s.ctx, c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return count(commit, results)
}

// flush sends what was gathered, all the way.
func (s *sender) flush() error {
	if err := s.commit(); err != nil {
		return err
	}
	if s.stream != nil {
		if err := s.stream.Flush(); err != nil {
			return s.cause(err)
		}
	}
	return nil
}

// cause returns why a pipeline broke: the receiving side knows better.
func (s *sender) cause(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.err != nil {
		return s.mu.err
	}
	return err
}

// receive counts the answers until the pipeline ends.
func (s *sender) receive() {
	for {
		results, err := s.stream.Recv()
		s.mu.Lock()
		switch {
		case err == io.EOF:
		case err != nil:
			s.mu.err = err
		case len(s.mu.waiting) == 0:
			err = engram.Errorf(engram.Internal, "", "the memory answered a commit that was not sent")
			s.mu.err = err
		default:
			err = count(s.mu.waiting[0], results)
			s.mu.waiting = s.mu.waiting[1:]
			s.mu.err = err
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func count(commit []sent, results []engram.UpdateResult) error {
	if len(results) != len(commit) {
		return engram.Errorf(engram.Internal, "", "the memory gave %d answers to %d updates", len(results), len(commit))
	}
	for i := range results {
		a, at := commit[i].tally, commit[i].time
		if err := results[i].Err; err != nil {
			a.topic.refuse(err, 1)
			continue
		}
		if note := results[i].Note; note != nil {
			a.topic.Noted = counted(a.topic.Noted, note, 1)
		}
		a.topic.Stored++
		a.stored++
		a.first, a.last = min(a.first, at), max(a.last, at)
	}
	return nil
}

// finish sends the rest if the import went well, and waits for all answers.
func (s *sender) finish(well bool) error {
	var err error
	if well {
		err = s.flush()
	}
	if s.stream == nil {
		return err
	}
	if err == nil {
		err = s.stream.CloseSend()
	}
	if err != nil {
		s.stream.Close() // or the receiver would wait for ever
	}
	s.received.Wait()
	if err == nil {
		err = s.mu.err
	}
	return errors.Join(err, s.stream.Close())
}
