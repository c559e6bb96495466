// Command build makes the program's release: static binaries for linux on amd64 and arm64
// with version, commit and date stamped, packed with the systemd unit and the sample
// configurations, and their checksums.
//
//	go run ./packaging/build            # into dist/
//	go run ./packaging/build -version v0.3.0 -o /tmp/release
//
// It needs nothing but Go. The same commit and Go release give the same bytes.
package main

import (
	"cmp"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var b build
	flag.StringVar(&b.out, "o", "dist", "folder for what is made")
	flag.StringVar(&b.version, "version", "", "of the release (default: of the git tag, else v0.0.0 with date and commit)")
	flag.StringVar(&b.architectures, "arch", "amd64,arm64", "architectures, separated by commas")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// build is a release that is being made.
type build struct {
	out, version, architectures string
	commit                      string
	date                        time.Time // of the commit
	root                        string    // of the repository
}

const module = "github.com/seed-301d4374/engram"

func (b *build) run() (err error) {
	if b.root, err = output("", "go", "list", "-m", "-f", "{{.Dir}}"); err != nil {
		return err
	}
	if err := b.describe(); err != nil {
		return err
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	var made []string
	for arch := range strings.SplitSeq(b.architectures, ",") {
		binary, err := b.compile(arch)
		if err != nil {
			return err
		}
		if err := checkStatic(binary); err != nil {
			return err
		}
		archive, err := b.pack(arch, binary)
		if err != nil {
			return err
		}
		made = append(made, binary, archive)
		fmt.Println(binary)
		fmt.Println(archive)
	}
	return b.checksums(made)
}

// describe finds out what is built.
func (b *build) describe() (err error) {
	if b.commit, err = output(b.root, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	date, err := output(b.root, "git", "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return err
	}
	if b.date, err = time.Parse(time.RFC3339, date); err != nil {
		return err
	}
	b.date = b.date.UTC()
	changes, err := output(b.root, "git", "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	if b.version == "" {
		tag, err := output(b.root, "git", "tag", "--points-at", "HEAD", "--sort=-v:refname", "v*")
		if err != nil {
			return err
		}
		tag, _, _ = strings.Cut(tag, "\n")
		b.version = cmp.Or(tag, "v0.0.0-"+b.date.Format("20060102150405")+"-"+b.commit[:12])
		if changes != "" {
			b.version += "+dirty"
		}
	}
	return nil
}

// compile makes the binary of an architecture.
func (b *build) compile(arch string) (string, error) {
	binary := filepath.Join(b.out, "engram-linux-"+arch)
	stamp := func(name, value string) string {
		return fmt.Sprintf("-X %s/internal/release.%s=%s", module, name, value)
	}
	flags := strings.Join([]string{"-s", "-w", "-buildid=", stamp("version", b.version), stamp("commit", b.commit), stamp("date", b.date.Format(time.RFC3339))}, " ")
	absolute, err := filepath.Abs(binary)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", absolute, "./cmd/engram")
	cmd.Dir = b.root
	// The benchmarks' module has no part in it: what go.mod says is built.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", arch, err, out)
	}
	return binary, nil
}

// checkStatic refuses a binary that needs a dynamic linker or libraries, which would not run
// on every robot, and one with symbols or debugging information, which take a third of its size.
func checkStatic(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range []string{".symtab", ".debug_info", ".zdebug_info"} {
		if f.Section(name) != nil {
			return fmt.Errorf("%s is not stripped: it has a section %s", binary, name)
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s is not static: it has a segment %v", binary, p.Type)
		}
	}
	if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
		return fmt.Errorf("%s is not static: it needs %s", binary, strings.Join(libraries, ", "))
	}
	return nil
}

func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
