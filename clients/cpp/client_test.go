// Package cpp_test builds the C++ client, installs it, and runs its programs against a real server.
package cpp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
)

// needed skips the test where the client cannot be built.
func needed(t *testing.T) {
	t.Helper()
	for _, program := range []string{"cmake", "g++", "protoc"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no C++ client here: %s is not installed (Debian: g++ cmake libgrpc++-dev libprotobuf-dev protobuf-compiler)", program)
		}
	}
	probe := exec.Command("g++", "-x", "c++", "-fsyntax-only", "-")
	probe.Stdin = strings.NewReader("#include <grpcpp/channel.h>\n#include <google/protobuf/message.h>\n")
	if probe.Run() != nil {
		t.Skip("no C++ client here: the headers of gRPC and protobuf are not installed (Debian: libgrpc++-dev libprotobuf-dev)")
	}
}

func run(t *testing.T, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// build configures and builds a project of CMake, quickly rather than well.
func build(t *testing.T, source, folder string, args ...string) {
	t.Helper()
	run(t, nil, "cmake", append([]string{"-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O0"}, args...)...)
	run(t, nil, "cmake", "--build", folder, "--parallel", "2")
}

// server is a memory server in a folder of its own.
type server struct {
	binary, folder, http, listen string
	flags                        []string
	cmd                          *exec.Cmd
}

func (s *server) socket() string { return "unix:" + filepath.Join(s.folder, "engram.sock") }

func (s *server) start(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.binary, "serve", "--listen", s.socket(), "--listen", s.listen, "--monitor", "0")
	s.cmd.Args = append(s.cmd.Args, s.flags...)
	s.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+s.folder, "ENGRAM_ADDRESS=")
	said := make(announced, 1)
	s.cmd.Stderr = said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case s.http = <-said:
	case <-t.Context().Done():
		t.Fatal("the server did not start")
	}
}

// announced receives the address that a server says it listens at.
type announced chan string

func (a announced) Write(p []byte) (int, error) {
	if address := regexp.MustCompile(`https?://127\.0\.0\.1:\d+`).Find(p); address != nil {
		select {
		case a <- string(address):
		default:
		}
	}
	return len(p), nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

const cupXML = `<AronTypeDefinition><GenerateTypes>
	<IntEnum name='lab::Color'><EnumValue key='None' value='0'/><EnumValue key='Red' value='1'/></IntEnum>
	<Object name='lab::Cup'><ObjectChild key='fill'><Float /></ObjectChild><ObjectChild key='color'><lab::Color /></ObjectChild></Object>
</GenerateTypes></AronTypeDefinition>`

// The client is built and installed as the guide prints it; the behaviour suite, the guide's programs and the
// example run with what is installed.
func TestClient(t *testing.T) {
	testkit.Long(t)
	needed(t)
	dir := t.TempDir()
	short, err := os.MkdirTemp("", "engram-cpp") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	s := &server{binary: filepath.Join(dir, "engram"), folder: short, listen: "127.0.0.1:0"}
	run(t, nil, "go", "build", "-o", s.binary, "../../cmd/engram")
	build(t, ".", dir+"/build")
	run(t, nil, "cmake", "--install", dir+"/build", "--prefix", dir+"/tree")
	write(t, dir+"/cup.xml", cupXML)
	run(t, nil, s.binary, "gen", "cpp", "--xml", dir+"/cup.xml", "--out", dir+"/cups")
	first, rest := guide(t)
	write(t, dir+"/first/first.cpp", first)
	write(t, dir+"/first/CMakeLists.txt", guideCMake(t))
	write(t, dir+"/guide.cpp", rest)
	tree := "-DCMAKE_PREFIX_PATH=" + dir + "/tree"
	build(t, "test", dir+"/test", tree, "-DGUIDE="+dir+"/guide.cpp", "-DSTRUCTS="+dir+"/cups")
	build(t, dir+"/first", dir+"/first/build", tree)
	build(t, "examples", dir+"/examples", tree)
	s.start(t)
	defer func() { s.stop() }()

	for name, address := range map[string]string{"local socket": s.socket(), "gRPC": s.http} {
		t.Run("suite by "+name, func(t *testing.T) {
			out := run(t, nil, dir+"/test/suite", address, "../../memorytest/cases")
			want := "by " + address
			if name == "local socket" {
				want = "by local:"
			}
			if !strings.Contains(out, want) {
				t.Errorf("another way was taken:\n%s", out)
			}
		})
	}
	t.Run("guide", func(t *testing.T) {
		env := []string{"ENGRAM_ADDRESS=" + s.socket()}
		if out := run(t, env, dir+"/first/build/first"); !strings.Contains(out, " table\nGeneralPurpose/Seen/camera/blue-cup/") {
			t.Errorf("the first program prints %s", out)
		}
		// A type is made known by the first who uses it: here the command line.
		run(t, env, s.binary, "type", "add", dir+"/cup.xml")
		out := run(t, env, dir+"/test/guide")
		// What a watch gets within a second, and which states of an execution are seen, is the machine's.
		for _, want := range []string{"txt: engram.speech.Text has no such member; it has ", "\n0.5\n", "\n1 2\n", "\nSucceeded\n", "\nConfirmed\n", "\n2 batteries\nin an hour: 0.", "\n1 engram.speech.Text Speech/Text/me/said/", " of GeneralPurpose/Seen/camera/cup/", " is a http"} {
			if !strings.Contains(out, want) {
				t.Errorf("the guide's programs do not print %q:\n%s", want, out)
			}
		}
	})
	t.Run("predictions and doubt", func(t *testing.T) {
		const want = `in 1.0 s y is from -0.9 to 0.9 by past situations
0.6: 0.9, in the snapshot 0.9, after 4 situations, sd as its covariance
0.4: -0.9, in the snapshot -0.9, after 4 situations, sd as its covariance
all are less sure, from RobotState/Localization/cpp/walker/2026-03-04 09:04:12.900000
not said, 0 hypotheses, Speech/Text/cpp/said/2026-03-04 09:00:01.000000: a payload without numbers is predicted only where its texts change in a pattern, and none is known
Object/Instance/cpp/marker/2026-03-04 09:00:02.000000: 
Object/Instance/cpp/cup/2026-03-04 09:00:02.001000: 1 of 3 doubtful: it rests on Object/Instance/cpp/marker/2026-03-04 09:00:00.000000, which is withdrawn: it was dark (at 2026-03-04 09:00:00.001000)
`
		if out := run(t, nil, dir+"/test/predicted", s.http); out != want {
			t.Errorf("it prints\n%s\nwant\n%s", out, want)
		}
	})
	t.Run("no server", func(t *testing.T) {
		cmd := exec.Command(dir + "/first/build/first")
		cmd.Env = append(os.Environ(), "ENGRAM_ADDRESS=unix:"+short+"/nobody.sock")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "engram serve") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("example", func(t *testing.T) {
		next := lines(t, []string{"ENGRAM_ADDRESS=" + s.socket()}, dir+"/examples/node")
		next("listening at local:")
		run(t, nil, s.binary, "--address", s.socket(), "put", "Speech/Text/me/said", `{"text": "bring me the cup"}`)
		next(": 4 words")
		if out := run(t, nil, s.binary, "--address", s.socket(), "skill", "run", "Counter/CountWords", "--params", `{"text": "one two three"}`); !strings.Contains(out, "3") {
			t.Errorf("the skill answers %s", out)
		}
	})
	t.Run("identity", func(t *testing.T) {
		for _, authority := range []string{"ours", "other"} {
			run(t, nil, s.binary, "auth", "init", "--dir", dir+"/"+authority)
			run(t, nil, s.binary, "auth", "add", "--dir", dir+"/"+authority, "camera", "--out", dir+"/"+authority+".credentials")
		}
		run(t, nil, s.binary, "auth", "add", "--dir", dir+"/ours", "--server", "brain", "--out", dir+"/brain.credentials")
		guarded := &server{binary: s.binary, folder: short + "/guarded", listen: "127.0.0.1:0", flags: []string{"--credentials", dir + "/brain.credentials"}}
		if err := os.Mkdir(guarded.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		guarded.start(t)
		defer guarded.stop()
		address := strings.Replace(guarded.http, "http:", "https:", 1)
		lines(t, []string{"ENGRAM_CREDENTIALS=" + dir + "/ours.credentials"}, dir+"/test/follow", address, "Speech/Text")("ready")
		for credentials, want := range map[string]string{"": "engram auth add", dir + "/other.credentials": "not a server of this deployment", dir + "/none": "cannot be read"} {
			cmd := exec.Command(dir+"/test/follow", address, "Speech/Text")
			cmd.Env = append(os.Environ(), "ENGRAM_CREDENTIALS="+credentials)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
				t.Errorf("with %q: %v\n%s", credentials, err, out)
			}
		}
	})
	t.Run("hosting", func(t *testing.T) {
		own := &server{binary: s.binary, folder: short + "/hosting", listen: "127.0.0.1:0", flags: []string{"--data", dir + "/data"}}
		if err := os.Mkdir(own.folder, 0o755); err != nil {
			t.Fatal(err)
		}
		testHosting(t, own, dir+"/test/hosted", dir+"/examples/battery_memory")
	})
	// A watch goes on with a server that was started again, by both ways.
	t.Run("restart", func(t *testing.T) {
		put := func(text string) {
			run(t, nil, s.binary, "--address", s.socket(), "put", "Speech/Text/restart/said", fmt.Sprintf(`{"text": %q}`, text))
		}
		byLocal := lines(t, nil, dir+"/test/follow", s.socket(), "Speech/Text/restart")
		byRPC := lines(t, nil, dir+"/test/follow", s.http, "Speech/Text/restart")
		byLocal("ready")
		byRPC("ready")
		put("before")
		byLocal("Speech/Text/restart/said before")
		byRPC("Speech/Text/restart/said before")
		s.stop()
		s.listen = strings.TrimPrefix(s.http, "http://")
		s.start(t)
		put("after")
		byLocal("Speech/Text/restart/said after restarted")
		byRPC("Speech/Text/restart/said after restarted")
	})
}

// lines starts a program, and returns what waits for a line that holds a text.
func lines(t *testing.T, env []string, program string, args ...string) func(want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	scanner := bufio.NewScanner(out)
	return func(want string) {
		t.Helper()
		if !scanner.Scan() {
			_ = cmd.Wait()
			t.Fatalf("%s ended: %s", program, said.String())
		}
		if !strings.Contains(scanner.Text(), want) {
			t.Fatalf("%s prints %q, want %q", program, scanner.Text(), want)
		}
	}
}

// guide returns the first program of docs/cpp.md, and one of all its other blocks.
func guide(t *testing.T) (first, rest string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/cpp.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```cpp\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 6 {
		t.Fatalf("docs/cpp.md has %d blocks", len(blocks))
	}
	includes, body := "#include <engram/engram.hpp>\n#include <iostream>\n", ""
	for _, b := range blocks[1:] {
		for line := range strings.Lines(b[1]) {
			if strings.HasPrefix(line, "#include") {
				includes += line
			} else {
				body += line
			}
		}
	}
	return blocks[0][1], includes + "int main() {\nengram::Memory m = engram::connect().value();\n" + body + "}\n"
}

func guideCMake(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/cpp.md")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?s)```cmake\n(.*?)```").FindStringSubmatch(string(page))[1]
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
