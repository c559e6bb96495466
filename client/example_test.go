package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
	"github.com/seed-301d4374/engram/node"

	"google.golang.org/protobuf/proto"
)

// second is when the examples' data were true: seconds since 1970.
const second engram.Time = 1e9

// A program connects to the memory that runs on its computer: with 'engram serve' in
// another terminal, the zero Options are right. The address here is that of a server in
// this process.
func ExampleConnect() {
	ctx, address, end := serve()
	defer end()

	m, err := client.Connect(ctx, client.Options{Address: address})
	check(err)
	defer m.Close()
	found, err := m.Describe(ctx, engram.MustPattern("Vision/*"))
	check(err)
	for _, d := range found {
		fmt.Println(d.ID)
	}
	// Output:
	// Vision/ImageDepth
	// Vision/ImageRGB
	// Vision/LaserScan
	// Vision/PointCloud
}

// A commit writes one snapshot of each entity that it names; the answer has one result
// for each.
func ExampleClient_Commit() {
	ctx, m, end := begin()
	defer end()

	text, _ := memories.Type("engram.speech.Text")
	payload, err := text.Encode(map[string]any{"text": "bring me the cup"})
	check(err)
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID("Speech/Text/microphone/user"), Time: 5 * second,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: text.Name(), Bytes: payload})},
	}}})
	check(err)
	check(engram.FirstError(results))
	fmt.Println(results[0].ID)
	// Output: Speech/Text/microphone/user/1970-01-01 00:00:05.000000
}

// A query is a tree shaped like the hierarchy; a pattern makes the usual ones. This one
// asks what each thing was at 2.5 s, and shows one member.
func ExampleClient_Query() {
	ctx, m, end := begin()
	defer end()
	for at := range engram.Time(4) {
		see(ctx, m, "cup", at*second, float64(at))
		see(ctx, m, "bowl", at*second, -1)
	}

	q := engram.MustPattern("Object/Instance/camera/*").Select(engram.AtOrBefore(2*second + second/2))
	q.Where, q.Fields = "pose.position.x > 0.0", []string{"pose.position"}
	result, err := m.Query(ctx, q)
	check(err)
	instance, _ := memories.Type("engram.object.Instance")
	for item := range result.All() {
		for _, in := range item.Snapshot.Instances {
			said, err := instance.Text(in.Payload.Bytes, idf.TextOptions{})
			check(err)
			fmt.Println(item.ID, said)
		}
	}
	// Output: Object/Instance/camera/cup/1970-01-01 00:00:02.000000 pose: {position: (2, 0, 0)}
}

// A subscription begins in the past, if that is wanted, and goes on with what comes.
func ExampleClient_Subscribe() {
	ctx, m, end := begin()
	defer end()
	see(ctx, m, "cup", 1*second, 0)

	updates, err := m.Subscribe(ctx, engram.Subscription{
		Patterns: []engram.Pattern{engram.MustPattern("Object/Instance")},
		Start:    engram.Start{Kind: engram.StartLast, N: 1},
	})
	check(err)
	see(ctx, m, "cup", 2*second, 0.1)
	told := 0
	for u, err := range engram.Updates(ctx, updates) {
		check(err)
		fmt.Println(u.ID)
		if told++; told == 2 {
			break
		}
	}
	// Output:
	// Object/Instance/camera/cup/1970-01-01 00:00:01.000000
	// Object/Instance/camera/cup/1970-01-01 00:00:02.000000
}

// Transforms are committed like everything else; what they say together is asked of the
// poses.
func ExampleClient_Poses() {
	ctx, m, end := begin()
	defer end()
	localization, _ := memories.Type("engram.robot_state.Localization")
	for at := range engram.Time(3) {
		payload, err := localization.Encode(map[string]any{
			"parent_frame_id": "odom", "child_frame_id": "base_link",
			"translation": map[string]any{"x": float64(at)}, "rotation": map[string]any{"w": 1.0},
		})
		check(err)
		put(ctx, m, "RobotState/Localization/rover/odom,base_link", at*second, engram.Payload{Type: localization.Name(), Bytes: payload})
	}

	answers, err := m.Poses(client.PoseMemory).LookUp(ctx, []lookup.Question{
		{Target: "odom", Source: "base_link", Time: second + second/2},
	})
	check(err)
	check(answers[0].Err)
	fmt.Println(answers[0].Target, "<-", answers[0].Source, answers[0].Pose.T)
	// Output: rover/odom <- rover/base_link {1.5 0 0}
}

// A link is an ID in a payload. Links of a result lead to what it was made of.
func Example_links() {
	ctx, m, end := begin()
	defer end()
	raw, err := proto.Marshal(&foxglove.RawImage{Width: 2, Height: 1, Step: 6, Encoding: "rgb8", Data: []byte{255, 0, 0, 0, 0, 255}})
	check(err)
	put(ctx, m, "Vision/ImageRGB/camera/head", 1*second, engram.Payload{Type: "foxglove.RawImage", Bytes: raw})
	see(ctx, m, "cup", 1*second, 0)

	cup, err := m.Latest(ctx, engram.MustID("Object/Instance/camera/cup"))
	check(err)
	instance, _ := memories.Type("engram.object.Instance")
	links, err := instance.Links(cup.Instances[0].Payload.Bytes)
	check(err)
	for _, l := range links {
		image, err := m.AtOrBefore(ctx, l.ID.Truncate(engram.LevelEntity), cup.Time)
		check(err)
		fmt.Println(l.Path, "->", l.ID, image.Instances[0].Payload.Type)
	}
	// Output: source_image -> Vision/ImageRGB/camera/head/1970-01-01 00:00:01.000000/0 foxglove.RawImage
}

// see commits where a thing was seen, with a link to the image.
func see(ctx context.Context, m engram.Service, name string, at engram.Time, x float64) {
	instance, _ := memories.Type("engram.object.Instance")
	payload, err := instance.Encode(map[string]any{
		"timestamp": at, "frame_id": "map", "source_image": engram.MustID("Vision/ImageRGB/camera/head").At(at).Instance(0),
		"pose": map[string]any{"position": map[string]any{"x": x}},
	})
	check(err)
	put(ctx, m, "Object/Instance/camera/"+name, at, engram.Payload{Type: instance.Name(), Bytes: payload})
}

// put commits one instance.
func put(ctx context.Context, m engram.Service, entity string, at engram.Time, p engram.Payload) {
	results, err := m.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)},
	}}})
	check(err)
	check(engram.FirstError(results))
}

// serve runs a memory server in this process until end.
func serve() (ctx context.Context, address string, end func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	n, err := node.New(ctx, node.Config{Memories: memories.All(), Listen: []string{"unix:" + filepath.Join(dir, "s")}})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	return ctx, n.Addresses()[0], func() {
		stop()
		check(errors.Join(<-ended, os.RemoveAll(dir)))
	}
}

// begin connects to a memory server of its own.
func begin() (ctx context.Context, m *client.Client, end func()) {
	ctx, address, stop := serve()
	m, err := client.Connect(ctx, client.Options{Address: address})
	check(err)
	return ctx, m, func() {
		check(m.Close())
		stop()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
