package attack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"

	_ "github.com/seed-301d4374/engram/gen/engram/v1" // all procedures
	"github.com/seed-301d4374/engram/internal/testkit"
)

// procedures returns all of a server.
func procedures() (out []protoreflect.MethodDescriptor) {
	protoregistry.GlobalFiles.RangeFilesByPackage("engram.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				out = append(out, f.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
	return out
}

// noise makes messages of random content.
type noise struct {
	*rand.Rand
	hints []string // texts that are worth trying, beside words
}

// words are texts that mean something to a server, and some that should mean nothing.
var words = []string{
	"", "*", "~.*", "GeneralPurpose", "GeneralPurpose/Noise", "GeneralPurpose/Noise/p/e", "GeneralPurpose/Noise/p/e/1970-01-01 00:00:00.000001/0",
	"RobotState/Proprioception", "Vision", "SystemState/*/*/*", "a/b/c/d/e/f/g", "\\/", "\x00", "\xff", "../../etc/passwd", "~(a*)*b", "payload.x > 1", "1/0 == 1",
	"-9223372036854775808", "engram.idf.v1.Value", "geometry_msgs.msg.Pose", "map", "base", "😀", strings.Repeat("x", 5000), strings.Repeat("a/", 300), "where", "rate=2",
}

func (n noise) message(d protoreflect.MessageDescriptor, depth int) *dynamicpb.Message {
	m := dynamicpb.NewMessage(d)
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		if n.IntN(3) == 0 || depth > 6 && (f.Message() != nil || f.IsList()) {
			continue
		}
		switch {
		case f.IsMap():
			for range n.IntN(3) {
				m.Mutable(f).Map().Set(n.value(f.MapKey(), depth).MapKey(), n.value(f.MapValue(), depth+1))
			}
		case f.IsList():
			for range n.IntN(4) {
				m.Mutable(f).List().Append(n.value(f, depth+1))
			}
		default:
			m.Set(f, n.value(f, depth+1))
		}
	}
	return m
}

func (n noise) value(f protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	number := []int64{0, 1, -1, 2, 1000, 1 << 31, 1<<63 - 1, -1 << 63, int64(n.Uint64())}[n.IntN(9)]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n.IntN(6) - 1))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(number))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(number))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(number)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(number))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(number) / 7)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, 1, -1, 1e308, 0.1, float64(number)}[n.IntN(6)])
	case protoreflect.StringKind:
		texts := words
		if len(n.hints) > 0 && n.IntN(3) > 0 {
			texts = n.hints
		}
		return protoreflect.ValueOfString(strings.ToValidUTF8(texts[n.IntN(len(texts))], "?"))
	case protoreflect.BytesKind:
		b := make([]byte, n.IntN(200))
		for i := range b {
			b[i] = byte(n.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	}
	return protoreflect.ValueOfMessage(n.message(f.Message(), depth))
}

// request returns a request to a procedure, right in form or spoiled, in any protocol.
func (n noise) request(p protoreflect.MethodDescriptor) Request {
	r := Request{Path: fmt.Sprintf("/%s/%s", p.Parent().FullName(), p.Name()), Header: http.Header{}}
	m := n.message(p.Input(), 0)
	b, _ := proto.MarshalOptions{AllowPartial: true}.Marshal(m) // what cannot be written is sent as far as it goes
	if n.IntN(4) == 0 {
		b, _ = protojson.MarshalOptions{AllowPartial: true}.Marshal(m)
		r.Type = "application/json"
	} else {
		r.Type = "application/proto"
	}
	if n.IntN(3) == 0 && len(b) > 0 {
		for range 1 + n.IntN(4) {
			switch at := n.IntN(len(b)); n.IntN(3) {
			case 0:
				b[at] ^= 1 << n.IntN(8)
			case 1:
				b = append(b[:at:at], append([]byte{byte(n.Uint32())}, b[at:]...)...)
			case 2:
				b = b[:at+1]
			}
		}
	}
	frame := append([]byte{0, byte(len(b) >> 24), byte(len(b) >> 16), byte(len(b) >> 8), byte(len(b))}, b...)
	streams := p.IsStreamingClient() || p.IsStreamingServer()
	switch n.IntN(3) {
	case 0:
		r.Type, b = map[string]string{"application/json": "application/grpc+json", "application/proto": "application/grpc+proto"}[r.Type], frame
		r.Header.Set("Te", "trailers")
	case 1:
		r.Type, b = strings.Replace(r.Type, "application/", "application/grpc-web+", 1), frame
	case 2:
		if streams {
			r.Type, b = strings.Replace(r.Type, "application/", "application/connect+", 1), frame
		}
	}
	r.Body = b
	return r
}

// mostNoise is what a server may take while it gets noise: it is kept in memory, too.
const mostNoise = 1 << 30

// Whatever is sent to whichever procedure, in whatever protocol, by clients that stay, go
// in the middle, or say nothing at all: the server neither crashes nor panics nor grows,
// what was committed is there, and others are answered.
func TestNoise(t *testing.T) {
	testkit.RealTime(t, "a server is heard within 3 s whatever noise it gets")
	chance := chance(t)
	v := begin(t)
	c, err := client.Connect(t.Context(), client.Options{Address: v.unix()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	kept := engram.MustID("GeneralPurpose/Kept/p/e")
	if err := c.AddCoreSegment(t.Context(), engram.CoreSegment{ID: kept.Truncate(engram.LevelCoreSegment), Durability: engram.Synced}); err != nil {
		t.Fatal(err)
	}
	p := testkit.Value(t, "this stays")
	results, err := c.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: kept, Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}

	all, httpOf := procedures(), clients(t)
	ctx, cancel := context.WithTimeout(t.Context(), *lasting)
	defer cancel()
	var attackers sync.WaitGroup
	var mu sync.Mutex
	answered := map[string]int{}
	for range 4 {
		n := noise{Rand: rand.New(rand.NewPCG(chance.Uint64(), 0))}
		attackers.Go(func() {
			for ctx.Err() == nil {
				p := all[n.IntN(len(all))]
				// These would end the test's own memory, by right.
				if name := p.Name(); name == "RemoveSegment" || name == "Forget" || name == "DropEpisode" {
					continue
				}
				r := n.request(p)
				patience := time.Duration(1+n.IntN(300)) * time.Millisecond // some go in the middle
				call, end := context.WithTimeout(ctx, patience)
				status, answer, err := r.Send(call, httpOf(&r), v.server)
				end()
				mu.Lock()
				answered[string(p.Name())]++
				mu.Unlock()
				if err == nil && (status == http.StatusInternalServerError && !strings.Contains(r.Path, "Health") || strings.Contains(answer, `"internal"`)) {
					t.Errorf("%s answers %d %.300s to %s %.300q", r.Path, status, answer, r.Type, r.Body)
				}
			}
		})
	}
	attackers.Go(func() { strays(ctx, noise{Rand: rand.New(rand.NewPCG(chance.Uint64(), 1))}, v) })
	attackers.Wait()

	v.lives(t)
	if peak := v.peak(t); peak > mostNoise {
		t.Errorf("the server took %d MiB", peak>>20)
	}
	s, err := c.Latest(t.Context(), kept)
	if err != nil || !bytes.Equal(s.Instances[0].Payload.Bytes, p.Bytes) {
		t.Errorf("what was there is %+v, %v", s, err)
	}
	t.Logf("%d procedures were called: %v", len(answered), answered)
}

// strays opens connections that say nothing, begin and do not go on, or say nonsense, to
// the port and to the sockets.
func strays(ctx context.Context, n noise, v *victim) {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for ctx.Err() == nil {
		network, address := "tcp", strings.TrimPrefix(v.server, "http://")
		if k := n.IntN(3); k > 0 {
			network, address = "unix", []string{v.socket, strings.TrimSuffix(v.socket, ".local")}[k-1]
		}
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			begins := []string{"", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /engram.v1.MemoryService/Commit HTTP/1.1\r\nContent-Length: 99999\r\n\r\n", "ENGRAM"}
			_, _ = io.WriteString(c, begins[n.IntN(len(begins))]) // it may be cut off at once
			b := make([]byte, n.IntN(3000))
			for i := range b {
				b[i] = byte(n.Uint32())
			}
			_, _ = c.Write(b)
			open = append(open, c)
		}
		if len(open) > 200 {
			open[0].Close()
			open = open[1:]
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}
