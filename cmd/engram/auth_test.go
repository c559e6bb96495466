package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
)

// engramCommand runs a command, and returns its exit code and what it says.
func engramCommand(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &out)
	return code, out.String()
}

// Only a certificate of the identity that is named is revoked, by its serial or the
// beginning of it, if that is of no other.
func TestRevokeOneCertificate(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ENGRAM_AUTH", dir)
	for _, args := range [][]string{
		{"auth", "init"}, {"auth", "add", "robot1", "--server", "--serve", "robot1:*"}, {"auth", "add", "planner"}, {"auth", "rotate", "planner"},
	} {
		if code, out := engramCommand(t, args...); code != exitOK {
			t.Fatal(args, out)
		}
	}
	list, err := credentials.Folder{Dir: dir}.Issued()
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	// Serials are random; these have a beginning that is of both.
	file := filepath.Join(dir, "issued.ndjson")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	robot, old, current := list[0].Serial, "5f3a9c01234567890123456789abcd", "5f3a9c91234567890123456789abcd"
	text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte(list[1].Serial), []byte(old)), []byte(list[2].Serial), []byte(current))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	revoked := func() string {
		t.Helper()
		text, err := access.ReadFile(filepath.Join(dir, "access.yaml"), true)
		if err != nil {
			t.Fatal(err)
		}
		p, err := access.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var serials []string
		for _, r := range p.Revoked {
			serials = append(serials, string(r.Identity)+r.Serial)
		}
		return strings.Join(serials, " ")
	}
	for serial, why := range map[string]string{
		robot:      "no certificate of planner",
		robot[:12]: "no certificate of planner",
		"5f3a9c":   "2 certificates of planner",
		"5f3a9c7":  "no certificate of planner",
		"0":        "no serial",
		"planner":  "no serial",
	} {
		if code, out := engramCommand(t, "auth", "revoke", "planner", "--serial", serial); code == exitOK || !strings.Contains(out, why) || revoked() != "" {
			t.Errorf("--serial %s: exit code %d, %s; revoked: %s", serial, code, out, revoked())
		}
	}
	if code, out := engramCommand(t, "auth", "revoke", "planner", "--serial", "5F:3A:9C:0"); code != exitOK || !strings.Contains(out, old) || revoked() != old {
		t.Errorf("exit code %d, %s; revoked: %s", code, out, revoked())
	}
	if code, out := engramCommand(t, "auth", "revoke", "planner", "--serial", "00"+current); code != exitOK || revoked() != old+" "+current {
		t.Errorf("exit code %d, %s; revoked: %s", code, out, revoked())
	}

	t.Setenv("ENGRAM_AUTH", t.TempDir())
	if code, out := engramCommand(t, "auth", "revoke", "planner", "--serial", old); code == exitOK || !strings.Contains(out, "there is no authority here") {
		t.Errorf("without the list of certificates: exit code %d, %s", code, out)
	}
}

// That everybody may do everything is said once it is so, and not where the file stays
// as it is.
func TestRemoveTheLastRule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "access.yaml")
	const says = "That was the last rule"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A program cannot change a file that is written so.
	write("rules: [{allow: read, to: planner, on: Object}]\n")
	if code, out := engramCommand(t, "auth", "rule", "remove", "1", "--access", file); code == exitOK || strings.Contains(out, says) {
		t.Errorf("exit code %d: %s", code, out)
	}
	write("rules:\n  - allow: read\n    to: planner\n    on: Object\n  - allow: write\n    to: planner\n    on: Object\n")
	if code, out := engramCommand(t, "auth", "rule", "remove", "5", "--access", file); code != exitOK || strings.Contains(out, says) {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := engramCommand(t, "auth", "rule", "remove", "2", "--access", file); code != exitOK || !strings.Contains(out, says) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
