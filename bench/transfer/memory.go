package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/edge/transport/local"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// held is how many entries the memory holds, from the beginning on.
const held = 1000

// frames is where the images of a camera go, which are foxglove.RawImage.
var frames = engram.MustID("Bench/Frames/Camera/stereo")

const framesType = "foxglove.RawImage"

// definition returns the memory: a core segment for each kind of object, and one
// for a camera's images.
func definition() (server.Memory, error) {
	types, err := compileTypes()
	if err != nil {
		return server.Memory{}, err
	}
	m := server.Memory{Name: "Bench", Types: types}
	for _, k := range kinds {
		m.Segments = append(m.Segments, engram.CoreSegment{
			ID: k.entity.Truncate(engram.LevelCoreSegment), Type: k.typ, History: engram.Bounds{MaxCount: held},
		})
	}
	m.Segments = append(m.Segments, engram.CoreSegment{
		ID: frames.Truncate(engram.LevelCoreSegment), Type: framesType, History: engram.Bounds{MaxCount: 60},
	})
	return m, nil
}

// newMemory returns a working memory that is defined as the server's.
func newMemory() (*wm.WM, error) {
	def, err := definition()
	if err != nil {
		return nil, err
	}
	w := wm.New(wm.Config{})
	err = w.AddMemory(def.Name, def.Bounds)
	for _, t := range def.Types {
		err = errors.Join(err, w.AddType(context.Background(), t))
	}
	for _, s := range def.Segments {
		err = errors.Join(err, w.AddCoreSegment(context.Background(), s))
	}
	return w, err
}

// fill commits as many objects of the kind as the memory is to hold.
func fill(w engram.Writer, k *kind) error {
	b := newBatch(k, 100)
	for i := 0; i < held; i += len(b.objects) {
		if err := commit(w, b.commit(engram.Time(1+i))); err != nil {
			return err
		}
	}
	return nil
}

// commit commits c and waits for the answer, which must be that all is stored.
func commit(w engram.Writer, c engram.Commit) error {
	results, err := w.Commit(context.Background(), c)
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// serveMemory is the memory server's process. It holds objects of the kinds.
func serveMemory(ctx context.Context, dir string, kinds []string) error {
	def, err := definition()
	if err != nil {
		return err
	}
	server.TuneRuntime()
	s, err := server.New(server.Config{Memories: []server.Memory{def}})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, name := range kinds {
		if err := fill(s, kindNamed(name)); err != nil {
			return err
		}
	}
	ll, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "local"), Net: "unix"})
	if err != nil {
		return err
	}
	unix, err := rpc.Listen("unix:" + filepath.Join(dir, "rpc"))
	if err != nil {
		return err
	}
	tcp, err := rpc.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- local.Serve(ctx, ll, s, local.Options{}) }()
	go func() { ended <- rpc.Serve(ctx, rpc.NewHandler(s, nil, rpc.Options{}), unix, tcp) }()
	if err := sayReady(map[string]string{
		overLocal: "local:" + ll.Addr().String(), overUnix: rpc.AddressOf(unix), overTCP: rpc.AddressOf(tcp),
	}); err != nil {
		return err
	}
	err = <-ended
	cancel()
	if err := errors.Join(err, <-ended); err != nil {
		return fmt.Errorf("the memory server ended: %w", err)
	}
	return nil
}
