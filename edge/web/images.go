package web

import (
	"context"
	"net/http"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// maxCameras bounds the entities with images that are listed.
const maxCameras = 1000

// imageTypes are the types of images that the viewers have, all of which a segment of less special ones may hold.
var imageTypes = []string{"foxglove.RawImage", "foxglove.CompressedImage", videoType}

// camera is an entity with images.
type camera struct {
	ID   engram.ID `json:"id"`
	Type string    `json:"type"` // of the newest payload; of the segment's where that is only on disk
}

// cameras answers which entities have images, as far as their newest payloads tell.
func (p *pictures) cameras(w http.ResponseWriter, r *http.Request, _ query) error {
	segments, err := p.svc.Stats(r.Context(), engram.Pattern{}, engram.LevelProviderSegment)
	if err != nil {
		return err
	}
	all := []camera{}
	for _, s := range segments {
		if s.ID.Level() != engram.LevelProviderSegment || !p.mayHaveImages(r.Context(), s.Type) {
			continue
		}
		entities, err := p.svc.Stats(r.Context(), engram.PatternOf(s.ID), engram.LevelEntity)
		if err != nil {
			return err
		}
		for _, e := range entities {
			typ := e.Type
			if typ == "" {
				typ = s.Type
			}
			if e.ID.Level() == engram.LevelEntity && p.hasImages(r.Context(), typ) && len(all) < maxCameras {
				all = append(all, camera{e.ID, typ})
			}
		}
	}
	return answer(w, all)
}

// hasImages reports whether payloads of a type hold images.
func (p *pictures) hasImages(ctx context.Context, name string) bool {
	if name == videoType || name == "engram.vision.Image" { // which says nothing but that there is one
		return true
	}
	t, err := p.types.get(ctx, name)
	return err == nil && t.Has(idf.KindImage)
}

// mayHaveImages reports whether payloads of a segment of a type may hold images: themselves, or as a type that extends it.
func (p *pictures) mayHaveImages(ctx context.Context, name string) bool {
	if p.hasImages(ctx, name) {
		return true
	}
	core, err := p.types.get(ctx, name)
	if err != nil {
		return false
	}
	for _, image := range imageTypes {
		if t, err := p.types.get(ctx, image); err == nil && t.CheckExtends(core) == nil {
			return true
		}
	}
	return false
}
