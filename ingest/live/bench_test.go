package live_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/live"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

// benchRate is what the robot publishes, in messages a second, and benchRobot the variable
// of the process that is one: how many messages.
const (
	benchRate  = 2000
	benchRobot = "ENGRAM_BENCH_ROBOT"
)

// cdr writes ROS 2's serialisation.
type cdr struct{ b []byte }

func (c *cdr) align(n int) {
	for (len(c.b)-4)%n != 0 {
		c.b = append(c.b, 0)
	}
}

func (c *cdr) u32(n uint32) {
	c.align(4)
	c.b = binary.LittleEndian.AppendUint32(c.b, n)
}

func (c *cdr) text(s string) {
	c.u32(uint32(len(s) + 1))
	c.b = append(append(c.b, s...), 0)
}

func (c *cdr) f64(v ...float64) {
	for _, x := range v {
		c.align(8)
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(x))
	}
}

func (c *cdr) header(at engram.Time, frame string) {
	c.b = append(c.b[:0], 0, 1, 0, 0)
	c.u32(uint32(int64(at) / 1e9))
	c.u32(uint32(int64(at) % 1e9))
	c.text(frame)
}

const (
	separator  = "\n================================================================================\n"
	headerText = separator + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id"
	vectorText = separator + "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z" + separator + "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w"
	joints     = 43
)

// benchChannels are of a robot: joints, an inertial sensor, odometry's transform.
var benchChannels = []protocol.Channel{
	{ID: 1, Topic: "/joint_states", Encoding: "cdr", SchemaName: "sensor_msgs/msg/JointState", SchemaEncoding: "ros2msg",
		Schema: "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort" + headerText},
	{ID: 2, Topic: "/imu", Encoding: "cdr", SchemaName: "sensor_msgs/msg/Imu", SchemaEncoding: "ros2msg",
		Schema: "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance" + headerText + vectorText},
	{ID: 3, Topic: "/tf", Encoding: "cdr", SchemaName: "geometry_msgs/msg/TransformStamped", SchemaEncoding: "ros2msg",
		Schema: "std_msgs/Header header\nstring child_frame_id\nTransform transform" + headerText + separator + "MSG: geometry_msgs/Transform\nVector3 translation\nQuaternion rotation" + vectorText},
}

func benchMessage(c *cdr, i int, at engram.Time) (channel uint32, data []byte) {
	x := math.Sin(float64(i) / 100)
	switch channel = uint32(i%3 + 1); channel {
	case 1:
		c.header(at, "")
		c.u32(joints)
		for j := range joints {
			c.text("joint_" + strconv.Itoa(j))
		}
		for range 3 {
			c.u32(joints)
			for range joints {
				c.f64(x)
			}
		}
	case 2:
		c.header(at, "imu")
		c.f64(make([]float64, 4+9+3+9+3+9)...)
	case 3:
		c.header(at, "odom")
		c.text("base")
		c.f64(x, 0, 0, 0, 0, 0, 1)
	}
	return channel, c.b
}

// benchServe is the robot: it publishes n messages, each by itself, to who subscribes first.
func benchServe(n int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("ws://" + l.Addr().String())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: protocol.Subprotocols})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		say := func(m any) {
			b, _ := json.Marshal(m)
			_ = conn.Write(r.Context(), websocket.MessageText, b)
		}
		say(protocol.ServerInfo{Op: "serverInfo", Name: "robot"})
		say(protocol.Advertise{Op: "advertise", Channels: benchChannels})
		_, b, _ := conn.Read(r.Context())
		var asked protocol.Request
		_ = json.Unmarshal(b, &asked)
		subs := map[uint32]uint32{}
		for _, s := range asked.Subscriptions {
			subs[s.ChannelID] = s.ID
		}
		ctx := conn.CloseRead(r.Context())
		var c cdr
		var frame []byte
		for i, begun := 0, time.Now(); i < n; i++ {
			time.Sleep(time.Until(begun.Add(time.Duration(i) * time.Second / benchRate)))
			at := engram.Now()
			channel, data := benchMessage(&c, i, at)
			frame = protocol.AppendMessage(frame[:0], subs[channel], at, data)
			if conn.Write(ctx, websocket.MessageBinary, frame) != nil {
				return
			}
		}
		<-ctx.Done()
	}))
}

// Live ingestion of 2,000 messages a second: what the client and the memory server take of a
// core together, with the connection between them, and how many messages were dropped. The
// robot is another process.
func BenchmarkLive(b *testing.B) {
	robot := exec.Command(os.Args[0])
	robot.Env = append(os.Environ(), benchRobot+"="+strconv.Itoa(b.N))
	out, err := robot.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	robot.Stderr = os.Stderr
	if err := robot.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = robot.Process.Kill()
		_ = robot.Wait() // it was killed
	}()
	var url string
	if _, err := fmt.Fscanln(out, &url); err != nil {
		b.Fatal(err)
	}
	memory := serving.NewOf(b, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	address := serving.Socket(b)
	serving.Serve(b, memory, nil, rpc.Options{}, address)
	dst := serving.Dial(b, address, rpc.DialOptions{})
	ctx, end := context.WithCancel(b.Context())
	defer end()
	b.ResetTimer()
	begun, cpu := time.Now(), cpuTime(b)
	src, err := live.Dial(ctx, url, live.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	go func() {
		for src.Figures().Messages < uint64(b.N) {
			time.Sleep(10 * time.Millisecond)
		}
		end()
	}()
	report, err := ingest.Follow(ctx, dst, src, url, ingest.Options{Source: "robot"})
	if err != nil || report.Refused > 0 || len(report.Loss) > 0 || report.Stored != uint64(b.N) {
		b.Fatalf("%d stored, lost %s, %v", report.Stored, strings.TrimSpace(report.LossSummary()), err)
	}
	passed := time.Since(begun).Seconds()
	b.ReportMetric(100*(cpuTime(b)-cpu)/passed, "%core")
	b.ReportMetric(float64(b.N)/passed, "messages/s")
	b.ReportMetric(float64(src.Figures().Dropped), "dropped")
}

// cpuTime is what this process has taken of the processor, in seconds.
func cpuTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
