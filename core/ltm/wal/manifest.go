package wal

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/vfs"
)

// manifestVersion is the version that is written of the manifest.
const manifestVersion = 1

// maxManifest bounds the manifest's bytes: that is some 100,000 files.
const maxManifest = 16 << 20

// manifest says what is known to be on the disk of all logs, by their folders. Only files
// that hold records are in it. docs/formats/manifest.md is about it.
type manifest struct {
	Version int              `json:"version"`
	Logs    map[string]State `json:"logs"`
}

// readManifest reads a journal's manifest. Of one that is damaged there is a copy; without
// either nothing is expected of the logs but what their watermarks say.
func (j *Journal) readManifest() (m manifest, err error) {
	if j.opts.Manifest == "" {
		return m, nil
	}
	trouble, err := vfs.ReadKept(j.opts.FS, j.opts.Manifest, maxManifest, func(text []byte) error {
		var read manifest
		if _, err := vfs.CheckChecksum(text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &read); err != nil {
			return err
		}
		if read.Version != manifestVersion {
			return engram.Errorf(engram.Unsupported, j.opts.Manifest, "its version is %d; this program knows %d", read.Version, manifestVersion)
		}
		m = read
		return nil
	}, func(err error) bool { return engram.CodeOf(err) == engram.Unsupported })
	if trouble != nil {
		j.losses = append(j.losses, Loss{File: filepath.Base(j.opts.Manifest), Reason: trouble.Error()})
	}
	return m, err
}

// missingLogs tells of the logs that the manifest names and whose folders are not there.
func (j *Journal) missingLogs(m manifest) (gone []Loss) {
	for folder, s := range m.Logs {
		if j.folders[folder] {
			continue
		}
		for _, f := range s.Files {
			if f.Number < s.First || f.Bytes <= recordsAt {
				continue
			}
			gone = append(gone, Loss{
				File: filepath.Join(folder, fileName(f.Number)), Bytes: f.Bytes, From: f.Begun, Until: f.Until, Gone: true, Memory: s.Memory,
				Reason: fmt.Sprintf("the log's folder is missing: %d bytes of the file were on the disk, 0 are there", f.Bytes),
			})
		}
	}
	slices.SortFunc(gone, func(a, b Loss) int { return strings.Compare(a.File, b.File) })
	return gone
}

// errorOf says of what is gone what to do.
func (j *Journal) errorOf(gone []Loss) error {
	const most = 5
	var texts []string
	for _, g := range gone[:min(most, len(gone))] {
		texts = append(texts, filepath.Join(j.opts.Dir, g.File)+": "+g.Reason)
	}
	if more := len(gone) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d files more", more))
	}
	return engram.Errorf(engram.Corrupt, j.opts.Dir, "%w: %s; put the files back if there is a copy, or begin with --accept-loss to go on without what was in them, which is told from then on", ErrGone, strings.Join(texts, "; "))
}

// keepManifest writes the manifest whenever something changes that its logs' watermarks
// do not tell, until the journal is closed.
func (j *Journal) keepManifest() {
	const again = time.Second
	timer := time.NewTimer(again)
	defer timer.Stop()
	for failed := false; ; {
		if failed {
			timer.Reset(again)
		} else {
			timer.Stop()
		}
		select {
		case <-j.changed:
		case <-timer.C:
		case <-j.closing:
			return
		}
		failed = j.writeManifest() != nil
	}
}

func (j *Journal) writeManifest() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	m := manifest{Version: manifestVersion, Logs: map[string]State{definitionsFolder: j.definitions[0].state(), definitionsCopy: j.definitions[1].state()}}
	for memory, l := range *j.logs.Load() {
		m.Logs[folderOf(memory)] = l.state()
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = vfs.WriteKept(j.opts.FS, j.opts.Manifest, vfs.WithChecksum(text), vfs.ReplaceFile)
	}
	j.opts.ManifestHealth(err)
	return err
}

// Check tells what is gone of the logs in o.Dir that was on their disk, without opening
// them; it changes nothing. No server may have them open.
func Check(o JournalOptions) (gone []Loss, err error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	j := &Journal{opts: o, folders: map[string]bool{}}
	m, err := j.readManifest()
	if err != nil {
		return nil, err
	}
	for folder, s := range m.Logs {
		dir := filepath.Join(o.Dir, folder)
		if _, err := o.FS.Stat(dir); err != nil {
			continue
		}
		j.folders[folder] = true
		l := &Log{opts: Options{FS: o.FS, Dir: dir, Memory: s.Memory, Expected: s}.withDefaults()}
		l.mark.fs, l.mark.path = o.FS, filepath.Join(dir, watermarkFile)
		expected, unread := l.expect(), map[uint64]*Loss{}
		for number := range expected {
			f, loss, err := l.readHeader(number, true)
			switch {
			case err != nil:
				return nil, err
			case f != nil:
				l.mu.files = append(l.mu.files, f)
			case loss != nil:
				unread[number] = loss
			}
		}
		for _, g := range l.compare(expected, unread) {
			g.File, g.Memory = filepath.Join(folder, g.File), s.Memory
			gone = append(gone, g)
		}
	}
	gone = append(gone, j.missingLogs(m)...)
	for i, folder := range definitionFolders {
		other := definitionFolders[1-i]
		lost := slices.ContainsFunc(gone, func(g Loss) bool { return filepath.Dir(g.File) == other })
		if lost || len(m.Logs[other].Files) == 0 {
			continue
		}
		for k := range gone {
			if filepath.Dir(gone[k].File) == folder {
				gone[k].Copy = other
			}
		}
	}
	return gone, nil
}
