package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
)

// rates are the figures that are no cells of the paper's.
type rates struct {
	mixedP50, mixedP99, mixedImageP50 float64 // µs
	mixedLate                         int     // slots that began too late
	polling                           float64 // queries a second that brought a fresh state, none missed
	pollingStates                     float64 // states a second
	throughput                        float64 // commits a second
	camera                            float64 // per cent of one core
}

// measureRates measures the rates over edge/transport/local.
func measureRates(e extent) (r rates, err error) {
	s, err := newSession(2, "moderate", "complex")
	if err != nil {
		return r, err
	}
	for _, m := range []struct {
		name    string
		measure func(extent, *rates) error
	}{
		{measureMixed, s.mixed}, {measurePolling, s.polling}, {measureStream, s.throughput}, {measureCamera, s.camera},
	} {
		if !e.wants(m.name) {
			continue
		}
		if err = m.measure(e, &r); err != nil {
			err = fmt.Errorf("%s: %w", m.name, err)
			break
		}
	}
	return r, errors.Join(err, s.close())
}

// sleepUntil sleeps until a time of the shared clock and reports whether that was
// still to come.
func sleepUntil(at int64) bool {
	d := at - monotonic()
	if d > 0 {
		time.Sleep(time.Duration(d))
	}
	return d > 0
}

// mixed measures the age of 33 B committed at 1 kHz beside images of 49 KB at
// 30 Hz, each with a connection of its own.
func (s *session) mixed(e extent, r *rates) error {
	var conns [2]consumerConn
	var streams [2]*stream
	for i, name := range []string{"moderate", "complex"} {
		var err error
		if conns[i], err = s.consume(0, overLocal, bySubscription, name, 1); err != nil {
			return err
		}
		defer conns[i].Close()
		if streams[i], err = s.stream(overLocal, kindNamed(name), 1); err != nil {
			return err
		}
		defer streams[i].Close()
	}
	began := monotonic()
	paced := func(i int, period time.Duration, took *[]int64, late *int) error {
		conn, st := conns[i], streams[i]
		for next := began; next < began+int64(e.mix); next += int64(period) {
			if !sleepUntil(next) {
				*late++
			}
			from := monotonic()
			if err := st.send(); err != nil {
				return err
			}
			got, err := conn.next()
			if err != nil {
				return err
			}
			*took = append(*took, got.At-from)
			if err := st.answer(); err != nil {
				return err
			}
		}
		return nil
	}
	var small, images []int64
	var lateImages int
	done := make(chan error, 1)
	go func() { done <- paced(1, time.Second/30, &images, &lateImages) }()
	err := paced(0, time.Millisecond, &small, &r.mixedLate)
	if err = errors.Join(err, <-done); err != nil {
		return err
	}
	f := summarise(small)
	r.mixedP50, r.mixedP99, r.mixedImageP50 = f.p50, f.p99, summarise(images).p50
	return nil
}

// polling has the producer commit one state after the other, each as soon as the
// one before is answered, while the consumer asks for what is new, again and again. If
// it loses some, because it was held up, it is tried again with fewer.
func (s *session) polling(e extent, r *rates) error {
	k := kindNamed("moderate")
	run := func(n int) (states, polls float64, err error) {
		conn, err := s.consume(0, overLocal, byPolling, k.name, n)
		if err != nil {
			return 0, 0, err
		}
		defer conn.Close()
		st, err := s.stream(overLocal, k, 1)
		if err != nil {
			return 0, 0, err
		}
		defer st.Close()
		from := monotonic()
		for i := range n {
			st.batch.objects[0].setNumber(int64(i))
			if err := st.send(); err != nil {
				return 0, 0, err
			}
			if err := st.answer(); err != nil {
				return 0, 0, err
			}
		}
		got, err := conn.next()
		if err != nil {
			return 0, 0, err
		}
		seconds := float64(got.At-from) / 1e9
		return float64(n) / seconds, float64(got.Polls) / seconds, nil
	}
	states, _, err := run(100)
	if err != nil {
		return err
	}
	for n := max(100, int(states*e.mix.Seconds())); ; n = max(n/2, held) {
		r.pollingStates, r.polling, err = run(n)
		if !errors.Is(err, errLost) || n <= held { // of so few the memory keeps all
			return err
		}
	}
}

// throughput sends commits of one 33 B object down one stream, stored and
// delivered to one consumer who converts them. If the consumer loses some, it is
// tried again at a lower rate.
func (s *session) throughput(e extent, r *rates) error {
	rate, err := s.flood(2000, 0)
	if err != nil {
		return err
	}
	n := max(2000, int(rate*e.mix.Seconds()))
	pace := 0.0
	for range 8 {
		r.throughput, err = s.flood(n, pace)
		if !errors.Is(err, errLost) {
			return err
		}
		pace = 0.85 * max(rate, pace)
		rate = 0
	}
	return err
}

// flood sends n commits, at most pace a second if that is not 0, and returns how
// many a second reached the consumer.
func (s *session) flood(n int, pace float64) (rate float64, err error) {
	k := kindNamed("moderate")
	conn, err := s.consume(0, overLocal, bySubscription, k.name, n)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	st, err := s.stream(overLocal, k, 1)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	answers := make(chan error, 1)
	go func() {
		for range n {
			if err := st.answer(); err != nil {
				answers <- err
				return
			}
		}
		answers <- nil
	}()
	from := monotonic()
	for i := range n {
		if pace > 0 && i%64 == 0 {
			sleepUntil(from + int64(float64(i)/pace*1e9))
		}
		st.batch.objects[0].setNumber(int64(i))
		st.batch.forget() // many are under way
		// Not flushed: the stream gathers what is sent while answers are under way.
		if err := st.Send(st.batch.commit(st.next)); err != nil {
			return 0, err
		}
		st.next++
	}
	if err := st.CloseSend(); err != nil {
		return 0, err
	}
	got, err := conn.next()
	if err != nil {
		return 0, err
	}
	return float64(n) / (float64(got.At-from) / 1e9), <-answers
}

// camera commits 640×480 RGB stereo at 20 Hz, which two consumers get, and takes
// the memory server's CPU time.
func (s *session) camera(e extent, r *rates) error {
	const width, height = 640, 480
	var conns []consumerConn
	for i := range s.consumers {
		conn, err := s.consume(i, overLocal, byFrames, "", 1)
		if err != nil {
			return err
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	st, err := s.services[overLocal].CommitStream(context.Background())
	if err != nil {
		return err
	}
	defer st.Close()
	pixels := make([]byte, width*height*3)
	began, cpu := monotonic(), processCPU(s.memory.pid())
	at := began
	for ; at < began+int64(e.mix); at += int64(time.Second / 20) {
		sleepUntil(at)
		stereo := make([]engram.Instance, 2)
		for i := range stereo {
			stereo[i] = engram.NewInstance(engram.Payload{Type: framesType, Bytes: rawImage(width, height, pixels)})
		}
		update := engram.EntityUpdate{Entity: frames, Time: engram.Now(), Instances: stereo}
		if err := st.Send(engram.Commit{Updates: []engram.EntityUpdate{update}}); err != nil {
			return err
		}
		results, err := st.Recv()
		if err = errors.Join(err, engram.FirstError(results)); err != nil {
			return err
		}
		for _, conn := range conns {
			got, err := conn.next()
			if err != nil {
				return err
			}
			if got.Number < 2*int64(len(pixels)) {
				return fmt.Errorf("a frame arrived with %d bytes", got.Number)
			}
		}
	}
	sleepUntil(at)
	r.camera = 100 * float64(processCPU(s.memory.pid())-cpu) / float64(monotonic()-began)
	return nil
}

// rawImage returns an encoded foxglove.RawImage, rgb8.
func rawImage(width, height uint32, pixels []byte) []byte {
	b := appendFixed(nil, 2, width)
	b = appendFixed(b, 3, height)
	b = appendText(b, 4, "rgb8")
	b = appendFixed(b, 5, 3*width)
	b = protowire.AppendTag(b, 6, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(len(pixels)))
	return append(b[:len(b):len(b)], pixels...)
}
