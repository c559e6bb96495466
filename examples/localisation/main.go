// Command localisation is the pipeline of figure 19 of the ArMem paper in three processes:
// a camera driver that commits RGB and depth images, a localiser that finds objects in them
// as long as its skill runs, and the memory between them, over sockets.
//
//	go run ./examples/localisation              # all three, for a look
//
// or each in a terminal of its own, with ENGRAM_ADDRESS the same for all:
//
//	go run ./examples/localisation memory
//	go run ./examples/localisation camera
//	go run ./examples/localisation localiser
//	go run ./cmd/engram skill run LocalizeObjects
//
// The camera is rendered, with the truth known; any driver that commits the same images
// and a calibration takes its place.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/examples/localisation/camera"
	"github.com/seed-301d4374/engram/examples/localisation/knowledge"
	"github.com/seed-301d4374/engram/examples/localisation/localiser"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/node"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill"
)

func main() {
	images := flag.Int("images", 30, "look at so many images, then end; 0 is until interrupted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch flag.Arg(0) {
	case "":
		err = all(ctx, *images)
	case "memory":
		err = runMemory(ctx)
	case "camera":
		err = runCamera(ctx)
	case "localiser":
		err = runLocaliser(ctx)
	default:
		fmt.Fprintf(os.Stderr, "there is no %q; memory, camera and localiser are the three processes\n", flag.Arg(0))
		os.Exit(2)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, flag.Arg(0)+":", err)
		os.Exit(1)
	}
}

// runMemory serves all memories, with what the robot knows of objects beforehand.
func runMemory(ctx context.Context) error {
	c := node.Config{Memories: memories.All(memories.WithPriorKnowledge(knowledge.Files))}
	if address := os.Getenv(client.AddressVariable); address != "" {
		c.Listen = []string{address}
	}
	n, err := node.New(ctx, c)
	if err != nil {
		return err
	}
	return n.Serve(ctx)
}

// connect finds the memory, which may still be starting.
func connect(ctx context.Context) (*client.Client, error) {
	for {
		m, err := client.Connect(ctx, client.Options{})
		if engram.CodeOf(err) != engram.Unavailable {
			return m, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// runCamera commits images at their times. Where the computer is too slow for all, it
// leaves some out.
func runCamera(ctx context.Context) error {
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	start := engram.Now()
	d := camera.New(start, 1)
	if err := commit(ctx, m, d.Setup()); err != nil {
		return err
	}
	for {
		i := int((engram.Now() - start) / engram.Time(camera.Period))
		if err := commit(ctx, m, d.Image(i)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.Time(i + 1).Sub(engram.Now())):
		}
	}
}

func commit(ctx context.Context, w engram.Writer, c engram.Commit) error {
	r, err := w.Commit(ctx, c)
	if err != nil {
		return err
	}
	return engram.FirstError(r)
}

// runLocaliser offers the skill.
func runLocaliser(ctx context.Context) error {
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	p := skill.NewProvider(m, "Localizer")
	c := localiser.Config{Provider: camera.Provider, Camera: camera.Name, Poses: m.Poses("RobotState")}
	if err := localiser.Offer(p, m, c); err != nil {
		return err
	}
	return p.Run(ctx)
}

// all starts the three processes, asks for the skill, and says what comes of it.
func all(ctx context.Context, images int) error {
	dir, err := os.MkdirTemp("", "localisation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(client.AddressVariable, "unix:"+filepath.Join(dir, "engram.sock")); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, part := range []string{"memory", "camera", "localiser"} {
		cmd := exec.Command(self, part)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		fmt.Printf("%s is process %d\n", part, cmd.Process.Pid)
		defer func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}()
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	instances := engram.MustPattern("Object/Instance/Localizer")
	stream, err := m.Subscribe(ctx, engram.Subscription{Patterns: []engram.Pattern{instances}, WithData: true})
	if err != nil {
		return err
	}
	go tell(ctx, stream)
	request := skill.Request{Skill: localiser.Skill, Caller: "operator", Parameters: map[string]any{"images": images}}
	x, err := skill.Start(ctx, m, request)
	for ; engram.CodeOf(err) == engram.NotFound; x, err = skill.Start(ctx, m, request) {
		select { // the localiser is still starting
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	fmt.Println("asked for", x.Request())
	e, err := x.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(localiser.Skill, e.Status, e.Result)
	return e.Err()
}

// tell prints what is seen.
func tell(ctx context.Context, s engram.UpdateStream) {
	typ, _ := memories.Type("engram.object.Instance")
	for u, err := range engram.Updates(ctx, s) {
		if err != nil {
			return
		}
		if u.Snapshot == nil {
			continue
		}
		v, err := typ.Decode(u.Snapshot.Instances[0].Payload.Bytes)
		if err != nil {
			continue
		}
		m := v.(map[string]any)
		at := m["pose"].(map[string]any)["position"].(map[string]any)
		number := func(key string) float64 { f, _ := at[key].(float64); return f }
		p := pose.Vec3{X: number("x"), Y: number("y"), Z: number("z")}
		fmt.Printf("%-8s at (%.3f, %.3f, %.3f) m in %v, confidence %.2f, known after %v\n",
			u.ID.Entity(), p.X, p.Y, p.Z, m["frame_id"], u.Snapshot.Instances[0].Confidence, engram.Now().Sub(u.Snapshot.Time).Round(time.Millisecond))
	}
}
