package credentials

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

func authority(t testing.TB) *Authority {
	t.Helper()
	ca, err := NewAuthority("test", 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t testing.TB, ca *Authority, id access.Identity, server bool) (*Bundle, []byte) {
	t.Helper()
	b, err := ca.Issue(id, server, Serving{}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b, text
}

func TestBundleRoundTrip(t *testing.T) {
	ca := authority(t)
	for _, server := range []bool{false, true} {
		b, text := issue(t, ca, "robot1.main", server)
		got, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		id, err := got.Identity()
		if err != nil || id != "robot1.main" || got.IsServer() != server || SerialOf(got.Cert) != SerialOf(b.Cert) {
			t.Errorf("%v %v %v", id, err, got.IsServer())
		}
	}
	cert, key, err := ca.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseAuthority(cert, key)
	if err != nil || again.Deployment() != "test" {
		t.Error(err)
	}
	if _, err := again.Issue("owner", false, Serving{}, time.Hour); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a certificate for the owner: %v", err)
	}
	if b, err := again.Issue("long", false, Serving{}, 1000*time.Hour); err != nil || b.Cert.NotAfter.After(again.cert.NotAfter) {
		t.Errorf("a certificate outlives its authority: %v", err)
	}
	if _, err := Parse(append(cert, key...)); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("the authority's key as credentials: %v", err)
	}
}

// What is wrong with a file is said without its content.
func TestBadFiles(t *testing.T) {
	ca := authority(t)
	_, one := issue(t, ca, "one", true)
	_, two := issue(t, ca, "two", true)
	blocks := regexp.MustCompile(`(?s)-----BEGIN.*?-----END[^\n]*\n`)
	part := func(text []byte, i int) string { return string(blocks.FindAll(text, -1)[i]) }
	secret := strings.Split(part(one, 1), "\n")[1]
	dir := t.TempDir()
	for _, tt := range []struct {
		name, text string
		mode       os.FileMode
		code       engram.Code
	}{
		{"open to others", string(one), 0o640, engram.Forbidden},
		{"empty", "", 0o600, engram.Invalid},
		{"no key", part(one, 0) + part(one, 2), 0o600, engram.Invalid},
		{"no authority", part(one, 0) + part(one, 1), 0o600, engram.Invalid},
		{"another's key", part(one, 0) + part(two, 1) + part(one, 2), 0o600, engram.Invalid},
		{"a damaged key", part(one, 0) + strings.Replace(part(one, 1), secret[:8], "AAAAAAAA", 1) + part(one, 2), 0o600, engram.Corrupt},
		{"another block", strings.ReplaceAll(string(one), "PRIVATE KEY", "RSA PRIVATE KEY"), 0o600, engram.Invalid},
	} {
		file := filepath.Join(dir, "x")
		os.Remove(file)
		if err := os.WriteFile(file, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file, nil)
		if engram.CodeOf(err) != tt.code {
			t.Errorf("%s: %v (%v)", tt.name, err, engram.CodeOf(err))
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), secret[8:20])) {
			t.Errorf("%s: the error shows the key: %v", tt.name, err)
		}
	}
}

// What systemd hands a service on is taken as it is: mode 0400, or 0440 where an access
// control list names the service's user, in a directory that is the service's alone.
func TestFilesOfSystemd(t *testing.T) {
	_, text := issue(t, authority(t), "one", true)
	dir, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	for _, tt := range []struct {
		dir  string
		mode os.FileMode
		code engram.Code
	}{
		{dir, 0o400, 0}, {dir, 0o440, 0}, {dir, 0o444, engram.Forbidden}, {dir, 0o460, engram.Forbidden},
		{elsewhere, 0o400, 0}, {elsewhere, 0o440, engram.Forbidden}, {filepath.Join(dir, "below"), 0o440, engram.Forbidden},
	} {
		if err := os.MkdirAll(tt.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(tt.dir, fmt.Sprintf("%o", tt.mode))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file, nil); engram.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want code %v", file, err, tt.code)
		}
	}
}

// Connections that come after a file was replaced are with what is in it then; a file
// that cannot be read changes nothing.
func TestReplacedFileCounts(t *testing.T) {
	ca := authority(t)
	file := filepath.Join(t.TempDir(), "server.credentials")
	first, text := issue(t, ca, "server", true)
	if err := access.WriteFile(file, text); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
	var log bytes.Buffer
	s, err := Load(file, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if got := serverSerial(t, s, ca); got != SerialOf(first.Cert) {
		t.Fatal(got)
	}
	if err := access.WriteFile(file, []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	if got := serverSerial(t, s, ca); got != SerialOf(first.Cert) {
		t.Error("a file that cannot be read has changed something")
	}
	second, text := issue(t, ca, "server", true)
	if err := access.WriteFile(file, text); err != nil {
		t.Fatal(err)
	}
	if got := serverSerial(t, s, ca); got != SerialOf(second.Cert) {
		t.Error("the file's new certificate is not used")
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); len(line) > 40 && strings.Contains(log.String(), line) {
			t.Error("the log shows what is in the file")
		}
	}
	if !strings.Contains(log.String(), "cannot be read") {
		t.Errorf("log: %s", log.String())
	}
}

// serverSerial returns the serial of the certificate that a server shows.
func serverSerial(t *testing.T, s *Store, ca *Authority) string {
	t.Helper()
	config, err := s.ServerConfig(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	b, _ := issue(t, ca, "client", false)
	c, err := tls.Dial("tcp", l.Addr().String(), Of(b).ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	serial := SerialOf(c.ConnectionState().PeerCertificates[0])
	c.Close()
	<-done
	return serial
}

// A client's certificate is not taken for a server's, whatever else is right.
func TestUsages(t *testing.T) {
	ca := authority(t)
	program, _ := issue(t, ca, "program", false)
	server, _ := issue(t, ca, "server", true)
	s := Of(server)
	for _, tt := range []struct {
		b     *Bundle
		usage x509.ExtKeyUsage
		ok    bool
	}{
		{program, x509.ExtKeyUsageClientAuth, true}, {program, x509.ExtKeyUsageServerAuth, false},
		{server, x509.ExtKeyUsageClientAuth, true}, {server, x509.ExtKeyUsageServerAuth, true},
	} {
		_, err := s.verify(tls.ConnectionState{PeerCertificates: []*x509.Certificate{tt.b.Cert}}, tt.usage)
		if (err == nil) != tt.ok {
			t.Errorf("%v as %v: %v", tt.b.Cert.Subject, tt.usage, err)
		}
	}
	if _, err := Of(program).ServerConfig(nil); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a program as a server: %v", err)
	}
}

func TestFolder(t *testing.T) {
	f := Folder{Dir: filepath.Join(t.TempDir(), "auth")}
	if _, err := f.Authority(); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("%v", err)
	}
	if err := f.Init("lab", AuthorityValid); err != nil {
		t.Fatal(err)
	}
	if err := f.Init("lab", AuthorityValid); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("a second authority: %v", err)
	}
	out := f.CredentialsFile("planner")
	made, err := f.Issue(Order{Identity: "planner", Valid: Valid, File: out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Issue(Order{Identity: "planner", Valid: Valid, File: out}); engram.CodeOf(err) != engram.AlreadyExists {
		t.Errorf("a second certificate: %v", err)
	}
	again, err := f.Issue(Order{Identity: "planner", Again: true, Valid: Valid, File: out})
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Issued()
	if err != nil || len(list) != 2 || !reflect.DeepEqual(list[0], made) || !reflect.DeepEqual(list[1], again) {
		t.Errorf("%v %v", list, err)
	}
	s, err := Load(out, nil)
	if err != nil || s.Identity() != "planner" || SerialOf(s.Current().Cert) != again.Serial {
		t.Errorf("%v", err)
	}
	for _, name := range []string{caKeyFile, issuedFile, rulesFile} {
		if info, err := os.Stat(filepath.Join(f.Dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if err := os.Chmod(filepath.Join(f.Dir, caKeyFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Authority(); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("a key that others may read: %v", err)
	}
}

// Whatever the file, it is read or refused.
func FuzzParse(f *testing.F) {
	ca := authority(f)
	_, text := issue(f, ca, "one", true)
	f.Add(text)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n" + base64.StdEncoding.EncodeToString([]byte("no")) + "\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := Parse(text)
		if err == nil {
			if _, err := b.Encode(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
