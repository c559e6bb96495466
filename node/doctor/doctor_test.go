package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/wal"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/core/wm"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/fleet/ops/health"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/vfs"
	"github.com/seed-301d4374/engram/node/doctor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// expect fails unless there is a finding of a level and check that says a text, and
// everything that is not ok says what to do.
func expect(t *testing.T, found doctor.Findings, level doctor.Level, check, says string) {
	t.Helper()
	there := false
	for _, f := range found {
		there = there || f.Level == level && f.Check == check && strings.Contains(f.What+" "+f.Do, says)
		if (f.Do == "") != (f.Level == doctor.OK) || f.What == "" {
			t.Errorf("%+v", f)
		}
	}
	if !there {
		t.Errorf("there is no finding %s %s %q in %+v", level, check, says, found)
	}
}

// patient waits for an answer as long as it may take on a busy machine; what does not
// answer here says so at once.
var patient = doctor.Options{Timeout: time.Minute, Version: "v1"}

// memoryServer serves a memory at an address until the test ends.
func memoryServer(t *testing.T, address string, names mns.Registry, o rpc.Options) string {
	t.Helper()
	l, err := rpc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "M"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = rpc.Serve(ctx, rpc.NewHandler(s, names, o), l)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		s.Close()
	})
	return rpc.AddressOf(l)
}

func TestSockets(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	os.WriteFile(at("file"), nil, 0o600)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("stale"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	other, err := net.Listen("unix", at("other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go answer(other, "220 mail.example.org\r\n")
	for name, says := range map[string]string{
		"absent": "there is no socket", "file": "is no socket", "stale": "nobody listens", "other": "nothing answers",
	} {
		found, c := doctor.Address(t.Context(), "unix:"+at(name), patient)
		if c != nil {
			t.Fatalf("%s answers", name)
		}
		expect(t, found, doctor.Problem, "address", says)
	}
	expect(t, doctor.Listen(t.Context(), "unix:"+at("file"), patient), doctor.Problem, "listen", "is no socket")
	expect(t, doctor.Listen(t.Context(), "unix:"+at("stale"), patient), doctor.OK, "listen", "takes it over")
	expect(t, doctor.Listen(t.Context(), "unix:"+at("other"), patient), doctor.Warn, "listen", "already")
	expect(t, doctor.Listen(t.Context(), "unix:"+at("new/socket"), patient), doctor.OK, "listen", "free")
	expect(t, doctor.Listen(t.Context(), "unix:"+at(strings.Repeat("x", 100)), patient), doctor.Problem, "listen", "shorter folder")
	expect(t, doctor.Listen(t.Context(), "unix:/dev/null/s", patient), doctor.Problem, "listen", "may not make")
}

// answer says a text to whoever connects, and nothing more. What comes is read to its end:
// to close before would have the system take back, at times, what was said.
func answer(l net.Listener, text string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			fmt.Fprint(c, text)
			if end, ok := c.(interface{ CloseWrite() error }); ok {
				end.CloseWrite()
			}
			io.Copy(io.Discard, c)
		}()
	}
}

// Permissions mean nothing to root, which tests run as in CI: another user's process looks.
func TestPermissions(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user, for whom permissions mean something")
	}
	dir, err := os.MkdirTemp("/tmp", "doctor")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	os.Chmod(filepath.Join(dir, "s"), 0o600)
	closed, mine := filepath.Join(dir, "closed"), filepath.Join(dir, "data")
	os.Mkdir(closed, 0o700)
	os.Mkdir(mine, 0o755)
	as := func(uid int, f func()) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			// The thread is of another user from now on, and ends with the goroutine.
			runtime.LockOSThread()
			if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
				t.Error(e)
				return
			}
			f()
		}()
		<-done
	}
	var socket, folder, data, made doctor.Findings
	as(65534, func() {
		socket, _ = doctor.Address(t.Context(), "unix:"+filepath.Join(dir, "s"), patient)
		folder, _ = doctor.Address(t.Context(), "unix:"+filepath.Join(closed, "s"), patient)
		data = doctor.Folder(mine)
		made = doctor.Folder(filepath.Join(mine, "new"))
	})
	expect(t, socket, doctor.Problem, "address", "may not be used")
	expect(t, folder, doctor.Problem, "address", "may not be entered")
	expect(t, data, doctor.Problem, "disk", "may not be written")
	expect(t, made, doctor.Problem, "folder", "may not make it")
}

func TestNetworkAddresses(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go answer(other, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	// Of an address of this computer that nobody else uses: no program is given its port.
	gone, err := net.Listen("tcp", "127.93.70.11:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	defer other.Close()
	for address, says := range map[string]string{
		"http://" + other.Addr().String():       "nothing answers",
		"http://" + gone.Addr().String():        "no program listens",
		"http://no-such-host..invalid:7411":     "there is no host", // no name of DNS, which is not asked
		"ftp://127.0.0.1:1":                     "unix:/path",
		"http://127.0.0.1:7411/engram":          "",
		"http://" + other.Addr().String() + "x": "",
	} {
		found, c := doctor.Address(t.Context(), address, patient)
		if c != nil {
			t.Fatalf("%s answers", address)
		}
		expect(t, found, doctor.Problem, "address", says)
	}
	expect(t, doctor.Listen(t.Context(), other.Addr().String(), patient), doctor.Problem, "listen", "ss -ltnp")
	expect(t, doctor.Listen(t.Context(), gone.Addr().String(), patient), doctor.OK, "listen", "free")
	expect(t, doctor.Listen(t.Context(), "192.0.2.1:7411", patient), doctor.Problem, "listen", "no address of this computer")
	expect(t, doctor.Listen(t.Context(), "nonsense", patient), doctor.Problem, "listen", "host:port")
	at := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "first"})
	expect(t, doctor.Listen(t.Context(), strings.TrimPrefix(at, "http://"), patient), doctor.Warn, "listen", `"first"`)
}

// Who has said who it is is not told to say it, but why that was not enough.
func TestCredentialsThatAreOfNoUse(t *testing.T) {
	with := patient
	with.Dial.Credentials = deployment.New(t).Program(t, "me")
	at := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "first"})
	found, c := doctor.Address(t.Context(), at, with)
	if c != nil {
		c.Close()
		t.Fatal("a server without TLS answers who wants to know who it is")
	}
	expect(t, found, doctor.Problem, "address", "speaks no TLS")
	expect(t, found, doctor.Problem, "address", "engram auth ls")
	if text := fmt.Sprint(found); strings.Contains(text, "say who you are") {
		t.Errorf("who has said who it is is told %s", text)
	}
}

func TestServer(t *testing.T) {
	at := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "first", Now: func() engram.Time { return engram.Now().Add(10*time.Second + 500*time.Millisecond) }})
	found, c := doctor.Address(t.Context(), at, patient)
	if c == nil {
		t.Fatalf("%+v", found)
	}
	defer c.Close()
	expect(t, found, doctor.OK, "address", `"first"`)
	report := health.Report{Status: health.Failed, Checks: []health.Finding{
		{Check: "disk", Status: health.Failed, Reason: "it is full"}, {Check: "backbone", Status: health.Degraded, Reason: "it is away"},
	}}
	of := func(r health.Report, err error) func(context.Context) (health.Report, error) {
		return func(context.Context) (health.Report, error) { return r, err }
	}
	found = doctor.Server(t.Context(), c, of(report, nil), patient)
	expect(t, found, doctor.Warn, "version", "v1")
	expect(t, found, doctor.Problem, "clock", "is 10.")
	expect(t, found, doctor.Problem, "health", "it is full")
	expect(t, found, doctor.Warn, "health", "it is away")
	expect(t, doctor.Server(t.Context(), c, of(health.Report{}, engram.Unsupported), patient), doctor.Warn, "health", "does not tell")
	expect(t, doctor.Server(t.Context(), c, of(health.Report{Status: health.OK}, nil), patient), doctor.OK, "health", "is ready")
	expect(t, doctor.Servers(t.Context(), c, patient), doctor.Problem, "names", "does not answer") // it offers none
}

// Of all servers that are registered it is said whether they answer, and as themselves.
func TestServers(t *testing.T) {
	names := mns.NewLocal()
	defer names.Close()
	home := memoryServer(t, "127.0.0.1:0", names, rpc.Options{Server: "home"})
	late := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "late", Now: func() engram.Time { return engram.Now().Add(-300 * time.Millisecond) }})
	twin1 := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "twin"})
	twin2 := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "twin"})
	for _, r := range []mns.Registration{
		{Server: "home", Memories: []string{"A"}, Addresses: []string{home}},
		{Server: "late", Memories: []string{"B", "C"}, Addresses: []string{"local:/nowhere", late}},
		{Server: "twin", Memories: []string{"D"}, Addresses: []string{twin1, twin2}},
		{Server: "gone", Memories: []string{"E"}, Addresses: []string{"unix:/nowhere/s"}},
	} {
		if _, err := names.Register(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	_, c := doctor.Address(t.Context(), home, patient)
	defer c.Close()
	found := doctor.Servers(t.Context(), c, patient)
	expect(t, found, doctor.OK, "names", "5 memories on 4 servers")
	expect(t, found, doctor.Warn, "clock", `"late" is `)
	expect(t, found, doctor.OK, "names", `"late" answers`)
	expect(t, found, doctor.Problem, "names", `two servers call themselves "twin"`)
	expect(t, found, doctor.Problem, "names", `"gone" is registered, and does not answer`)
}

// remembering is a name system that is away, of which is told what it said last.
type remembering struct {
	mns.Registry
	at engram.Time
}

func (r remembering) List(ctx context.Context) ([]mns.Entry, error) {
	entries, err := r.Registry.List(ctx)
	for i := range entries {
		entries[i].LastKnown = r.at
	}
	return entries, err
}

// Names that are only remembered are not called registered; their servers are looked at
// all the same.
func TestNamesThatAreRemembered(t *testing.T) {
	names := mns.NewLocal()
	defer names.Close()
	there := memoryServer(t, "127.0.0.1:0", nil, rpc.Options{Server: "there"})
	if _, err := names.Register(t.Context(), mns.Registration{Server: "there", Memories: []string{"A"}, Addresses: []string{there}}); err != nil {
		t.Fatal(err)
	}
	found := doctor.OnBackbone(t.Context(), remembering{names, engram.Now()}, patient)
	expect(t, found, doctor.Warn, "names", "is away; when it was there last")
	expect(t, found, doctor.OK, "names", `"there" answers`)
	for _, f := range found {
		if strings.Contains(f.What, "registered") {
			t.Errorf("%+v", f)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	expect(t, doctor.Folder(filepath.Join(dir, "new")), doctor.OK, "folder", "makes it")
	expect(t, doctor.Folder("/dev/null/engram"), doctor.Problem, "folder", "cannot be looked at")
	os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
	expect(t, doctor.Folder(filepath.Join(dir, "file")), doctor.Problem, "folder", "is no folder")

	os.Mkdir(filepath.Join(dir, "episodes"), 0o700)
	os.WriteFile(filepath.Join(dir, "episodes", "1.mcap.open.damaged"), nil, 0o600)
	os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte("- not\n- policies\n"), 0o600)
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	fmt.Fprintln(lock, 4711)
	found := doctor.Folder(dir)
	expect(t, found, doctor.OK, "lock", "no server")
	expect(t, found, doctor.Warn, "episodes", "repair")
	expect(t, found, doctor.Problem, "policies", "mend")
	manifest := `{"version":1,"logs":{"Object":{"memory":"Object","first":0,"files":[{"number":3,"marker":7,"bytes":9000}]}}}`
	os.WriteFile(filepath.Join(dir, "manifest.json"), vfs.WithChecksum([]byte(manifest)), 0o600)
	expect(t, doctor.Folder(dir), doctor.Problem, "log", "00000003.log")
	os.MkdirAll(filepath.Join(dir, "log", "Object"), 0o700)
	os.WriteFile(filepath.Join(dir, "log", "Object", "00000003.log"), nil, 0o600)
	os.WriteFile(filepath.Join(dir, "state.json.damaged"), nil, 0o600)
	expect(t, doctor.Folder(dir), doctor.Problem, "log", "9000 bytes of it were on the disk, 0 are there")
	expect(t, doctor.Folder(dir), doctor.Warn, "folder", "put aside")
	for _, damaged := range []string{"=definitions", "=definitions.copy"} {
		data := filepath.Join(t.TempDir(), "data")
		journal := wal.JournalOptions{Dir: filepath.Join(data, "log"), Manifest: filepath.Join(data, "manifest.json")}
		open := func() {
			j, err := wal.OpenJournal(journal)
			if err != nil {
				t.Fatal(err)
			}
			w := wm.New(wm.Config{Journal: j})
			if err := w.AddMemory("Test", engram.Bounds{}); err != nil {
				t.Fatal(err)
			}
			if _, err := j.Restore(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if err := w.AddCoreSegment(t.Context(), engram.CoreSegment{ID: engram.MustID("Test/S")}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Close(), j.Close()); err != nil {
				t.Fatal(err)
			}
		}
		open()
		logs, err := filepath.Glob(filepath.Join(data, "log", damaged, "*.log"))
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}
		for _, name := range logs {
			os.Truncate(name, 0)
		}
		found := doctor.Folder(data)
		expect(t, found, doctor.Warn, "log", damaged+"/")
		expect(t, found, doctor.Warn, "log", "nothing is lost")
		for _, f := range found {
			if f.Check == "log" && f.Level == doctor.Problem {
				t.Errorf("%s: %+v", damaged, f)
			}
		}
		open()
		for _, f := range doctor.Folder(data) {
			if f.Check == "log" {
				t.Errorf("%s: after the next start: %+v", damaged, f)
			}
		}
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	expect(t, doctor.Folder(dir), doctor.Warn, "lock", "4711")
	if left, _ := filepath.Glob(filepath.Join(dir, ".probe*")); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
}

// A disk without room, as far as one may be mounted.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	defer unix.Unmount(dir, 0)
	expect(t, doctor.Folder(dir), doctor.Problem, "disk", "free some space")
	os.WriteFile(filepath.Join(dir, "much"), make([]byte, 1<<20), 0o600)
	expect(t, doctor.Folder(dir), doctor.Problem, "disk", "is full")
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	expect(t, doctor.Folder(dir), doctor.Problem, "disk", "read-only")
}

func TestHost(t *testing.T) {
	good := doctor.Host{OpenFiles: 1 << 20, Memory: 16 << 30, Available: 8 << 30, FFmpeg: "/usr/bin/ffmpeg", Encoders: " V..... libx264 ", Inotify: 1 << 16}
	for _, f := range good.Look(true) {
		if f.Level != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	for _, test := range []struct {
		change func(h *doctor.Host)
		check  string
		says   string
	}{
		{func(h *doctor.Host) { h.OpenFiles = 256 }, "limits", "LimitNOFILE"},
		{func(h *doctor.Host) { h.Inotify = 100 }, "limits", "max_user_watches"},
		{func(h *doctor.Host) { h.Memory = 512 << 20 }, "memory", "GOMEMLIMIT"},
		{func(h *doctor.Host) { h.Available = 1 << 20 }, "memory", "top"},
		{func(h *doctor.Host) { h.FFmpeg = "" }, "ffmpeg", "install it"},
		{func(h *doctor.Host) { h.Encoders = "" }, "ffmpeg", "libx264"},
	} {
		h := good
		test.change(&h)
		expect(t, h.Look(true), doctor.Warn, test.check, test.says)
	}
	for _, f := range (doctor.Host{}).Look(false) {
		if f.Check == "ffmpeg" || f.Level != doctor.OK {
			t.Errorf("of what is unknown it is said %+v", f)
		}
	}
	expect(t, good.Usage(9<<30), doctor.Warn, "memory", "bound")
	if found := good.Usage(1 << 30); len(found) > 0 {
		t.Errorf("%+v", found)
	}
	if h := doctor.ThisHost(t.Context()); h.OpenFiles == 0 || h.Memory == 0 || h.SoftLimit == 0 || h.SoftLimit > h.Memory/4*3 {
		t.Errorf("this computer: %+v", h)
	}
}

func TestBackbone(t *testing.T) {
	fabric, err := embedded.Start(t.Context(), embedded.Options{Robot: "base", Listen: "127.0.0.1:0", LeafListen: "127.0.0.1:0", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer fabric.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go answer(other, "220 mail.example.org\r\n")
	fine := func(context.Context) error { return nil }
	refused := func(context.Context) error { return engram.Errorf(engram.Unavailable, "", "authorization violation") }
	expect(t, doctor.Backbone(t.Context(), fabric.ClientURL(), fine, patient), doctor.OK, "backbone", "answers")
	expect(t, doctor.Backbone(t.Context(), fabric.ClientURL(), refused, patient), doctor.Problem, "backbone", "authorization violation")
	expect(t, doctor.Backbone(t.Context(), "nats://u:secret@"+other.Addr().String(), refused, patient), doctor.Problem, "backbone", "no NATS server")
	expect(t, doctor.Backbone(t.Context(), "nats://127.0.0.1:1", refused, patient), doctor.Problem, "backbone", "refused")
	for _, f := range doctor.Backbone(t.Context(), "nats://u:secret@"+other.Addr().String(), refused, patient) {
		if strings.Contains(f.What, "secret") {
			t.Errorf("a password is shown: %+v", f)
		}
	}
	expect(t, doctor.Leaf(t.Context(), fabric.LeafURL(), patient), doctor.OK, "leaf", "answers")
	expect(t, doctor.Leaf(t.Context(), "nats-leaf://"+strings.TrimPrefix(fabric.ClientURL(), "nats://"), patient), doctor.Problem, "leaf", "--leaf-listen")
	expect(t, doctor.Leaf(t.Context(), "nats-leaf://127.0.0.1:1", patient), doctor.Warn, "leaf", "works on alone")
	expect(t, doctor.Leaf(t.Context(), "nowhere", patient), doctor.Problem, "leaf", "nats-leaf://")
}

// Whatever an address holds, the doctor comes to an end and says something.
func FuzzAddress(f *testing.F) {
	for _, a := range []string{"", "unix:", "unix:/", "http://", "::::", "http://[::1", "nats:x", "127.0.0.1:1", "a b", "\x00"} {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if strings.Contains(address, ".") && !strings.HasPrefix(address, "127.") {
			return // asks nobody's DNS
		}
		found, c := doctor.Address(t.Context(), address, doctor.Options{Timeout: 50 * time.Millisecond})
		if c != nil {
			c.Close()
		}
		if len(found) == 0 {
			t.Errorf("nothing is said about %q", address)
		}
	})
}
