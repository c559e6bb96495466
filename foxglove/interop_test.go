package foxglove_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/ingest/live"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// The client that the protocol's authors publish for JavaScript sees, reads by their schemas,
// fetches and publishes.
func TestTheOfficialClient(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "@foxglove/ws-protocol")
	srv := memory(t)
	now := engram.Now()
	testkit.Commit(t, srv, spoken(t, "a", now, "hello"),
		encoded(t, "RobotState/Localization/Test/map,base", now, "engram.robot_state.Localization", m{
			"timestamp": now, "parent_frame_id": "map", "child_frame_id": "base", "translation": m{"x": 1.5}, "rotation": m{"w": 1.0},
		}),
		encoded(t, "World/Item/Test/table", now, "engram.world.Item", m{
			"source": "Perception", "placement": m{"frame_id": "map", "pose": m{"position": m{"x": 2.5}, "orientation": m{"w": 1.0}}},
			"description": m{"kinds": []any{"object"}, "label": "the table"},
		}))
	cmd := exec.Command(node, "testdata/interop/view.mjs", open(t, srv, foxglove.Options{}), "60", "sub:*", "param", "graph", "asset:package://a",
		`publish:Speech/Text/Studio/me:engram.speech.Text:{"text":"from the studio"}`)
	cmd.Stderr = os.Stderr
	in, out := testkit.StartPiped(t, cmd)
	wanted := map[string]bool{
		"serverInfo": true, "graph": true, "parameters": true, "asset": true, // kinds
		`/speech "hello"`: true, `/tf "translation":{"x":1.5}`: true, `/world "text":"the table"`: true,
		`Speech/Text/Studio/me "from the studio"`: true,
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for len(wanted) > 0 && lines.Scan() {
		var got struct{ Kind, Topic, JSON, Message string }
		if err := json.Unmarshal(lines.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if got.Kind == "unreadable" || got.Kind == "error" {
			t.Errorf("%s", lines.Text())
		}
		delete(wanted, got.Kind)
		for w := range wanted {
			if topic, part, ok := strings.Cut(w, " "); ok && topic == got.Topic && strings.Contains(got.JSON, part) {
				delete(wanted, w)
			}
		}
	}
	in.Close()
	for lines.Scan() { // the rest
	}
	if err := cmd.Wait(); err != nil || len(wanted) > 0 {
		t.Error(fmt.Sprint("missing: ", wanted), err)
	}
}

// The server that the protocol's authors publish for JavaScript is a robot: all that it says
// comes into the memory, with a channel that comes late and one whose schema changes.
func TestTheOfficialServer(t *testing.T) {
	node := testkit.Node(t, "testdata/interop", "@foxglove/ws-protocol")
	cmd := exec.Command(node, "testdata/interop/serve.mjs")
	cmd.Stderr = os.Stderr
	in, out := testkit.StartPiped(t, cmd)
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	srv := memory(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	described, told := make(chan string, 1), make(chan string, 10)
	src, err := live.Dial(ctx, "ws://127.0.0.1:"+strings.TrimSpace(port), live.Options{
		Described: func(parameter, urdf string) { described <- parameter + " " + urdf },
		Tell:      func(text string) { told <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	go func() {
		if got := testkit.Receive(t, told); got != "the server says: that was all" {
			t.Error(got)
		}
		end()
	}()
	report, err := ingest.Follow(ctx, srv, src, src.Address(), ingest.Options{Source: "robot"})
	if err != nil || report.Stored != 105 || report.Lossy() {
		t.Fatalf("%+v %v", report, err)
	}
	if got := testkit.Receive(t, described); got != "/robot_state_publisher.robot_description <robot name='official'/>" {
		t.Error(got)
	}
	for pattern, want := range map[string]int{
		`Speech/Text/robot/\/one`: 2, `Speech/Text/robot/\/two`: 100, `GeneralPurpose/thing/robot/\/json`: 1,
		`GeneralPurpose/my_msgs\/msg\/Thing/robot/\/late`: 1,
	} {
		r, err := srv.Query(t.Context(), engram.SelectID(engram.MustID(pattern), engram.All()))
		if err != nil || len(r.Items()) != want {
			t.Errorf("%s has %d snapshots: %v", pattern, len(r.Items()), err)
		}
	}
}
