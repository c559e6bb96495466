package wal

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram/internal/vfs"
)

// definitionsFolder holds the log of definitions; no memory's folder has that name.
const definitionsFolder = "=definitions"

// definitionsCopy holds the same once more: damage to one of them costs nothing.
const definitionsCopy = "=definitions.copy"

// maxFolder is the longest name that a memory's folder is given in full.
const maxFolder = 180

// folderOf returns the name of a memory's folder: its own, with what a file system
// may not like as %XX. A long one is cut and bears a checksum; its files say whose
// it is.
func folderOf(memory string) string {
	var b strings.Builder
	for i := range len(memory) {
		c := memory[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= maxFolder {
		return b.String()
	}
	sum := sha256.Sum256([]byte(memory))
	return b.String()[:maxFolder-40] + "=" + fmt.Sprintf("%x", sum[:16])
}

// memoryOf returns the memory whose folder has that name; ok is false if the name
// does not say it.
func memoryOf(folder string) (memory string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(folder); i++ {
		if folder[i] != '%' {
			b.WriteByte(folder[i])
			continue
		}
		if i+3 > len(folder) {
			return "", false
		}
		c, err := strconv.ParseUint(folder[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(c))
		i += 2
	}
	memory = b.String()
	return memory, memory != "" && folderOf(memory) == folder
}

// readMemory returns the memory that the first readable file in a folder names.
func readMemory(fsys vfs.FS, dir string) (memory string, err error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return "", nil
	}
	for _, e := range entries {
		if _, ok := fileNumber(e.Name()); !ok {
			continue
		}
		file, err := fsys.OpenFile(filepath.Join(dir, e.Name()), os.O_RDONLY, 0)
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(io.NewSectionReader(file, 0, recordsAt))
		file.Close()
		for _, at := range [...]int{0, headerCopy} {
			h, _, ok, err := parseHeader(b[min(at, len(b)):])
			if err != nil {
				return "", err
			}
			if ok {
				return h.memory, nil
			}
		}
	}
	return "", nil
}
