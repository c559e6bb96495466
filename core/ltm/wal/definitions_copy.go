package wal

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
)

// openDefinitions opens the log of definitions and its copy. What is gone of one of them
// is no loss if the other one holds something and nothing of it is gone.
func (j *Journal) openDefinitions(expected manifest) (err error) {
	var gone [len(j.definitions)][]Loss
	for i, folder := range definitionFolders {
		if j.definitions[i], err = j.openFound("", folder, expected.Logs[folder]); err != nil {
			return err
		}
		gone[i], j.gone = j.gone, nil
	}
	for i, folder := range definitionFolders {
		other := j.definitions[1-i]
		if len(gone[i]) == 0 || len(gone[1-i]) > 0 || other.isEmpty() {
			j.gone = append(j.gone, gone[i]...)
			continue
		}
		if j.definitions[i] == nil {
			o := j.opts
			j.opts.AcceptLoss = true
			j.definitions[i], err = j.openFound("", folder, expected.Logs[folder])
			j.opts = o
			j.gone = nil // told below
			if err != nil {
				return err
			}
		}
		j.losses = append(j.losses, gone[i]...)
	}
	return nil
}

// definitionFolders are those of Journal.definitions.
var definitionFolders = [...]string{definitionsFolder, definitionsCopy}

// isEmpty reports whether the log holds no record.
func (l *Log) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.mu.files, func(f *logFile) bool { return f.end > recordsAt })
}

// readDefinitions reads the log of definitions, or its copy if that alone is whole; if
// neither is, all that either holds counts. Both are whole afterwards, if the disk takes it.
func (j *Journal) readDefinitions(ctx context.Context, rec *Recovery) (definitions, error) {
	var read [len(j.definitions)]definitions
	var broken [len(j.definitions)]bool
	for i, l := range j.definitions {
		read[i] = newDefinitions()
		losses, err := l.Replay(ctx, 0, func(r Record) error {
			if r.Kind != KindSnapshot {
				read[i].apply(&r)
			}
			return nil
		})
		rec.addLosses("", definitionFolders[i], losses)
		rec.Bytes += l.Size()
		if err != nil {
			return read[i], err
		}
		broken[i] = slices.ContainsFunc(rec.Losses, func(l Loss) bool {
			return filepath.Dir(l.File) == definitionFolders[i] && !l.Torn
		})
	}
	d := read[0]
	copied := read[1].records > 0 && !broken[1]
	switch {
	case broken[0] && copied:
		d = read[1]
	case broken[0]:
		d = read[1]
		for _, r := range read[0].list() {
			d.apply(r)
		}
	}
	for i := range rec.Losses {
		l := &rec.Losses[i]
		switch filepath.Dir(l.File) {
		case definitionsFolder:
			if copied {
				l.Copy = definitionsCopy
			}
		case definitionsCopy:
			if !broken[0] {
				l.Copy = definitionsFolder
			}
		}
	}
	list := d.list()
	for i, l := range j.definitions {
		if broken[i] || i == 1 && !reflect.DeepEqual(read[1].list(), list) {
			// If that fails it is done at the next start.
			_ = l.replace(list)
		}
	}
	return d, nil
}
