package web

import (
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// robot answers with the description of a robot as URDF; with nothing (204) if it has one
// without a URDF:
//
//	name  the robot
//	t     the time; otherwise the newest description
//	asof  what was known then
func (p *scenes) robot(w http.ResponseWriter, r *http.Request, q query) error {
	ctx, name := r.Context(), q.Get("name")
	s, err := q.selector()
	if err != nil {
		return err
	}
	ask := engram.MustPattern("~(.+:)?RobotState/Description").Select(s)
	if ask.AsOf, err = q.asOf(); err != nil {
		return err
	}
	found, err := p.svc.Query(ctx, ask)
	if err != nil {
		return err
	}
	described := false
	for it := range found.All() {
		if lookup.RobotOf(it.ID) != name {
			continue
		}
		m, err := p.types.decode(ctx, it.Instances[0].Payload)
		if err != nil {
			return err
		}
		text, _ := m["urdf"].(string)
		if described = true; text == "" {
			continue
		}
		h := w.Header()
		h.Set("Content-Type", "application/xml; charset=utf-8")
		h.Set("Content-Disposition", "attachment")
		h.Set("Cache-Control", "private, no-cache")
		_, err = w.Write([]byte(text))
		return err
	}
	if described {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return engram.Errorf(engram.NotFound, name, "there is no description of such a robot; commit one to RobotState/Description")
}

// asset answers with a file that a description names, such as a mesh:
//
//	uri  package://arm/meshes/hand.stl is arm/meshes/hand.stl in the first of the folders of
//	     [Options].Assets that has it
//
// Nothing outside of the folders is read, whatever names and links say.
func (p *scenes) asset(w http.ResponseWriter, r *http.Request, q query) error {
	uri := q.Get("uri")
	name, ok := strings.CutPrefix(uri, "package://")
	if !ok {
		return engram.Errorf(engram.Forbidden, uri, "only package:// can be fetched")
	}
	if len(p.o.Assets) == 0 {
		return engram.Errorf(engram.NotFound, uri, "this server gives no files; start it with --assets DIR")
	}
	for _, dir := range p.o.Assets {
		f, info := openBelow(dir, name)
		if f == nil {
			continue
		}
		defer f.Close()
		h := w.Header()
		h.Set("Cache-Control", "private, max-age=3600")
		// Files may be of anybody: none is a document of this page.
		h.Set("Content-Disposition", "attachment")
		kind := "application/octet-stream"
		switch strings.ToLower(path.Ext(name)) {
		case ".png":
			kind = "image/png"
		case ".jpg", ".jpeg":
			kind = "image/jpeg"
		}
		h.Set("Content-Type", kind)
		http.ServeContent(w, r, "", info.ModTime(), f)
		return nil
	}
	return engram.Errorf(engram.NotFound, uri, "none of the folders of --assets has it")
}

// openBelow opens a file below a folder; nil if there is none that can be read.
func openBelow(dir, name string) (*os.File, os.FileInfo) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // to open a pipe is to wait
		return nil, nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, nil
	}
	return f, info
}
