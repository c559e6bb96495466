package codec

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// impatient makes hung processes count as such soon, until the test ends.
func impatient(t *testing.T, d time.Duration) {
	start, frame := ffmpegStart, ffmpegFrame
	ffmpegStart, ffmpegFrame = d, d
	t.Cleanup(func() { ffmpegStart, ffmpegFrame = start, frame })
}

// fakeFFmpeg puts a script in ffmpeg's place.
func fakeFFmpeg(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script stands for ffmpeg, and Windows has no shell")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ffmpeg"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func faultsOf(t *testing.T, e Encoder) uint64 {
	t.Helper()
	n, err := e.(FaultCounter).Faults()
	if n > 0 && engram.CodeOf(err) != engram.Unavailable {
		t.Errorf("the last fault is %v", err)
	}
	return n
}

// ffmpeg is killed again and again while it encodes: every frame comes through, as
// good as asked, and the faults are counted.
func TestKilledEncoder(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	for _, codec := range []string{Video, Image} {
		e, c, err := NewEncoder(Config{Codec: codec})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		ie := e.(*imageEncoder)
		want := small(24, 64, 48)
		var messages []Message
		emit := func(m Message) error { messages = append(messages, m); return nil }
		for i, s := range want {
			if err := e.Encode(t.Context(), s, emit); err != nil {
				t.Fatal(err)
			}
			if i%6 != 3 {
				continue
			}
			// When all is through, the goroutine waits and its processes can be touched.
			for ie.waiting() > 0 {
				if err := ie.drain(emit); err != nil {
					t.Fatal(err)
				}
				if ie.waiting() > 0 {
					<-ie.wake
				}
			}
			switch {
			case codec == Image && ie.ffv1 != nil:
				_ = ie.ffv1.encoder.cmd.Process.Kill()
			case codec == Video && i%12 == 3:
				_ = ie.h264.encoder.cmd.Process.Kill()
			case codec == Video:
				_ = ie.h264.decoder.cmd.Process.Kill()
			}
		}
		if err := e.Flush(t.Context(), emit); err != nil {
			t.Fatal(err)
		}
		quality := 40.0
		if codec == Image {
			quality = 0
		}
		sameSnapshots(t, decodeAll(t, c, messages...), want, quality)
		if n := faultsOf(t, e); codec == Video && n != 4 {
			t.Errorf("%d faults are counted of 4", n)
		}
	}
}

// Whatever it is that calls itself ffmpeg, no frame is lost and nothing hangs.
func TestUselessFFmpeg(t *testing.T) {
	for name, script := range map[string]string{
		"hangs":   "exec sleep 100",
		"ends":    "exit 1",
		"garbage": "exec cat /dev/urandom",
		"echo":    "exec cat",
		"crashes": "kill -SEGV $$",
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			fakeFFmpeg(t, script)
			impatient(t, 300*time.Millisecond)
			for _, codec := range []string{Video, Image} {
				e, c, err := NewEncoder(Config{Codec: codec})
				if err != nil {
					t.Fatal(err)
				}
				defer e.Close()
				want := small(6, 64, 48)
				messages := encodeWith(t, e, want...)
				quality := 40.0
				if codec == Image {
					quality = 0
				}
				sameSnapshots(t, decodeAll(t, c, messages...), want, quality)
				if n := faultsOf(t, e); n == 0 || n > 8 {
					t.Errorf("%s: %d faults are counted", codec, n)
				}
			}
		})
	}
}

// Without ffmpeg, video says what to do; with it again, it is read.
func TestVideoWithoutFFmpeg(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	c := Config{Codec: Video, Quality: 36}
	want := small(2, 64, 48)
	messages := encodeAll(t, c, want...)
	d := &imageDecoder{}
	defer d.Close()
	t.Run("missing", func(t *testing.T) {
		noFFmpeg(t)
		if _, err := d.Decode(t.Context(), messages[0], nil); engram.CodeOf(err) != engram.Unavailable {
			t.Errorf("%v", err)
		}
		if _, err := d.Decode(t.Context(), messages[1], nil); engram.CodeOf(err) != engram.Corrupt {
			t.Errorf("a frame after one that was not decoded: %v", err)
		}
	})
	for _, m := range messages {
		if _, err := d.Decode(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// A decoder whose process is killed begins the group again by itself.
func TestKilledDecoder(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	c := Config{Codec: Video, Quality: 36}
	messages := encodeAll(t, c, small(8, 64, 48)...)
	all := decodeAll(t, c, messages...)
	d := &imageDecoder{}
	defer d.Close()
	for i, m := range messages {
		if i == 4 {
			_ = d.h264.cmd.Process.Kill()
			<-d.h264.gone
		}
		got, err := d.Decode(t.Context(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		sameSnapshots(t, got, all[i:i+1], 0)
	}
}

// A call that is given up ends at once, and the next one from a key on works.
func TestCanceledDecode(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	c := Config{Codec: Video, Quality: 36}
	messages := encodeAll(t, c, small(2, 64, 48)...)
	d := &imageDecoder{}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Decode(ctx, messages[0], nil); engram.CodeOf(err) != engram.Canceled {
		t.Errorf("%v", err)
	}
	if _, err := d.Decode(t.Context(), messages[0], nil); err != nil {
		t.Error(err)
	}
}

// Damaged video gives pictures or an error that says so, and never hangs.
func TestDamagedVideo(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	whole := map[string][]Message{}
	for _, codec := range []string{Video, Image} {
		whole[codec] = encodeAll(t, Config{Codec: codec}, stereo(t, 3, 6, "rgb8")...)
	}
	impatient(t, 2*time.Second)
	for codec, messages := range whole {
		r := random(1)
		failed := 0
		for round := range testkit.Repeats(4, 8) {
			damaged := append([]Message(nil), messages...)
			m := &damaged[round%2]
			m.Bytes = bytes.Clone(m.Bytes)
			switch round % 4 {
			case 0, 1:
				for range 20 {
					m.Bytes[r.IntN(len(m.Bytes))] ^= 1 << r.IntN(8)
				}
			case 2:
				m.Bytes = m.Bytes[:r.IntN(len(m.Bytes))]
			default:
				at := r.IntN(len(m.Bytes) - 600)
				clear(m.Bytes[at : at+600])
			}
			d := &imageDecoder{}
			for _, m := range damaged {
				got, err := d.Decode(t.Context(), m, nil)
				switch engram.CodeOf(err) {
				case 0:
					if len(got) != 1 || len(got[0].Instances) != 2 {
						t.Fatalf("%d snapshots", len(got))
					}
				case engram.Corrupt, engram.Unsupported, engram.Unavailable:
					failed++
				default:
					t.Fatal(err)
				}
			}
			_ = d.Close()
		}
		if failed == 0 {
			t.Errorf("%s: no damage was found in 8 damaged streams", codec)
		}
	}
}

func TestUnitsOf(t *testing.T) {
	sps, pps, idr, other := []byte{0x67, 1, 2}, []byte{0x68, 3}, []byte{0x65, 9, 0, 0, 3, 1}, []byte{0x41, 7}
	join := func(code []byte, units ...[]byte) (b []byte) {
		for _, u := range units {
			b = append(append(b, code...), u...)
		}
		return b
	}
	long, short := []byte{0, 0, 0, 1}, []byte{0, 0, 1}
	got, key := unitsOf(join(short, []byte{9, 0xf0}, sps, pps, []byte{6, 5, 4}, idr))
	if !key || !bytes.Equal(got, join(long, sps, pps, idr)) {
		t.Errorf("%x, key %v", got, key)
	}
	if got, key = unitsOf(join(long, other)); key || !bytes.Equal(got, join(long, other)) {
		t.Errorf("%x, key %v", got, key)
	}
	if got, key = unitsOf([]byte("no units")); key || len(got) != 0 {
		t.Errorf("%x, key %v", got, key)
	}
}
