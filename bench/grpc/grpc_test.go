package grpc_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

const (
	commitMethod    = "/engram.v1.MemoryService/Commit"
	subscribeMethod = "/engram.v1.MemoryService/Subscribe"
	images          = 100
	imageBytes      = 49_225
	perMessage      = 1 << 20 / imageBytes // as the memory server groups them
)

// serveAs, in the environment, has this program serve instead: what, and on which socket.
const serveAs, serveAt = "ENGRAM_BENCH_GRPC", "ENGRAM_BENCH_GRPC_SOCKET"

func TestMain(m *testing.M) {
	var err error
	switch what := os.Getenv(serveAs); what {
	case "":
		os.Exit(m.Run())
	case "engram":
		err = serveEngram(os.Getenv(serveAt))
	case "plain":
		err = servePlain(os.Getenv(serveAt))
	default:
		err = fmt.Errorf("there is no server %q", what)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveEngram serves a memory until its input ends.
func serveEngram(path string) error {
	server.TuneRuntime()
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "Test", Segments: []engram.CoreSegment{{
		ID: engram.MustID("Test/Any"), History: engram.Bounds{MaxCount: 1000},
	}}}}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := rpc.Listen("unix:" + path)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
	}()
	return rpc.Serve(ctx, rpc.NewHandler(s, nil, rpc.Options{Grace: time.Millisecond, Log: slog.New(slog.DiscardHandler)}), l)
}

// plain answers as a memory server does, without a memory.
type plain struct{ changed chan []*engramv1.Update }

// servePlain serves with gRPC's own library until its input ends.
func servePlain(path string) error {
	server.TuneRuntime()
	p := &plain{changed: make(chan []*engramv1.Update, 1)}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(128 << 20))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "engram.v1.MemoryService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Commit", Handler: p.commit}},
		Streams: []grpc.StreamDesc{{StreamName: "Subscribe", Handler: p.subscribe, ServerStreams: true}},
	}, p)
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	go func() {
		defer s.Stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the benchmark
	}()
	return s.Serve(l)
}

func (p *plain) commit(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	m := &engramv1.CommitRequest{}
	if err := decode(m); err != nil {
		return nil, err
	}
	answer := &engramv1.CommitResponse{}
	updates := make([]*engramv1.Update, len(m.GetUpdates()))
	for i, u := range m.GetUpdates() {
		id := u.GetEntity() + "/2026-11-23 20:00:00.000000" // as long as a memory's answer
		answer.Results = append(answer.Results, &engramv1.UpdateResult{Id: id, Number: 1})
		updates[i] = &engramv1.Update{Id: id, Number: 1, Arrived: u.GetTime(), Snapshot: &engramv1.Snapshot{Time: u.GetTime(), Instances: u.GetInstances()}}
	}
	if len(updates) > 1 {
		p.changed <- updates
	}
	return answer, nil
}

func (p *plain) subscribe(_ any, stream grpc.ServerStream) error {
	if err := stream.SendMsg(&engramv1.SubscribeResponse{Epoch: 1}); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case updates := <-p.changed:
			for part := range slices.Chunk(updates, perMessage) {
				if err := stream.SendMsg(&engramv1.SubscribeResponse{Updates: part}); err != nil {
					return err
				}
			}
		}
	}
}

// start starts a server and connects to it. It returns its process, too.
func start(b *testing.B, what string) (*grpc.ClientConn, int) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveAs+"="+what, serveAt+"="+path)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		input.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("%s: %v", what, err)
		}
	})
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(128<<20)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn, cmd.Process.Pid
}

// commitOf returns a commit to n entities with payloads of so many bytes.
func commitOf(b *testing.B, n, bytes int) *engramv1.CommitRequest {
	p, err := idf.ValuePayload(string(make([]byte, bytes)))
	if err != nil {
		b.Fatal(err)
	}
	m := &engramv1.CommitRequest{}
	for i := range n {
		m.Updates = append(m.Updates, &engramv1.EntityUpdate{
			Entity: fmt.Sprintf("Test/Any/p/e%d", i), Time: new(int64),
			Instances: []*engramv1.Instance{{Payload: &engramv1.Payload{Type: p.Type, Data: p.Bytes}}},
		})
	}
	return m
}

var now = time.Now().UnixNano()

// send commits m at a new time.
func send(b *testing.B, conn *grpc.ClientConn, m *engramv1.CommitRequest) {
	now += 1000
	for _, u := range m.Updates {
		*u.Time = now
	}
	answer := &engramv1.CommitResponse{}
	if err := conn.Invoke(context.Background(), commitMethod, m, answer); err != nil {
		b.Fatal(err)
	}
	if len(answer.Results) != len(m.Updates) || answer.Results[0].Error != nil {
		b.Fatal(answer)
	}
}

// peers are the two servers, in the order in which they are measured.
var peers = []string{"plain", "engram"}

// inTurn measures the two servers by one step each, in turn, and reports the medians and
// the CPU time of the servers.
func inTurn(b *testing.B, block int, pids []int, step func(peer int)) {
	took := make([][]float64, len(peers))
	for peer := range peers {
		for range 5 * block {
			step(peer)
		}
	}
	var cpu [2]float64
	b.ResetTimer()
	for n := 0; n < b.N; n += block {
		for i := range peers {
			peer := (i + n/block) % len(peers)
			before := cpuOf(b, pids[peer])
			for range block {
				began := time.Now()
				step(peer)
				took[peer] = append(took[peer], float64(time.Since(began).Nanoseconds())/1000)
			}
			cpu[peer] += cpuOf(b, pids[peer]) - before
		}
	}
	var median [2]float64
	for peer, name := range peers {
		slices.Sort(took[peer])
		median[peer] = took[peer][len(took[peer])/2]
		cpu[peer] /= float64(len(took[peer]))
		b.ReportMetric(median[peer], name+"-µs")
		b.ReportMetric(cpu[peer], name+"-cpu-µs")
	}
	b.ReportMetric(median[1]/median[0], "ratio")
	b.ReportMetric(cpu[1]/cpu[0], "cpu-ratio")
	b.ReportMetric(0, "ns/op") // of both together
}

// cpuOf returns the CPU time of a process, in µs.
func cpuOf(b *testing.B, pid int) float64 {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // it has ended
		}
		var ns float64
		if _, err := fmt.Sscan(string(text), &ns); err == nil {
			sum += ns / 1000
		}
	}
	return sum
}

// BenchmarkCommit is a unary commit of one update of 33 bytes.
func BenchmarkCommit(b *testing.B) {
	var conns []*grpc.ClientConn
	var pids []int
	for _, what := range peers {
		conn, pid := start(b, what)
		conns, pids = append(conns, conn), append(pids, pid)
	}
	m := commitOf(b, 1, 33)
	inTurn(b, 100, pids, func(peer int) { send(b, conns[peer], m) })
}

// BenchmarkImages is a commit of 100 images of 49 KB, from the call until a subscriber has
// them all.
func BenchmarkImages(b *testing.B) {
	var conns []*grpc.ClientConn
	var streams []grpc.ClientStream
	var pids []int
	for _, what := range peers {
		conn, pid := start(b, what)
		conns, pids = append(conns, conn), append(pids, pid)
		reader, readerErr := grpc.NewClient(conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(128<<20)))
		if readerErr != nil {
			b.Fatal(readerErr)
		}
		b.Cleanup(func() { reader.Close() })
		ctx, cancel := context.WithCancel(context.Background())
		b.Cleanup(cancel)
		stream, err := reader.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, subscribeMethod)
		if err == nil {
			err = stream.SendMsg(&engramv1.SubscribeRequest{WithData: true})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		if err == nil {
			err = stream.RecvMsg(&engramv1.SubscribeResponse{})
		}
		if err != nil {
			b.Fatal(err)
		}
		streams = append(streams, stream)
	}
	m := commitOf(b, images, imageBytes)
	b.SetBytes(int64(proto.Size(m)))
	inTurn(b, 5, pids, func(peer int) {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			send(b, conns[peer], m)
		}()
		for got := 0; got < images; {
			answer := &engramv1.SubscribeResponse{}
			if err := streams[peer].RecvMsg(answer); err != nil {
				b.Fatal(err)
			}
			got += len(answer.GetUpdates())
		}
		<-answered
	})
}
