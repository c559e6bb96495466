package live_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/foxglove/protocol"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/live"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
)

func decode(t testing.TB, def engram.TypeDef, b []byte) any {
	t.Helper()
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	v, err := typ.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Messages of every encoding that bridges have arrive as an import has them, of channels
// that were there and of those to come, whose schemas may change; what is not understood
// keeps its bytes.
func TestFollow(t *testing.T) {
	for _, subprotocol := range protocol.Subprotocols {
		t.Run(subprotocol, func(t *testing.T) {
			r := newRobot(t, subprotocol)
			var p *peer
			f := follow(t, r.url, live.Options{}, func() {
				p = <-r.peers
				p.greet()
			})
			logType, _ := idf.NewRegistry().Get("foxglove.PoseInFrame")
			p.advertise(
				protocol.Channel{ID: 1, Topic: "/one", Encoding: "ros1", SchemaName: "std_msgs/String", Schema: "string data\n"},
				protocol.Channel{ID: 2, Topic: "/two", Encoding: "cdr", SchemaName: "std_msgs/msg/String", Schema: "string data\n", SchemaEncoding: "ros2msg"},
				protocol.Channel{ID: 3, Topic: "/json", Encoding: "json", SchemaName: "thing", Schema: `{"type":"object"}`},
				protocol.Channel{ID: 4, Topic: "/proto", Encoding: "protobuf", SchemaName: "foxglove.PoseInFrame", Schema: base64.StdEncoding.EncodeToString(logType.Def().Descriptors)},
				protocol.Channel{ID: 5, Topic: "/odd", Encoding: "smoke", SchemaName: "signals"},
				protocol.Channel{ID: 6, Topic: "/broken", Encoding: "protobuf", SchemaName: "a.B", Schema: "no base64!"},
			)
			subs := p.subscribed()
			if len(subs) != 6 {
				t.Fatalf("subscribed to %v", subs)
			}
			pose, err := logType.Encode(map[string]any{"frame_id": "map", "pose": map[string]any{"position": map[string]any{"x": 1.5}}})
			if err != nil {
				t.Fatal(err)
			}
			at := engram.Now()
			p.message(subs[1], at, rosString("hello"))
			p.message(subs[2], at, cdrString("world"))
			p.message(subs[3], at, []byte(`{"a": [1, 2.5]}`))
			p.message(subs[4], at, pose)
			p.message(subs[5], at, []byte("puff"))
			p.message(subs[6], at, []byte("?"))
			for _, want := range []struct{ segment, topic, part string }{
				{"Speech/Text", "/one", "hello"},
				{"Speech/Text", "/two", "world"},
				{"GeneralPurpose/thing", "/json", "[1 2.5]"},
				{"RobotState/Localization", "/proto", "1.5"},
				{"GeneralPurpose/signals", "/odd", "uint8 4 encoding:smoke"},
				{"GeneralPurpose/a.B", "/broken", "uint8 1 encoding:protobuf"},
			} {
				if got := fmt.Sprint(f.has(t, 1, want.segment, want.topic)); !strings.Contains(got, want.part) {
					t.Errorf("%s is %s", want.topic, got)
				}
			}
			if _, times := f.values(t, "Speech/Text", "/one"); times[0] != at {
				t.Errorf("at %v instead of %v", times[0], at)
			}
			// A message of equal time keeps its own place; one without a time has the server's.
			p.message(subs[2], at, cdrString("again"))
			p.write(websocket.MessageBinary, protocol.AppendTime(nil, at.Add(time.Minute)))
			p.message(subs[2], 0, cdrString("without"))
			f.has(t, 3, "Speech/Text", "/two")
			if _, times := f.values(t, "Speech/Text", "/two"); times[1] != at.Add(1) || times[2] != at.Add(time.Minute) {
				t.Errorf("at %v", times)
			}
			// The schema changes under a new number, and under the same one.
			p.say(protocol.Unadvertise{Op: "unadvertise", ChannelIDs: []uint32{3}})
			p.advertise(protocol.Channel{ID: 7, Topic: "/late", Encoding: "cdr", SchemaName: "my_msgs/msg/Thing", Schema: "int32 a"})
			p.message(p.subscribed()[7], at, []byte{0, 1, 0, 0, 7, 0, 0, 0})
			if got := fmt.Sprint(f.has(t, 1, "GeneralPurpose/my_msgs\\/msg\\/Thing", "/late")); !strings.Contains(got, "a:7") {
				t.Errorf("/late is %s", got)
			}
			p.advertise(protocol.Channel{ID: 7, Topic: "/late", Encoding: "cdr", SchemaName: "my_msgs/msg/Thing", Schema: "int32 b"})
			if asked := testkit.Receive(t, p.asked); asked.Op != "unsubscribe" {
				t.Errorf("what stands for something else now is not unsubscribed: %+v", asked)
			}
			p.message(p.subscribed()[7], at, []byte{0, 1, 0, 0, 8, 0, 0, 0})
			testkit.Until(t, func() (string, bool) {
				figures := f.src.Figures()
				return fmt.Sprintf("all to be read: %+v", figures), figures.Messages == 10 && figures.Waiting == 0
			})
			report := f.finish(t)
			if report.Messages != 10 || report.Stored != 10 || report.Refused != 0 || !report.Live || len(report.Loss) != 1 || !strings.Contains(report.Loss[0].String(), "definition") {
				t.Errorf("%+v", report)
			}
			if !f.heard("the schema of /broken is no base64") {
				t.Errorf("told %v", f.told)
			}
			var segments []string
			for _, topic := range report.Topics {
				for _, id := range topic.Targets {
					segments = append(segments, id.String())
				}
			}
			if !strings.Contains(fmt.Sprint(segments), "Thing_") {
				t.Errorf("another definition of the same name went into %v", segments)
			}
			testkit.Receive(t, p.broken)
		})
	}
}

// Where the connection breaks it is made again, the gap is told, and what a server sends
// again as it is subscribed to anew is not doubled.
func TestReconnect(t *testing.T) {
	r := newRobot(t, protocol.Subprotocols...)
	var p *peer
	f := follow(t, r.url, live.Options{}, func() {
		p = <-r.peers
		p.greet()
	})
	channel := protocol.Channel{ID: 1, Topic: "/t", Encoding: "ros1", SchemaName: "std_msgs/String", Schema: "string data"}
	p.advertise(channel)
	at := engram.Now()
	p.message(p.subscribed()[1], at, rosString("one"))
	f.has(t, 1, "Speech/Text", "/t")
	p.hangUp()
	p = testkit.Receive(t, r.peers)
	p.greet()
	channel.ID = 9
	p.advertise(channel)
	sub := p.subscribed()[9]
	p.message(sub, at, rosString("one"))
	p.message(sub, at.Add(time.Second), rosString("two"))
	f.has(t, 2, "Speech/Text", "/t")
	report := f.finish(t)
	if report.Stored != 2 || len(report.Loss) != 1 || !report.Loss[0].HasSpan || !strings.Contains(report.LossSummary(), "no connection") {
		t.Errorf("%+v", report)
	}
	if !f.heard("the connection broke") || !f.heard("connected again") {
		t.Errorf("told %v", f.told)
	}
}

// Whatever is no message of the protocol is told once, counted, and costs nothing else.
func TestBadFrames(t *testing.T) {
	r := newRobot(t, protocol.Subprotocols...)
	var p *peer
	f := follow(t, r.url, live.Options{}, func() {
		p = <-r.peers
		p.greet()
	})
	for range 2 {
		p.write(websocket.MessageText, []byte(`{"op":`))
		p.write(websocket.MessageText, []byte(`{"op": "advertise", "channels": [{"id": -1}]}`))
		p.write(websocket.MessageText, []byte(`{"op": "what comes next year"}`))
		p.write(websocket.MessageBinary, nil)
		p.write(websocket.MessageBinary, []byte{1, 2})
		p.write(websocket.MessageBinary, []byte{2, 2})
		p.write(websocket.MessageBinary, []byte{77})
		p.write(websocket.MessageBinary, protocol.AppendMessage(nil, 5, 1, nil))
	}
	p.say(protocol.Status{Op: "status", Level: protocol.LevelWarning, Message: "send buffer limit reached"})
	p.say(protocol.Status{Op: "status", Level: protocol.LevelInfo, Message: "nothing of interest"})
	p.advertise(protocol.Channel{ID: 1, Topic: "/t", Encoding: "ros1", SchemaName: "std_msgs/String", Schema: "string data"})
	p.message(p.subscribed()[1], engram.Now(), rosString("fine"))
	f.has(t, 1, "Speech/Text", "/t")
	report := f.finish(t)
	if report.Stored != 1 || len(report.Loss) != 1 || report.Loss[0].Messages != 14 {
		t.Errorf("%+v", report.Loss)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) != 8 || f.told[7] != "the server says: send buffer limit reached" {
		t.Errorf("told %q", f.told)
	}
}

// Channels that nobody wants are not subscribed to.
func TestWanted(t *testing.T) {
	r := newRobot(t, protocol.Subprotocols...)
	var p *peer
	f := follow(t, r.url, live.Options{Wanted: func(topic, typ string) bool { return topic == "/b" && typ == "x" }}, func() {
		p = <-r.peers
		p.greet()
	})
	p.advertise(protocol.Channel{ID: 1, Topic: "/a", Encoding: "json", SchemaName: "x"}, protocol.Channel{ID: 2, Topic: "/b", Encoding: "json", SchemaName: "x"})
	if subs := p.subscribed(); len(subs) != 1 || subs[2] == 0 {
		t.Errorf("subscribed to %v", subs)
	}
	f.finish(t)
}

// Descriptions of robots among the parameters are told, and again when they change.
func TestDescription(t *testing.T) {
	r := newRobot(t, protocol.Subprotocols...)
	got := make(chan string, 10)
	var p *peer
	f := follow(t, r.url, live.Options{Described: func(parameter, urdf string) { got <- parameter + " " + urdf }}, func() {
		p = <-r.peers
		p.greet("parameters", "parametersSubscribe")
	})
	if asked := testkit.Receive(t, p.asked); asked.Op != "getParameters" || len(asked.ParameterNames) != 0 {
		t.Fatalf("%+v", asked)
	}
	name := "/robot_state_publisher.robot_description"
	say := func(id string, values ...protocol.Parameter) {
		p.say(protocol.ParameterValues{Op: "parameterValues", Parameters: values, ID: id})
	}
	say("all", protocol.Parameter{Name: "/use_sim_time", Value: true}, protocol.Parameter{Name: name, Value: "<robot name='a'/>"}, protocol.Parameter{Name: "/empty/robot_description", Value: ""})
	if text := testkit.Receive(t, got); text != name+" <robot name='a'/>" {
		t.Error(text)
	}
	if asked := testkit.Receive(t, p.asked); asked.Op != "subscribeParameterUpdates" || !reflect.DeepEqual(asked.ParameterNames, []string{name}) {
		t.Fatalf("%+v", asked)
	}
	say("", protocol.Parameter{Name: name, Value: "<robot name='a'/>"})
	say("", protocol.Parameter{Name: name, Value: "<robot name='b'/>"})
	if text := testkit.Receive(t, got); text != name+" <robot name='b'/>" {
		t.Error(text)
	}
	f.finish(t)
}

// An address that leads nowhere is told with what to do.
func TestDial(t *testing.T) {
	serve := func(h http.HandlerFunc) string {
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		return "ws" + strings.TrimPrefix(web.URL, "http")
	}
	accept := func(first string, subprotocols ...string) string {
		return serve(func(w http.ResponseWriter, r *http.Request) {
			if conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: subprotocols}); err == nil {
				_ = conn.Write(r.Context(), websocket.MessageText, []byte(first))
				_, _, _ = conn.Read(r.Context()) // until it leaves
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		address, words string
		code           engram.Code
	}{
		{"robot:8765", "ws://robot:8765", engram.Invalid},
		{"http://robot:8765", "ws://robot:8765", engram.Invalid},
		{"ws://", "ws://robot:8765", engram.Invalid},
		{"ws" + strings.TrimPrefix(gone.URL, "http"), "is foxglove_bridge running there?", engram.Unavailable},
		{serve(http.NotFound), "something else", engram.Invalid},
		{serve(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusForbidden) }), "admits only others", engram.Forbidden},
		{accept(`{"op":"serverInfo"}`), "rosbridge is another protocol", engram.Invalid},
		{accept(`{"op":"hello"}`, protocol.SDK), "does not greet", engram.Invalid},
	} {
		_, err := live.Dial(t.Context(), c.address, live.Options{})
		if engram.CodeOf(err) != c.code || err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
	r := newRobot(t, protocol.SDK)
	go func() { (<-r.peers).greet() }()
	u, err := url.Parse(r.url + "/?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", "secret")
	s, err := live.Dial(t.Context(), u.String(), live.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if strings.Contains(s.Address(), "secret") {
		t.Errorf("%s tells a secret", s.Address())
	}
}

// What an Engram server's door shows is the same in the memory that ingests it, as it is and
// as ROS 2 has it.
func TestFromAnotherMemory(t *testing.T) {
	t.Run("protobuf", func(t *testing.T) {
		fromAnotherMemory(t, "", "GeneralPurpose/engram.robot_state.Localization", func(v any) any { return v })
	})
	t.Run("cdr", func(t *testing.T) {
		fromAnotherMemory(t, "?encoding=cdr", `GeneralPurpose/engram_robot_state\/msg\/Localization`, func(v any) any {
			all := v.(map[string]any)
			return []any{all["timestamp"], all["parent_frame_id"], all["child_frame_id"], all["translation"], all["rotation"]}
		})
	})
}

// fromAnotherMemory ingests from a door that is asked for an encoding, and compares what of
// says of the values.
func fromAnotherMemory(t *testing.T, query, segment string, of func(any) any) {
	from := serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
	web := httptest.NewServer(foxglove.New(from, foxglove.Options{Log: testkit.Quiet}))
	defer web.Close()
	f := follow(t, "ws"+strings.TrimPrefix(web.URL, "http")+"/"+query, live.Options{}, func() {})
	typ, _ := memories.Type("engram.robot_state.Localization")
	start := engram.Now()
	const n = 50
	for i := range n {
		at := start.Add(time.Duration(i) * time.Millisecond)
		b, err := typ.Encode(map[string]any{"timestamp": at, "parent_frame_id": "map", "child_frame_id": "base", "translation": map[string]any{"x": float64(i)}, "rotation": map[string]any{"w": 1.0}})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Commit(t, from, engram.EntityUpdate{Entity: engram.MustID("RobotState/Localization/Test/map,base"), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})}})
	}
	topic := "RobotState/Localization/Test/map,base"
	// The first is subscribed to once it is there: what came before that is not live.
	testkit.Until(t, func() (string, bool) {
		_, times := f.values(t, segment, topic)
		return fmt.Sprint(len(times), " of them"), len(times) > 0 && times[len(times)-1] == start.Add((n-1)*time.Millisecond)
	})
	values, times := f.values(t, segment, topic)
	for i, v := range values {
		r, err := from.AtOrBefore(t.Context(), engram.MustID(topic), times[i])
		if err != nil {
			t.Fatal(err)
		}
		if want := decode(t, typ.Def(), r.Instances[0].Payload.Bytes); r.Time != times[i] || !reflect.DeepEqual(of(v), of(want)) {
			t.Errorf("%v at %v is %v at %v there", v, times[i], want, r.Time)
		}
	}
	f.finish(t)
}
