package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```(sh|json)\n(.*?)^```$")
	space       = regexp.MustCompile(`\s+`)
)

// The commands in docs/http.md do what the document says, with the curl there is.
func TestHTTPDocument(t *testing.T) {
	for _, program := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	doc, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overTCP := engramServer(t, "127.0.0.1:0", "unix:"+filepath.Join(dir, "engram.sock"))
	blocks := fencedBlock.FindAllStringSubmatch(string(doc), -1)
	if len(blocks) < 20 || len(blocks)%2 != 0 {
		t.Fatalf("found %d blocks; want commands, each with what it prints", len(blocks))
	}
	for i := 0; i < len(blocks); i += 2 {
		if blocks[i][1] != "sh" || blocks[i+1][1] != "json" {
			t.Fatalf("block %d is not a command with what it prints:\n%s", i, blocks[i][2])
		}
		script := strings.ReplaceAll(blocks[i][2], "http://127.0.0.1:7411", overTCP)
		cmd := exec.Command("bash", "-c", script)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s\n%v\n%s", script, err, out)
			continue
		}
		if !expectation(blocks[i+1][2]).MatchString(space.ReplaceAllString(string(out), "")) {
			t.Errorf("%s\nprinted\n%s\nwant\n%s", script, out, blocks[i+1][2])
		}
	}
}

// expectation matches output without its white space, of which JSON may have any.
func expectation(text string) *regexp.Regexp {
	parts := strings.Split(space.ReplaceAllString(text, ""), "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

func TestExpectationCanFail(t *testing.T) {
	e := expectation(`{"a": "…", "b": 1}`)
	if !e.MatchString(`{"a":"anything","b":1}`) || e.MatchString(`{"a":"anything","b":2}`) || e.MatchString(`{"a":"x","b":1}more`) {
		t.Error("an expectation does not tell right from wrong")
	}
}
