package credentials

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
)

// Folder is where a deployment's authority lives: its certificate and key, the list of
// what it issued, the rules, and the credentials it made. Whoever has the key can be
// everyone; it belongs on a computer that is no robot.
type Folder struct{ Dir string }

// The files of a folder.
const (
	caFile     = "authority.pem"
	caKeyFile  = "authority.key"
	issuedFile = "issued.ndjson"
	rulesFile  = "access.yaml"
)

// How long certificates are valid if nobody says otherwise.
const (
	AuthorityValid = 10 * 365 * 24 * time.Hour
	Valid          = 365 * 24 * time.Hour
)

// RulesFile returns the path of the deployment's rules.
func (f Folder) RulesFile() string { return filepath.Join(f.Dir, rulesFile) }

// CredentialsFile returns the path where an identity's credentials are put.
func (f Folder) CredentialsFile(id access.Identity) string {
	return filepath.Join(f.Dir, string(id)+".credentials")
}

// Init makes the authority of a new deployment, and an empty file of rules.
// AlreadyExists if there is one.
func (f Folder) Init(deployment string, valid time.Duration) error {
	if _, err := os.Stat(filepath.Join(f.Dir, caKeyFile)); !errors.Is(err, fs.ErrNotExist) {
		return engram.Errorf(engram.AlreadyExists, f.Dir, "there is an authority already; all its certificates would be worth nothing with another one")
	}
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return engram.Errorf(engram.Unavailable, f.Dir, "the folder cannot be made: %w", err)
	}
	ca, err := NewAuthority(deployment, valid)
	if err != nil {
		return err
	}
	cert, key, err := ca.Encode()
	if err != nil {
		return err
	}
	if _, err := os.Stat(f.RulesFile()); errors.Is(err, fs.ErrNotExist) {
		text, err := access.ReadFile(f.RulesFile(), true)
		if err == nil {
			err = access.WriteFile(f.RulesFile(), text)
		}
		if err != nil {
			return err
		}
	}
	if err := access.WriteFile(filepath.Join(f.Dir, caFile), cert); err != nil {
		return err
	}
	return access.WriteFile(filepath.Join(f.Dir, caKeyFile), key)
}

// Authority reads the authority.
func (f Folder) Authority() (*Authority, error) {
	var texts [2][]byte
	for i, name := range []string{caFile, caKeyFile} {
		file := filepath.Join(f.Dir, name)
		info, err := os.Stat(file)
		if err == nil && name == caKeyFile && info.Mode().Perm()&0o077 != 0 {
			return nil, engram.Errorf(engram.Forbidden, file, "others may read or change the authority's key (mode %04o); if they could, begin anew with 'engram auth init'", info.Mode().Perm())
		}
		if err == nil {
			texts[i], err = os.ReadFile(file)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, engram.Errorf(engram.NotFound, f.Dir, "there is no authority here; make one with 'engram auth init', or say where it is with --dir")
		}
		if err != nil {
			return nil, engram.Errorf(engram.Unavailable, file, "the authority cannot be read: %w", err)
		}
	}
	ca, err := ParseAuthority(texts[0], texts[1])
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), f.Dir, "the authority cannot be read: %w", err)
	}
	return ca, nil
}

// Issued is a certificate that the authority made.
type Issued struct {
	Identity access.Identity `json:"identity"`
	Server   bool            `json:"server,omitempty"`
	Serving  Serving         `json:"serving,omitzero"` // what the server may serve
	Serial   string          `json:"serial"`
	From     time.Time       `json:"from"`
	Until    time.Time       `json:"until"`
}

// Issued returns the certificates that the authority made, oldest first.
func (f Folder) Issued() ([]Issued, error) {
	text, err := os.ReadFile(filepath.Join(f.Dir, issuedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, engram.Errorf(engram.Unavailable, f.Dir, "the list of certificates cannot be read: %w", err)
	}
	var out []Issued
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var i Issued
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
			return nil, engram.Errorf(engram.Corrupt, filepath.Join(f.Dir, issuedFile), "line %d is not a certificate: %w", n, err)
		}
		out = append(out, i)
	}
	return out, nil
}

// Order says what credentials are to be made.
type Order struct {
	Identity access.Identity
	Server   bool
	Serving  Serving // what the server may serve
	Again    bool    // also if the identity has some that are still valid
	Valid    time.Duration
	File     string // where they are put
}

// Issue makes credentials, notes them, and writes them to a file for its owner only.
// Unless Again is set, AlreadyExists if the identity has a certificate that is still
// valid. Forbidden if the identity is revoked.
func (f Folder) Issue(o Order) (Issued, error) {
	id := o.Identity
	ca, err := f.Authority()
	if err != nil {
		return Issued{}, err
	}
	list, err := f.Issued()
	if err != nil {
		return Issued{}, err
	}
	text, err := access.ReadFile(f.RulesFile(), true)
	if err != nil {
		return Issued{}, err
	}
	policy, err := access.Parse(text)
	if err != nil {
		return Issued{}, engram.Errorf(engram.CodeOf(err), f.RulesFile(), "%w", err)
	}
	if slices.ContainsFunc(policy.Revoked, func(r access.Revocation) bool { return r.Identity == id }) {
		return Issued{}, engram.Errorf(engram.Forbidden, string(id), "the identity is revoked in %s; take another name, or remove the revocation there", f.RulesFile())
	}
	i := slices.IndexFunc(list, func(i Issued) bool { return i.Identity == id && time.Now().Before(i.Until) })
	if i >= 0 && !o.Again {
		return Issued{}, engram.Errorf(engram.AlreadyExists, string(id), "the identity has a certificate that is valid until %s; 'engram auth rotate %s' makes another one", list[i].Until.Format(time.DateOnly), id)
	}
	b, err := ca.Issue(id, o.Server, o.Serving, o.Valid)
	if err != nil {
		return Issued{}, err
	}
	made := Issued{Identity: id, Server: o.Server, Serving: o.Serving, Serial: SerialOf(b.Cert), From: b.Cert.NotBefore.UTC(), Until: b.Cert.NotAfter.UTC()}
	if err := f.note(made); err != nil { // first: what is not noted cannot be revoked by its name
		return Issued{}, err
	}
	secret, err := b.Encode()
	if err != nil {
		return Issued{}, err
	}
	return made, access.WriteFile(o.File, secret)
}

func (f Folder) note(i Issued) error {
	line, err := json.Marshal(i)
	if err != nil {
		return engram.Errorf(engram.Internal, string(i.Identity), "%w", err)
	}
	file, err := os.OpenFile(filepath.Join(f.Dir, issuedFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(append(line, '\n'))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err != nil {
		return engram.Errorf(engram.Unavailable, f.Dir, "the certificate cannot be noted: %w", err)
	}
	return nil
}

// Latest returns the newest certificate of an identity, or NotFound.
func (f Folder) Latest(id access.Identity) (Issued, error) {
	list, err := f.Issued()
	for _, i := range slices.Backward(list) {
		if i.Identity == id {
			return i, nil
		}
	}
	if err == nil {
		err = engram.Errorf(engram.NotFound, string(id), "this authority has issued no certificate to it; 'engram auth ls' lists those that have one")
	}
	return Issued{}, err
}
