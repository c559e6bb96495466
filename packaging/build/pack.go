package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// contents are what is packed beside the binary, by the name in the archive.
func (b *build) contents(binary string) ([][2]string, error) {
	out := [][2]string{{"engram", binary}}
	for _, pattern := range []string{
		"LICENSE", "README.md", "packaging/systemd/*", "packaging/config/*", "packaging/grafana/*", "packaging/prometheus/*", "docs/operations.md", "docs/distribution.md",
	} {
		files, err := filepath.Glob(filepath.Join(b.root, pattern))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no %s to be packed", pattern)
		}
		for _, f := range files {
			name, err := filepath.Rel(b.root, f)
			if err != nil {
				return nil, err
			}
			out = append(out, [2]string{name, f})
		}
	}
	return out, nil
}

// pack packs a binary with what is needed beside it. All times are the commit's, so that
// the archive is the same whenever it is made.
func (b *build) pack(arch, binary string) (string, error) {
	files, err := b.contents(binary)
	if err != nil {
		return "", err
	}
	licenses, err := b.licenses(arch)
	if err != nil {
		return "", err
	}
	folder := "engram-" + b.version + "-linux-" + arch
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	t := tar.NewWriter(z)
	add := func(name string, mode int64, text []byte) error {
		h := &tar.Header{Name: folder + "/" + name, Mode: mode, Size: int64(len(text)), ModTime: b.date, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(text)
		return err
	}
	if err := add("THIRD_PARTY_LICENSES", 0o644, licenses); err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := os.ReadFile(f[1])
		if err != nil {
			return "", err
		}
		mode := int64(0o644)
		if f[0] == "engram" {
			mode = 0o755
		}
		if err := add(f[0], mode, text); err != nil {
			return "", err
		}
	}
	if err := t.Close(); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	name := filepath.Join(b.out, folder+".tar.gz")
	return name, os.WriteFile(name, archive.Bytes(), 0o644)
}

// checksums writes SHA256SUMS, as 'sha256sum -c' reads it.
func (b *build) checksums(files []string) error {
	var out bytes.Buffer
	slices.Sort(files)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(text), filepath.Base(f))
	}
	name := filepath.Join(b.out, "SHA256SUMS")
	fmt.Println(name)
	return os.WriteFile(name, out.Bytes(), 0o644)
}
