package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/memories/vision"
)

// addResources adds what can be read by a URI: the hierarchy down to an instance.
func (s *Server) addResources() {
	s.AddResource(&sdk.Resource{
		URI: scheme, Name: "memory", Title: "What the memory holds", MIMEType: "application/json",
		Description: "Memories and core segments that hold something, as the tool list tells them.",
	}, s.read)
	for _, t := range []sdk.ResourceTemplate{
		{URITemplate: scheme + "{memory}", Name: "memory", Title: "A memory", Description: "What lies in a memory."},
		{URITemplate: scheme + "{memory}/{core}", Name: "core segment", Title: "A core segment", Description: "What lies in a core segment: the data of one kind."},
		{URITemplate: scheme + "{memory}/{core}/{provider}", Name: "provider segment", Title: "A provider segment", Description: "What lies in a provider segment: the data of one source."},
		{URITemplate: scheme + "{memory}/{core}/{provider}/{entity}", Name: "entity", Title: "An entity", Description: "The newest snapshot of an entity; an image as a file."},
		{URITemplate: scheme + "{memory}/{core}/{provider}/{entity}/{time}", Name: "snapshot", Title: "A snapshot", Description: "The snapshot of an entity at exactly this time (RFC 3339); an image as a file."},
		{URITemplate: scheme + "{memory}/{core}/{provider}/{entity}/{time}/{index}", Name: "instance", Title: "An instance", Description: "One instance of a snapshot; an image as a file."},
	} {
		s.AddResourceTemplate(&t, s.read)
	}
}

// read reads a resource.
func (s *Server) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	t, err := parseTarget(uri)
	if err != nil {
		return nil, err
	}
	var contents []*sdk.ResourceContents
	if engram.Level(len(t.pattern.Levels)) < engram.LevelEntity {
		out, _, err := s.list(ctx, listIn{ID: t.pattern.String(), Limit: mostItems})
		if err != nil {
			return nil, resourceError(uri, err)
		}
		if contents, err = textOf(uri, out); err != nil {
			return nil, err
		}
	} else if contents, err = s.datum(ctx, uri, t); err != nil {
		return nil, resourceError(uri, err)
	}
	return &sdk.ReadResourceResult{Contents: contents}, nil
}

// resourceError is not found in the protocol's words, where it is.
func resourceError(uri string, err error) error {
	if engram.CodeOf(err) == engram.NotFound {
		return fmt.Errorf("%w: %w", sdk.ResourceNotFoundError(uri), err)
	}
	return advised(err)
}

func textOf(uri string, v any) ([]*sdk.ResourceContents, error) {
	j, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, err
	}
	return []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(j)}}, nil
}

// datum returns what is known of an entity, and the images in it.
func (s *Server) datum(ctx context.Context, uri string, t target) ([]*sdk.ResourceContents, error) {
	selector := engram.Latest(1)
	if t.time != nil {
		selector = engram.At(*t.time)
	}
	m, err := s.reach(ctx)
	if err != nil {
		return nil, err
	}
	r, err := m.Query(ctx, t.pattern.Select(selector))
	if err != nil {
		return nil, err
	}
	for it := range r.All() {
		if t.index >= len(it.Instances) {
			return nil, engram.Errorf(engram.NotFound, uri, "there is no instance %d; its instances are 0 to %d", t.index, len(it.Instances)-1)
		}
		out := snapshot{ID: it.ID.String(), URI: uriOf(it.ID), Time: timeText(it.Time), Arrived: timeText(it.Arrived)}
		var images []*sdk.ResourceContents
		for i, inst := range it.Instances {
			if t.index >= 0 && i != t.index {
				continue
			}
			o := instance{Type: inst.Payload.Type, Confidence: inst.Confidence}
			if isImage(inst.Payload.Type) {
				o.Image = &imageInfo{Text: "an image"}
				file, err := imageFile(inst.Payload, o.Image)
				if err != nil {
					o.Image.Error = err.Error()
				} else {
					file.URI = uriOf(it.ID.Instance(i))
					images = append(images, file)
				}
			} else if o.Data, o.Cut, err = s.whole(ctx, inst.Payload); err != nil {
				return nil, err
			}
			out.Instances = append(out.Instances, o)
		}
		contents, err := textOf(uri, out)
		return append(contents, images...), err
	}
	return nil, s.nothing(ctx, t, lacking(r.Missing))
}

// whole returns a payload's members, and what there is no room for even in a resource.
func (s *Server) whole(ctx context.Context, p engram.Payload) (value any, cut string, err error) {
	t, err := s.typ(ctx, p.Type)
	if err != nil {
		return nil, "", err
	}
	j, err := t.JSON(p.Bytes, idf.JSONOptions{SummarizeBytes: 1024})
	if err != nil {
		return nil, "", err
	}
	return fitted(j, resourceBytes)
}

// imageFile returns an image as a file: as it is stored if that is JPEG or PNG, else as PNG.
func imageFile(p engram.Payload, info *imageInfo) (*sdk.ResourceContents, error) {
	d, err := vision.Describe(p)
	if err != nil {
		return nil, err
	}
	info.Text, info.Frame = d.String(), d.FrameID
	format := "png"
	if d.Format == "jpeg" {
		format = "jpeg"
	}
	var b bytes.Buffer
	if err := vision.Export(&b, p, format); err != nil {
		return nil, err
	}
	if b.Len() <= wholeBytes {
		info.Shown = "as a file beside this text"
		return &sdk.ResourceContents{MIMEType: "image/" + format, Blob: b.Bytes()}, nil
	}
	img, err := vision.Decode(p)
	if err != nil {
		return nil, err
	}
	data, mime, shown, err := forScreen(img)
	info.Shown, info.Reduced = shown, true
	return &sdk.ResourceContents{MIMEType: mime, Blob: data}, err
}
