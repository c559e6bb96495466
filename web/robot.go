package web

import (
	"net/http"
	"path"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/pose/service"
)

// robot answers with the description of a robot as URDF, at a time or the newest; with nothing if it has one without
// a URDF:
//
//	/view/robot?name=ROBOT&t=TIME
func (p *Page) robot(w http.ResponseWriter, r *http.Request, q query) error {
	ctx, name := r.Context(), q.Get("name")
	s, err := q.selector()
	if err != nil {
		return err
	}
	found, err := p.svc.Query(ctx, engram.MustPattern("~(.+:)?RobotState/Description").Select(s))
	if err != nil {
		return err
	}
	described := false
	for it := range found.All() {
		if service.RobotOf(it.ID) != name {
			continue
		}
		m, err := p.types.Decode(ctx, it.Instances[0].Payload)
		if err != nil {
			return err
		}
		text, _ := m["urdf"].(string)
		if described = true; text == "" {
			continue
		}
		h := w.Header()
		h.Set("Content-Type", "application/xml; charset=utf-8")
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

// asset answers with a file of a robot's description, such as a mesh:
//
//	/view/asset?uri=package://arm/meshes/hand.stl
func (p *Page) asset(w http.ResponseWriter, _ *http.Request, q query) error {
	uri := q.Get("uri")
	b, err := foxglove.ReadAsset(p.o.Assets, uri)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "private, max-age=3600")
	// Files may be of anybody: none is a document of this page.
	h.Set("Content-Disposition", "attachment")
	kind := "application/octet-stream"
	switch strings.ToLower(path.Ext(uri)) {
	case ".png":
		kind = "image/png"
	case ".jpg", ".jpeg":
		kind = "image/jpeg"
	}
	h.Set("Content-Type", kind)
	_, err = w.Write(b)
	return err
}
