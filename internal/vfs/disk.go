package vfs

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	truncateFlag = os.O_TRUNC
	appendFlag   = os.O_APPEND
)

// sector is the unit in which a write is done or not when power is lost.
const sector = 512

// disk is what of a folder is on the disk, and what is on its way there: the
// changes of names, in their order, and each file's edits.
type disk struct {
	root  *node
	names []nameChange // not durable yet
}

// node is a file or a folder.
type node struct {
	now, durable map[string]*node // of a folder; nil for a file

	stable []byte // of a file: its content on the disk
	dirty  []edit // what came since
}

// edit is a write, or a change of a file's size.
type edit struct {
	at       int64
	data     []byte
	truncate bool
}

// nameChange is an entry of a folder that was made, replaced or removed.
type nameChange struct {
	folder *node
	name   string
	to     *node // nil if it was removed
}

func newFolder() *node { return &node{now: map[string]*node{}, durable: map[string]*node{}} }

func (n *node) edit(e edit) { n.dirty = append(n.dirty, e) }

// flush makes the first edits durable.
func (n *node) flush(edits int) {
	for _, e := range n.dirty[:edits] {
		n.stable = e.apply(n.stable)
	}
	n.dirty = append([]edit(nil), n.dirty[edits:]...)
}

func (e edit) apply(b []byte) []byte {
	end := e.at + int64(len(e.data))
	if grow := end - int64(len(b)); grow > 0 {
		b = append(b, make([]byte, grow)...)
	}
	if e.truncate {
		return b[:e.at:e.at]
	}
	copy(b[e.at:], e.data)
	return b
}

// find returns the node at a path, nil if there is none.
func (d *disk) find(path []string) *node {
	n := d.root
	for _, name := range path {
		if n = n.now[name]; n == nil {
			return nil
		}
	}
	return n
}

func (d *disk) change(path []string, to *node) {
	folder, name := d.find(path[:len(path)-1]), path[len(path)-1]
	if to == nil {
		delete(folder.now, name)
	} else {
		folder.now[name] = to
	}
	d.names = append(d.names, nameChange{folder, name, to})
}

func (d *disk) link(path []string, n *node) { d.change(path, n) }

func (d *disk) unlink(path []string) { d.change(path, nil) }

func (d *disk) rename(from, to []string) {
	n := d.find(from)
	d.change(to, n)
	d.change(from, nil)
}

// syncFolder makes the changes of a folder's names durable.
func (d *disk) syncFolder(path []string) {
	folder := d.find(path)
	var rest []nameChange
	for _, c := range d.names {
		if c.folder == folder {
			c.apply()
		} else {
			rest = append(rest, c)
		}
	}
	d.names = rest
}

func (c nameChange) apply() {
	if c.to == nil {
		delete(c.folder.durable, c.name)
	} else {
		c.folder.durable[c.name] = c.to
	}
}

// path returns the names on the way from the root to name.
func (f *Faulty) path(name string) []string {
	rel, err := filepath.Rel(f.root, filepath.Clean(name))
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		panic(fmt.Sprintf("vfs: %s lies outside %s", name, f.root))
	}
	if rel == "." {
		return nil
	}
	return strings.Split(rel, string(filepath.Separator))
}

// load reads what is in a folder of the file system below.
func (f *Faulty) load(n *node, dir string) {
	entries, err := f.FS.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		child := newFolder()
		if e.IsDir() {
			f.load(child, filepath.Join(dir, e.Name()))
		} else {
			child = &node{stable: f.content(filepath.Join(dir, e.Name()))}
		}
		n.now[e.Name()], n.durable[e.Name()] = child, child
	}
}

func (f *Faulty) content(name string) []byte {
	file, err := f.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	if err != nil {
		panic(err)
	}
	return b
}

// CrashImage writes into the folder to, which it makes, what would be found of the
// Faulty's folder if power were lost now: names and bytes that were synced, and of
// the others some by chance. The changes of names survive in their order, up to one
// of them; writes in any order, sector by sector.
func (f *Faulty) CrashImage(to string, chance *rand.Rand) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	survive := chance.IntN(len(f.mu.disk.names) + 1)
	changed := map[*node]map[string]*node{} // folders with changes that survive
	for _, c := range f.mu.disk.names[:survive] {
		if changed[c.folder] == nil {
			changed[c.folder] = maps.Clone(c.folder.durable)
		}
		if c.to == nil {
			delete(changed[c.folder], c.name)
		} else {
			changed[c.folder][c.name] = c.to
		}
	}
	return f.mu.disk.root.writeImage(to, changed, chance)
}

// writeImage writes what is left of a file or a folder after a crash.
func (n *node) writeImage(to string, changed map[*node]map[string]*node, chance *rand.Rand) error {
	if n.durable == nil {
		return os.WriteFile(to, n.afterCrash(chance), 0o600)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	children := changed[n]
	if children == nil {
		children = n.durable
	}
	for _, name := range slices.Sorted(maps.Keys(children)) { // the same chance gives the same image
		if err := children[name].writeImage(filepath.Join(to, name), changed, chance); err != nil {
			return err
		}
	}
	return nil
}

// afterCrash returns what a file holds if power is lost now.
func (n *node) afterCrash(chance *rand.Rand) []byte {
	b := append([]byte(nil), n.stable...)
	luck := chance.Float64() // of this file: sometimes nothing more survives, sometimes nearly all
	for _, e := range n.dirty {
		if e.truncate {
			if chance.Float64() < luck {
				b = e.apply(b)
			}
			continue
		}
		for done := 0; done < len(e.data); {
			end := min(len(e.data), done+sector-int((e.at+int64(done))%sector))
			if chance.Float64() < luck {
				b = edit{at: e.at + int64(done), data: e.data[done:end]}.apply(b)
			}
			done = end
		}
	}
	return b
}
