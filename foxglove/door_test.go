package foxglove_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/access"
	"github.com/seed-301d4374/engram/feature"
	"github.com/seed-301d4374/engram/foxglove"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/transport/rpc"
)

const (
	sdk = "foxglove.sdk.v1"
	old = "foxglove.websocket.v1"
)

// open serves a door and returns its address.
func open(t *testing.T, svc feature.Server, o foxglove.Options) string {
	t.Helper()
	o.Log = testkit.Quiet
	web := httptest.NewServer(foxglove.New(svc, o))
	t.Cleanup(web.Close)
	return "ws" + strings.TrimPrefix(web.URL, "http")
}

func memory(t *testing.T) *server.Server {
	return serving.NewOf(t, server.Config{Memories: memories.All(), Log: testkit.Quiet})
}

// viewer is a client of the protocol.
type viewer struct {
	*testing.T
	conn     *websocket.Conn
	channels map[string]channel // by topic
	messages map[uint32][]message
	texts    []text
	states   []state
	time     uint64
}

type channel struct {
	ID                                                  uint32
	Topic, Encoding, SchemaName, Schema, SchemaEncoding string
}

type message struct {
	time engram.Time
	data []byte
}

type text struct {
	Op           string
	Name         string
	SessionID    string
	Capabilities []string
	Level        int
	Message      string
	Channels     []channel
	ChannelIDs   []uint32
	Services     []struct {
		ID   uint32
		Name string
	}
	Parameters []struct {
		Name  string
		Value any
	}
	RemovedTopics   []string
	PublishedTopics []struct {
		Name         string
		PublisherIDs []string `json:"publisherIds"`
	}
	DataStartTime, DataEndTime *struct{ Sec, Nsec int64 }
}

type state struct {
	status  uint8
	now     engram.Time
	speed   float32
	sought  bool
	request string
}

// look connects to a door.
func look(t *testing.T, url string, protocols ...string) *viewer {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: protocols})
	if err != nil {
		if response != nil {
			t.Fatal(err, response.Status)
		}
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 30)
	t.Cleanup(func() { conn.CloseNow() })
	v := &viewer{T: t, conn: conn, channels: map[string]channel{}, messages: map[uint32][]message{}}
	v.until("the services", func() bool { return v.last("advertiseServices") != nil })
	return v
}

// until reads messages until is holds.
func (v *viewer) until(what string, is func() bool) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.Context(), time.Minute) // for a test that fails
	defer cancel()
	for !is() {
		if err := v.read(ctx); err != nil {
			v.Fatalf("waiting for %s: %v\nheard %+v", what, err, v.texts)
		}
	}
}

func (v *viewer) read(ctx context.Context) error {
	kind, b, err := v.conn.Read(ctx)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if kind == websocket.MessageText {
		var m text
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		v.texts = append(v.texts, m)
		for topic, c := range v.channels {
			if slices.Contains(m.ChannelIDs, c.ID) {
				delete(v.channels, topic)
			}
		}
		for _, c := range m.Channels {
			if _, twice := v.channels[c.Topic]; twice {
				return errors.New("two channels have the topic " + c.Topic)
			}
			v.channels[c.Topic] = c
		}
		return nil
	}
	switch b[0] {
	case 1:
		sub := le.Uint32(b[1:])
		v.messages[sub] = append(v.messages[sub], message{engram.Time(le.Uint64(b[5:])), slices.Clone(b[13:])})
	case 2:
		if now := le.Uint64(b[1:]); now < v.time {
			return fmt.Errorf("the time goes back from %d to %d", v.time, now)
		} else {
			v.time = now
		}
	case 3:
		n := le.Uint32(b[9:])
		v.texts = append(v.texts, text{Op: "answer", Name: string(b[13 : 13+n]), Message: string(b[13+n:])})
	case 4:
		n := le.Uint32(b[6:])
		v.texts = append(v.texts, text{Op: "asset", Level: int(b[5]), Name: string(b[10 : 10+n]), Message: string(b[10+n:])})
	case 5:
		v.states = append(v.states, state{b[1], engram.Time(le.Uint64(b[2:])), math.Float32frombits(le.Uint32(b[10:])), b[14] == 1, string(b[19:])})
	}
	return nil
}

// last returns the newest text message of an operation.
func (v *viewer) last(op string) *text {
	for i := len(v.texts) - 1; i >= 0; i-- {
		if v.texts[i].Op == op {
			return &v.texts[i]
		}
	}
	return nil
}

func (v *viewer) say(m any) {
	v.Helper()
	b, err := json.Marshal(m)
	if err == nil {
		err = v.conn.Write(v.Context(), websocket.MessageText, b)
	}
	if err != nil {
		v.Fatal(err)
	}
}

func (v *viewer) sayBytes(parts ...[]byte) {
	v.Helper()
	if err := v.conn.Write(v.Context(), websocket.MessageBinary, slices.Concat(parts...)); err != nil {
		v.Fatal(err)
	}
}

func u32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

type m = map[string]any

// subscribe subscribes to a topic, whose channel it waits for, by a number.
func (v *viewer) subscribe(sub uint32, topic string) {
	v.Helper()
	v.until("channel "+topic, func() bool { _, ok := v.channels[topic]; return ok })
	v.say(m{"op": "subscribe", "subscriptions": []m{{"id": sub, "channelId": v.channels[topic].ID}}})
}

// refused waits for a status that says something.
func (v *viewer) refused(words string) {
	v.Helper()
	v.until("a status with "+words, func() bool {
		return slices.ContainsFunc(v.texts, func(x text) bool {
			return (x.Op == "status" || x.Op == "serviceCallFailure") && strings.Contains(x.Message, words)
		})
	})
	v.texts = nil
}

// spoken is an update of what was said.
func spoken(t testing.TB, entity string, at engram.Time, words string) engram.EntityUpdate {
	return encoded(t, "Speech/Text/Test/"+entity, at, "engram.speech.Text", m{"timestamp": at, "text": words, "speaker": "somebody"})
}

func encoded(t testing.TB, entity string, at engram.Time, typ string, v m) engram.EntityUpdate {
	t.Helper()
	known, ok := memories.Type(typ)
	if !ok {
		t.Fatal("there is no type " + typ)
	}
	b, err := known.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ, Bytes: b})}}
}

// A viewer gets what holds as it subscribes, then each update once, in order, and hears of
// entities that are new.
func TestLive(t *testing.T) {
	srv := memory(t)
	begun := engram.Now()
	start := begun
	testkit.Commit(t, srv, spoken(t, "a", start, "one"))
	for _, protocol := range []string{sdk, old} {
		v := look(t, open(t, srv, foxglove.Options{Name: "Test"}), protocol)
		info := v.texts[0]
		if info.Op != "serverInfo" || info.Name != "Test" || info.SessionID == "" || !slices.Contains(info.Capabilities, "time") || slices.Contains(info.Capabilities, "playbackControl") {
			t.Fatalf("greeted with %+v", info)
		}
		v.subscribe(7, "Speech/Text/Test/a")
		v.subscribe(8, "/speech")
		v.until("what holds", func() bool { return len(v.messages[7]) == 1 && len(v.messages[8]) >= 1 })
		for i := range 20 {
			testkit.Commit(t, srv, spoken(t, "a", start.Add(time.Duration(i+1)), fmt.Sprint("more ", i)))
		}
		var line foxglovepb.Log
		v.until("all updates", func() bool {
			lines := v.messages[8]
			return len(v.messages[7]) >= 21 && proto.Unmarshal(lines[len(lines)-1].data, &line) == nil && line.GetMessage() == "more 19"
		})
		for i, got := range v.messages[7] {
			if want := start.Add(time.Duration(i)); got.time != want {
				t.Fatalf("message %d is of %v instead of %v", i, got.time, want)
			}
		}
		if line.GetName() != "somebody" {
			t.Fatal(&line)
		}
		if v.time < uint64(begun) {
			t.Fatal("the viewer was not told the time")
		}
		v.say(m{"op": "unsubscribe", "subscriptionIds": []int{7}})
		testkit.Commit(t, srv, spoken(t, "new "+protocol, start, "hello"))
		v.subscribe(9, "Speech/Text/Test/new "+protocol)
		v.until("what is new", func() bool { return len(v.messages[9]) == 1 })
		if len(v.messages[7]) != 21 {
			t.Fatalf("%d messages came of a subscription that was ended", len(v.messages[7])-21)
		}
		start = start.Add(time.Second)
		testkit.Commit(t, srv, spoken(t, "a", start, "one"))
	}
}

// The channels of a segment that is removed are taken back; what is written there later has
// new ones, and the others go on.
func TestRemoval(t *testing.T) {
	srv := memory(t)
	now := engram.Now()
	other := spoken(t, "b", now, "here")
	other.Entity = engram.MustID("Speech/Text/Other/b")
	scan := func(at engram.Time) engram.EntityUpdate {
		return encoded(t, "Vision/LaserScan/Test/front", at, "engram.vision.LaserScan", m{"timestamp": at, "ranges": []any{1.0}})
	}
	testkit.Commit(t, srv, spoken(t, "a", now, "hello"), other, scan(now))
	v := look(t, open(t, srv, foxglove.Options{}), sdk)
	v.say(m{"op": "subscribeConnectionGraph"})
	v.subscribe(1, "Speech/Text/Test/a")
	v.subscribe(2, "Speech/Text/Other/b")
	v.subscribe(3, "/scan/Test/front")
	v.until("what holds", func() bool { return len(v.messages[1]) == 1 && len(v.messages[2]) == 1 && len(v.messages[3]) == 1 })
	before := v.channels["Speech/Text/Test/a"].ID
	for _, id := range []string{"Speech/Text/Test", "Vision/LaserScan"} {
		if err := srv.RemoveSegment(t.Context(), engram.MustID(id)); err != nil {
			t.Fatal(err)
		}
	}
	v.until("that they are taken back", func() bool {
		g := v.last("connectionGraphUpdate")
		return g != nil && slices.Contains(g.RemovedTopics, "/scan/Test/front")
	})
	for topic, there := range map[string]bool{
		"Speech/Text/Test/a": false, "Vision/LaserScan/Test/front": false, "/scan/Test/front": false, "Speech/Text/Other/b": true, "/speech": true,
	} {
		if _, ok := v.channels[topic]; ok != there {
			t.Errorf("that there is a channel %s is %v", topic, ok)
		}
	}
	other.Time = now.Add(1)
	testkit.Commit(t, srv, spoken(t, "a", now.Add(time.Second), "again"), other)
	v.subscribe(1, "Speech/Text/Test/a")
	v.until("what is new", func() bool { return len(v.messages[1]) == 2 && len(v.messages[2]) == 2 })
	if v.channels["Speech/Text/Test/a"].ID == before {
		t.Error("the new channel has the number of the old one")
	}
}

// Each schema can be read by itself, and names the type of the channel.
func TestSchemas(t *testing.T) {
	srv := memory(t)
	now := engram.Now()
	testkit.Commit(t, srv, spoken(t, "a", now, "hello"),
		encoded(t, "World/Item/Test/table", now, "engram.world.Item", m{"source": "Perception"}),
		encoded(t, "Navigation/Plan/Test/rover", now, "engram.navigation.Plan", m{"frame_id": "map"}))
	v := look(t, open(t, srv, foxglove.Options{}), sdk)
	for _, topic := range []string{"/speech", "/world", "/plans", "/tf", "World/Item/Test/table"} {
		if _, ok := v.channels[topic]; !ok {
			t.Errorf("there is no channel %s", topic)
		}
	}
	for topic, c := range v.channels {
		b, err := base64.StdEncoding.DecodeString(c.Schema)
		var set descriptorpb.FileDescriptorSet
		if err == nil {
			err = proto.Unmarshal(b, &set)
		}
		files, err2 := protodesc.NewFiles(&set)
		if err = errors.Join(err, err2); err != nil || c.Encoding != "protobuf" || c.SchemaEncoding != "protobuf" {
			t.Errorf("%s: %s %s %v", topic, c.Encoding, c.SchemaEncoding, err)
			continue
		}
		found := false
		for _, f := range set.GetFile() {
			for _, x := range f.GetMessageType() {
				found = found || f.GetPackage()+"."+x.GetName() == c.SchemaName
			}
		}
		if !found {
			t.Errorf("%s: its schema of %d files has no %s", topic, files.NumFiles(), c.SchemaName)
		}
	}
}

// The transform tree comes as it holds, then what changes; the world, with boxes.
func TestScene(t *testing.T) {
	srv := memory(t)
	now := engram.Now()
	edge := func(at engram.Time, x float64) engram.EntityUpdate {
		return encoded(t, "RobotState/Localization/Test/map,base", at, "engram.robot_state.Localization", m{
			"timestamp": at, "parent_frame_id": "map", "child_frame_id": "base",
			"translation": m{"x": x}, "rotation": m{"w": 1.0},
		})
	}
	item := func(at engram.Time, x float64) engram.EntityUpdate {
		return encoded(t, "World/Item/Test/table", at, "engram.world.Item", m{
			"source": "Perception", "placement": m{"frame_id": "map", "pose": m{"position": m{"x": x}, "orientation": m{"w": 1.0}}},
			"description": m{"kinds": []any{"object"}, "label": "the table", "oobb": m{"pose": m{"orientation": m{"w": 1.0}}, "size": m{"x": 1.0, "y": 2.0, "z": 0.7}}},
		})
	}
	testkit.Commit(t, srv, edge(now, 1), item(now, 3))
	v := look(t, open(t, srv, foxglove.Options{}), sdk)
	v.subscribe(1, "/tf")
	v.subscribe(2, "/world")
	at := func(sub uint32, of string) (x float64, known bool) {
		for _, got := range v.messages[sub] {
			var tf foxglovepb.FrameTransforms
			var scene foxglovepb.SceneUpdate
			if sub == 1 && proto.Unmarshal(got.data, &tf) == nil {
				for _, f := range tf.GetTransforms() {
					if strings.HasSuffix(f.GetChildFrameId(), of) {
						x, known = f.GetTranslation().GetX(), true
					}
				}
			}
			if sub == 2 && proto.Unmarshal(got.data, &scene) == nil {
				for _, e := range scene.GetEntities() {
					if e.GetId() == of && len(e.GetCubes()) == 1 && e.GetTexts()[0].GetText() == "the table" {
						x, known = e.GetCubes()[0].GetPose().GetPosition().GetX(), true
					}
				}
			}
		}
		return x, known
	}
	v.until("the pose of base", func() bool { x, ok := at(1, "base"); return ok && x == 1 })
	v.until("the table", func() bool { x, ok := at(2, "table"); return ok && x == 3 })
	testkit.Commit(t, srv, edge(now.Add(time.Second), 2), item(now.Add(time.Second), 4))
	v.until("the new pose of base", func() bool { x, _ := at(1, "base"); return x == 2 })
	v.until("the table that was moved", func() bool { x, _ := at(2, "table"); return x == 4 })
}

// Whoever may read only a part of the memory sees only that, and writes nothing.
func TestRights(t *testing.T) {
	srv := memory(t)
	rules := serving.Rules(t, "rules: [{allow: [read, subscribe], to: somebody, on: 'Speech/*'}]")
	now := engram.Now()
	testkit.Commit(t, srv, spoken(t, "a", now, "hello"), encoded(t, "World/Item/Test/table", now, "engram.world.Item", m{"source": "Perception"}))
	door := foxglove.New(feature.Guard(srv, rules), foxglove.Options{Log: testkit.Quiet})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door.ServeHTTP(w, r.WithContext(access.WithIdentity(r.Context(), "somebody")))
	}))
	t.Cleanup(web.Close)
	v := look(t, "ws"+strings.TrimPrefix(web.URL, "http"), sdk)
	testkit.Commit(t, srv, encoded(t, "World/Item/Test/chair", now, "engram.world.Item", m{"source": "Perception"}), spoken(t, "b", now, "there"))
	v.subscribe(1, "Speech/Text/Test/b")
	v.until("what may be read", func() bool { return len(v.messages[1]) == 1 })
	for topic := range v.channels {
		if !strings.HasPrefix(topic, "Speech/") && topic != "/speech" {
			t.Errorf("somebody who may read only Speech sees %s", topic)
		}
	}
	v.say(m{"op": "advertise", "channels": []m{{"id": 1, "topic": "Speech/Text/Test/c", "encoding": "json", "schemaName": "engram.speech.Text"}}})
	v.sayBytes([]byte{1}, u32(1), []byte(`{"text":"I may not"}`))
	v.refused("not written")
}

// What a viewer publishes is committed; what cannot be is refused with the reason.
func TestPublish(t *testing.T) {
	srv := memory(t)
	v := look(t, open(t, srv, foxglove.Options{}), old)
	publish := func(id uint32, topic, encoding, schema, payload string) {
		v.say(m{"op": "advertise", "channels": []m{{"id": id, "topic": topic, "encoding": encoding, "schemaName": schema}}})
		v.sayBytes([]byte{1}, u32(id), []byte(payload))
	}
	publish(1, "/Speech/Text/Studio/me", "json", "", `{"text":"hello"}`)
	v.until("the entity", func() bool { _, ok := v.channels["Speech/Text/Studio/me"]; return ok })
	newest, err := srv.Latest(t.Context(), engram.MustID("Speech/Text/Studio/me"))
	if err != nil || newest.Instances[0].Payload.Type != "engram.speech.Text" {
		t.Fatal(newest, err)
	}
	publish(2, "/cmd_vel", "json", "geometry_msgs/Twist", `{}`)
	v.refused("the topic must be its ID")
	publish(3, "Speech/Text/Studio/me", "cdr", "x", `{}`)
	v.refused(`not as "cdr"`)
	publish(4, "Speech/Text/Studio/me", "json", "engram.speech.Text", `{"word":"hello"}`)
	v.refused("word")
	publish(5, "No/Such/Segment/x", "json", "", `{}`)
	v.refused("No/Such")
	publish(1, "Speech/Text/Studio/me", "json", "", `{}`)
	v.refused("is taken")
	v.sayBytes([]byte{1}, u32(99))
	v.refused("was not advertised")
}

// Services are the calls of the API; parameters the robot's description.
func TestServicesAndParameters(t *testing.T) {
	srv := memory(t)
	now := engram.Now()
	testkit.Commit(t, srv, spoken(t, "a", now, "hello"), encoded(t, "RobotState/Description/Test/rover", now, "engram.robot_state.Description", m{"name": "rover", "urdf": "<robot name='1'><link name='base'/></robot>"}))
	h := rpc.NewHandler(srv, nil, rpc.Options{Viewers: func(svc feature.Server, calls *rpc.Calls) http.Handler {
		return foxglove.New(svc, foxglove.Options{API: calls, Admit: calls.Admit, Log: testkit.Quiet})
	}, MaxSubscriptions: 1})
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	url := "ws" + strings.TrimPrefix(web.URL, "http")
	v := look(t, url, sdk)
	if _, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{sdk}}); err == nil {
		t.Error("there are more sessions than subscriptions")
	}
	query := uint32(0)
	for _, s := range v.last("advertiseServices").Services {
		if s.Name == "/engram.v1.MemoryService/Query" {
			query = s.ID
		}
		if strings.HasSuffix(s.Name, "/Subscribe") {
			t.Error("a stream is offered as a service")
		}
	}
	call := func(service uint32, encoding, payload string) {
		v.sayBytes([]byte{2}, u32(service), u32(5), u32(uint32(len(encoding))), []byte(encoding), []byte(payload))
	}
	call(query, "json", `{"pattern": "Speech/Text/Test/*", "snapshots": [{"latest": 1}], "json": true}`)
	v.until("the answer", func() bool { return v.last("answer") != nil || v.last("serviceCallFailure") != nil })
	if a := v.last("answer"); a == nil || a.Name != "json" || !strings.Contains(a.Message, `"text":"hello"`) {
		t.Fatalf("%+v", v.texts)
	}
	call(query, "json", `{"nonsense":1}`)
	v.refused("nonsense")
	call(query, "ros1", ``)
	v.refused("called with json")
	call(9999, "json", `{}`)
	v.refused("no service 9999")
	v.say(m{"op": "getParameters", "parameterNames": []string{"/robot_description", "/nothing"}, "id": "x"})
	v.until("parameters", func() bool { return v.last("parameterValues") != nil })
	if p := v.last("parameterValues").Parameters; len(p) != 2 || p[0].Value != "<robot name='1'><link name='base'/></robot>" || p[1].Value != nil {
		t.Fatalf("%+v", p)
	}
	v.say(m{"op": "subscribeParameterUpdates", "parameterNames": []string{"/rover/robot_description"}})
	v.say(m{"op": "setParameters", "parameters": []m{{"name": "a", "value": 1}}})
	v.refused("read only")
	testkit.Commit(t, srv, encoded(t, "RobotState/Description/Test/rover", now.Add(1), "engram.robot_state.Description", m{"name": "rover", "urdf": "<robot name='2'><link name='base'/></robot>"}))
	v.until("the new description", func() bool {
		p := v.last("parameterValues")
		return p != nil && p.Parameters[0].Value == "<robot name='2'><link name='base'/></robot>"
	})
	v.say(m{"op": "subscribeConnectionGraph"})
	v.until("the graph", func() bool { return v.last("connectionGraphUpdate") != nil })
	if g := v.last("connectionGraphUpdate").PublishedTopics; !slices.ContainsFunc(g, func(p struct {
		Name         string
		PublisherIDs []string `json:"publisherIds"`
	}) bool {
		return p.Name == "Speech/Text/Test/a" && slices.Equal(p.PublisherIDs, []string{"Speech/Text/Test"})
	}) {
		t.Fatalf("%+v", g)
	}
}

// Files are given from below the folders of assets only.
func TestAssets(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "in"), filepath.Join(dir, "secret")
	write := func(path string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("solid hand"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(inside, "arm", "hand.stl"))
	write(outside)
	if err := os.Symlink(outside, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	v := look(t, open(t, memory(t), foxglove.Options{Assets: []string{t.TempDir(), inside}}), sdk)
	fetch := func(uri string) text {
		v.texts = nil
		v.say(m{"op": "fetchAsset", "uri": uri, "requestId": 3})
		v.until("the asset", func() bool { return v.last("asset") != nil })
		return *v.last("asset")
	}
	if a := fetch("package://arm/hand.stl"); a.Level != 0 || a.Message != "solid hand" {
		t.Errorf("%+v", a)
	}
	for _, uri := range []string{"package://../secret", "package://arm/../../secret", "package://link", "package://arm", "package:///etc/passwd", "file:///etc/passwd", "http://localhost/", "package://", ""} {
		if a := fetch(uri); a.Level == 0 || a.Name == "" {
			t.Errorf("%s was given: %+v", uri, a)
		}
	}
}

// History is played as the viewer's bar says: what held where it seeks, then what followed,
// each once, up to the end.
func TestHistory(t *testing.T) {
	srv := memory(t)
	start := engram.Now().Add(-10 * time.Second)
	for i := range 100 {
		testkit.Commit(t, srv, spoken(t, "a", start.Add(time.Duration(i)*10*time.Millisecond), fmt.Sprint(i)))
	}
	// What came late is played at its time, too: it has an earlier number than what holds there.
	for _, ms := range []int{600, 200} {
		testkit.Commit(t, srv, spoken(t, "late", start.Add(time.Duration(ms)*time.Millisecond), fmt.Sprint(ms)))
	}
	end := start.Add(time.Second)
	url := open(t, srv, foxglove.Options{})
	v := look(t, fmt.Sprintf("%s/?from=%d&to=%d", url, int64(start), int64(end)), sdk)
	if info := v.texts[0]; !slices.Contains(info.Capabilities, "playbackControl") || info.DataStartTime == nil || info.DataStartTime.Sec != int64(start)/1e9 || info.DataEndTime.Nsec != int64(end)%1e9 {
		t.Fatalf("%+v", info)
	}
	v.subscribe(1, "Speech/Text/Test/a")
	v.subscribe(2, "Speech/Text/Test/late")
	v.until("the first", func() bool { return len(v.messages[1]) == 1 })
	control := func(command byte, speed float32, seek *engram.Time, request string) {
		b := append([]byte{3, command}, u32(math.Float32bits(speed))...)
		if seek != nil {
			b = append(append(b, 1), u64(uint64(*seek))...)
		} else {
			b = append(append(b, 0), u64(0)...)
		}
		v.sayBytes(b, u32(uint32(len(request))), []byte(request))
	}
	to := start.Add(505 * time.Millisecond)
	control(1, 1, &to, "seek")
	v.until("that it sought", func() bool { return len(v.states) == 1 })
	if s := v.states[0]; s.status != 1 || s.now != to || !s.sought || s.request != "seek" {
		t.Fatalf("%+v", s)
	}
	v.until("what held there", func() bool { return len(v.messages[1]) == 2 })
	if got := v.messages[1][1].time; got != start.Add(500*time.Millisecond) {
		t.Fatalf("at %v holds what is of %v", to, got)
	}
	control(0, 4, nil, "play")
	v.until("the end", func() bool { return v.states[len(v.states)-1].status == 3 })
	if s := v.states[1]; s.status != 0 || s.speed != 4 || s.request != "play" {
		t.Fatalf("%+v", s)
	}
	for i, got := range v.messages[1][2:] {
		if want := start.Add(time.Duration(51+i) * 10 * time.Millisecond); got.time != want {
			t.Fatalf("message %d is of %v instead of %v", i, got.time, want)
		}
	}
	if n := len(v.messages[1]); n != 51 {
		t.Fatalf("%d messages instead of 51", n)
	}
	if late := v.messages[2]; len(late) != 2 || late[0].time != start.Add(200*time.Millisecond) || late[1].time != start.Add(600*time.Millisecond) {
		t.Errorf("of what came late: %v", late)
	}
	// A viewer without a bar sees it played.
	w := look(t, fmt.Sprintf("%s/?from=%d&to=%d", url, int64(start), int64(end)), old)
	w.subscribe(1, "Speech/Text/Test/a")
	w.until("the last", func() bool {
		n := len(w.messages[1])
		return n > 0 && w.messages[1][n-1].time == start.Add(990*time.Millisecond)
	})
}

func TestAddresses(t *testing.T) {
	url := open(t, memory(t), foxglove.Options{})
	for _, q := range []string{"pattern=a/b/c/d/e", "from=yesterdayish", "to=2026-11-26T15:00:00Z", "from=2026-11-26T15:00:00Z&to=2026-11-26T14:00:00Z", "from=2026-11-26T15:00:00Z&to=2026-11-26T15:00:00Z"} {
		_, r, err := websocket.Dial(t.Context(), url+"/?"+q, &websocket.DialOptions{Subprotocols: []string{sdk}})
		if err == nil || r == nil || r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %v %v", q, r, err)
		}
	}
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("without a version of the protocol: %v", err)
	}
}

// A session has a limit of channels, and patterns narrow it.
func TestManyEntities(t *testing.T) {
	srv := memory(t)
	now := engram.Now()
	for i := range 20 {
		testkit.Commit(t, srv, spoken(t, fmt.Sprint("e", i), now, "hello"))
	}
	url := open(t, srv, foxglove.Options{MaxChannels: 10})
	v := look(t, url, sdk)
	v.refused("more than 10 channels")
	if len(v.channels) != 10 {
		t.Errorf("%d channels", len(v.channels))
	}
	w := look(t, url+"/?pattern=Speech/Text/Test/e3", sdk)
	w.subscribe(1, "Speech/Text/Test/e3")
	w.until("it", func() bool { return len(w.messages[1]) == 1 })
	if len(w.channels) != 2 { // and /speech
		t.Errorf("%v", w.channels)
	}
}

// A viewer that takes nothing loses its session, and nobody else waits for it.
func TestStalledViewer(t *testing.T) {
	srv := memory(t)
	ended := make(chan struct{})
	url := open(t, srv, foxglove.Options{
		StallTimeout: 3 * time.Second, // less than a busy machine may take for a greeting would be wrong
		Admit:        func() (func(), error) { return func() { close(ended) }, nil },
	})
	testkit.Commit(t, srv, spoken(t, "a", engram.Now(), "hello"))
	v := look(t, url, sdk)
	v.subscribe(1, "Speech/Text/Test/a")
	long := strings.Repeat("x", 1<<20)
	for at := engram.Now(); ; at++ {
		testkit.Commit(t, srv, spoken(t, "a", at, long))
		select {
		case <-ended:
			return
		default:
		}
	}
}

// Whatever a viewer sends, the server lives, and says what is wrong.
func FuzzViewer(f *testing.F) {
	srv, err := server.New(server.Config{Memories: memories.All(), Log: testkit.Quiet})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = srv.Close() })
	web := httptest.NewServer(foxglove.New(srv, foxglove.Options{Log: testkit.Quiet}))
	f.Cleanup(web.Close)
	for _, b := range [][]byte{
		{}, {1}, {1, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255}, {3, 0, 0, 0, 128, 63, 1, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0}, {9},
	} {
		f.Add(true, b)
	}
	for _, s := range []string{`{`, `null`, `[]`, `{"op":"subscribe","subscriptions":[{"id":1,"channelId":1}]}`, `{"op":"fetchAsset","uri":"package://a"}`, `{"op":"advertise","channels":[{"id":1,"topic":"a/b/c/d","encoding":"json"}]}`, `{"op":"getParameters"}`, `{"op":7}`} {
		f.Add(false, []byte(s))
	}
	f.Fuzz(func(t *testing.T, binary bool, b []byte) {
		conn, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), &websocket.DialOptions{Subprotocols: []string{sdk}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		conn.SetReadLimit(1 << 30)
		kind := websocket.MessageText
		if binary {
			kind = websocket.MessageBinary
		}
		if err := errors.Join(conn.Write(t.Context(), kind, b), conn.Write(t.Context(), websocket.MessageText, []byte(`{"op":"the end"}`))); err != nil {
			t.Fatal(err)
		}
		for {
			_, got, err := conn.Read(t.Context())
			if err != nil {
				t.Fatalf("the session ended: %v", err)
			}
			if strings.Contains(string(got), "the end") {
				return
			}
		}
	})
}
