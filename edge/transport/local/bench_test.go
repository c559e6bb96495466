package local

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
)

// The benchmarks run in three processes, as a robot does: producer (the test),
// memory server and consumer, which are this test binary started again. A process
// is told what to be by this variable.
const childEnv = "ENGRAM_LOCAL_BENCH"

const benchType = "google.protobuf.BytesValue"

func benchServer() (feature.Server, error) {
	file := protodesc.ToFileDescriptorProto((&wrapperspb.BytesValue{}).ProtoReflect().Descriptor().ParentFile())
	descriptors, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		return nil, err
	}
	return server.New(server.Config{Memories: []server.Memory{{
		Name:  "Bench",
		Types: []engram.TypeDef{{Name: benchType, Descriptors: descriptors}},
		Segments: []engram.CoreSegment{{
			ID: engram.MustID("Bench/Data"), Type: benchType, History: engram.Bounds{MaxCount: benchHistory},
		}},
	}}})
}

// monotonic is a clock that all processes share, in nanoseconds.
func monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// child runs one of the benchmarks' processes until its standard input ends.
func child(role, dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	switch role {
	case "server":
		svc, err := benchServer()
		if err != nil {
			return err
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "memory"), Net: "unix"})
		if err != nil {
			return err
		}
		fmt.Println("ready")
		return Serve(ctx, l, svc, Options{})
	case "consumer":
		return consume(ctx, dir)
	case "victim":
		return victim(dir)
	}
	return fmt.Errorf("no role %q", role)
}

// consume tells the producer when it got what. Each round begins with the number
// of updates, or bytes, that it is to wait for.
func consume(ctx context.Context, dir string) error {
	l, err := net.Listen("unix", filepath.Join(dir, "consumer"))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	fmt.Println("ready")
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer conn.Close()
			var b [16]byte
			if _, err := io.ReadFull(conn, b[:]); err != nil {
				return
			}
			n := int(binary.LittleEndian.Uint64(b[8:]))
			if kind := binary.LittleEndian.Uint64(b[:]); kind == kindRaw {
				consumeRaw(conn, n)
			} else {
				consumeUpdates(ctx, conn, filepath.Join(dir, "memory"), n, kind == kindTransient)
			}
		}()
	}
}

func tell(conn net.Conn) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(monotonic()))
	_, err := conn.Write(b[:])
	return err
}

func consumeRaw(conn net.Conn, size int) {
	buf := make([]byte, size)
	for {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return
		}
		if tell(conn) != nil {
			return
		}
	}
}

func consumeUpdates(ctx context.Context, conn net.Conn, memory string, n int, transient bool) {
	c, err := Dial(ctx, "local:"+memory, DialOptions{})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	st, err := c.Subscribe(ctx, engram.Subscription{WithData: true, Queue: 65536, Transient: transient})
	if err != nil {
		panic(err)
	}
	tell(conn) // subscribed
	context.AfterFunc(ctx, func() { conn.Close() })
	go func() {
		io.Copy(io.Discard, conn)
		c.Close()
	}()
	for got := 0; ; {
		batch, err := st.Next(ctx)
		if err != nil {
			return
		}
		for i := range batch {
			if batch[i].Dropped > 0 {
				panic("updates were dropped")
			}
		}
		if got += len(batch); got >= n {
			got -= n
			if tell(conn) != nil {
				return
			}
		}
	}
}

// start starts this binary as one of the benchmarks' processes.
func start(b *testing.B, role, dir string) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+role, childEnv+"_DIR="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatalf("the %s does not start: %q %v", role, line, err)
	}
}

func benchDir(b *testing.B) string {
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

var (
	benchSizes   = []int{8, 33, 49225}
	benchBatches = []int{1, 20, 50, 100}
)

// benchPayload returns an encoded message of n bytes.
func benchPayload(n int) []byte {
	for k := n; k >= 0; k-- {
		if b, _ := proto.Marshal(wrapperspb.Bytes(make([]byte, k))); len(b) == n {
			return b
		}
	}
	panic("no message of this size")
}

// benchHistory is how many snapshots the entity keeps.
const benchHistory = 1000

var benchEntity = engram.MustID("Bench/Data/producer/entity")

// benchCommit returns a commit of n updates from a time on.
func benchCommit(n int, payload []byte, from engram.Time) engram.Commit {
	c := engram.Commit{Updates: make([]engram.EntityUpdate, n)}
	for i := range c.Updates {
		c.Updates[i] = engram.EntityUpdate{
			Entity: benchEntity, Time: from + engram.Time(i),
			Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: benchType, Bytes: payload})},
		}
	}
	return c
}

// What a consumer is to receive.
const (
	kindRaw = iota
	kindUpdatesKept
	kindTransient
)

// dialConsumer connects to the consumer's process.
func dialConsumer(b *testing.B, dir string, kind, n int) net.Conn {
	conn, err := net.Dial("unix", filepath.Join(dir, "consumer"))
	if err != nil {
		b.Fatal(err)
	}
	var head [16]byte
	binary.LittleEndian.PutUint64(head[:], uint64(kind))
	binary.LittleEndian.PutUint64(head[8:], uint64(n))
	if _, err := conn.Write(head[:]); err != nil {
		b.Fatal(err)
	}
	return conn
}

func told(b *testing.B, conn net.Conn) int64 {
	var at [8]byte
	if _, err := io.ReadFull(conn, at[:]); err != nil {
		b.Fatal(err)
	}
	return int64(binary.LittleEndian.Uint64(at[:]))
}

func report(b *testing.B, took []float64) {
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2]/1e3, "p50-µs")
	b.ReportMetric(took[len(took)*99/100]/1e3, "p99-µs")
}

// One way of a batch, back to back: from the producer that hands it over to the
// consumer that has all of it, who keeps the updates (local) or does not
// (transient). raw is one hop of plain bytes without a memory.
func BenchmarkOneWay(b *testing.B) {
	dir := benchDir(b)
	start(b, "server", dir)
	start(b, "consumer", dir)
	c := client(b, "local:"+filepath.Join(dir, "memory"), DialOptions{})
	fill, err := c.CommitStream(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer fill.Close()
	for _, size := range benchSizes {
		p := benchPayload(size)
		for i := range 4 * benchHistory { // the memory is full of such data, and its heap as large as it gets
			if err := fill.Send(benchCommit(1, p, engram.Time(i))); err != nil {
				b.Fatal(err)
			}
			if _, err := fill.Recv(); err != nil {
				b.Fatal(err)
			}
		}
		for _, n := range benchBatches {
			b.Run(fmt.Sprintf("raw/%dB/x%d", size, n), func(b *testing.B) {
				conn := dialConsumer(b, dir, kindRaw, size*n)
				defer conn.Close()
				buf := make([]byte, size*n)
				var took []float64
				for b.Loop() {
					from := monotonic()
					if _, err := conn.Write(buf); err != nil {
						b.Fatal(err)
					}
					took = append(took, float64(told(b, conn)-from))
				}
				report(b, took)
			})
			for kind, name := range map[int]string{kindUpdatesKept: "local", kindTransient: "transient"} {
				b.Run(fmt.Sprintf("%s/%dB/x%d", name, size, n), func(b *testing.B) {
					conn := dialConsumer(b, dir, kind, n)
					defer conn.Close()
					told(b, conn)
					st, err := c.CommitStream(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					defer st.Close()
					now := engram.Now()
					var took []float64
					for b.Loop() {
						cm := benchCommit(n, p, now)
						now += engram.Time(n)
						from := monotonic()
						if err := st.Send(cm); err != nil {
							b.Fatal(err)
						}
						if err := st.Flush(); err != nil {
							b.Fatal(err)
						}
						took = append(took, float64(told(b, conn)-from))
						results, err := st.Recv()
						if err == nil {
							err = engram.FirstError(results)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
					report(b, took)
				})
			}
		}
	}
}

// A commit stream at full speed, each commit of one update, stored and delivered
// to one consumer.
func BenchmarkThroughput(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			dir := benchDir(b)
			start(b, "server", dir)
			start(b, "consumer", dir)
			c := client(b, "local:"+filepath.Join(dir, "memory"), DialOptions{})
			p := benchPayload(size)
			st, err := c.CommitStream(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			n := b.N
			conn := dialConsumer(b, dir, kindTransient, n)
			defer conn.Close()
			told(b, conn)
			now := engram.Now()
			b.ResetTimer()
			from := time.Now()
			go func() {
				for i := range n {
					st.Send(benchCommit(1, p, now+engram.Time(i)))
				}
				st.CloseSend()
			}()
			for {
				results, err := st.Recv()
				if err == io.EOF {
					break
				}
				if err == nil {
					err = engram.FirstError(results)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			told(b, conn)
			b.ReportMetric(float64(n)/time.Since(from).Seconds(), "commits/s")
			b.SetBytes(int64(size))
		})
	}
}

// Calls with one answer, back to back.
func BenchmarkCall(b *testing.B) {
	dir := benchDir(b)
	start(b, "server", dir)
	c := client(b, "local:"+filepath.Join(dir, "memory"), DialOptions{})
	p := benchPayload(33)
	commit := func(b *testing.B) {
		results, err := c.Commit(b.Context(), benchCommit(1, p, engram.Now()))
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	commit(b)
	b.Run("Commit", func(b *testing.B) {
		for b.Loop() {
			commit(b)
		}
	})
	b.Run("Latest", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Latest(b.Context(), benchEntity); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Query", func(b *testing.B) {
		q := engram.SelectID(benchEntity, engram.Latest(1))
		for b.Loop() {
			if _, err := c.Query(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
	})
}
