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
	endAfter    = regexp.MustCompile(`--max-time \d+`)
	space       = regexp.MustCompile(`\s+`)
)

// The commands in docs/http.md do what the document says, with the curl there is.
func TestHTTPDocument(t *testing.T) {
	for _, program := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed, which the document's commands use", program)
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
		var out []byte
		// What ends a stream after some time gets more of it on a busy machine.
		for _, longer := range []string{"", "0", "00"} {
			cmd := exec.Command("bash", "-c", endAfter.ReplaceAllString(script, "${0}"+longer))
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
			if out, err = cmd.CombinedOutput(); err != nil {
				t.Errorf("%s\n%v\n%s", script, err, out)
				break
			}
			if expectation(blocks[i+1][2]).MatchString(space.ReplaceAllString(string(out), "")) {
				break
			}
			if longer == "00" || !endAfter.MatchString(script) {
				t.Errorf("%s\nprinted\n%s\nwant\n%s", script, out, blocks[i+1][2])
				break
			}
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
