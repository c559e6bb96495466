package foxglove

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// Parameters are the descriptions of robots, as ROS names them: /robot_description is the
// first robot's, /NAME/robot_description that of each.
const (
	descriptionType = "engram.robot_state.Description"
	parameterName   = "robot_description"
)

func (s *session) getParameters(ctx context.Context, r *protocol.Request) error {
	return s.send(ctx, protocol.ParameterValues{Op: "parameterValues", Parameters: s.readParameters(ctx, r.ParameterNames), ID: r.ID})
}

// readParameters returns parameters by name; no names mean all. Unknown ones have no value.
func (s *session) readParameters(ctx context.Context, names []string) []protocol.Parameter {
	all := []protocol.Parameter{}
	var entities []engram.ID
	for key := range s.entities {
		if key.typ == descriptionType {
			entities = append(entities, key.entity)
		}
	}
	slices.SortFunc(entities, engram.ID.Compare)
	for _, id := range entities {
		newest, err := s.present(ctx, id)
		if err != nil {
			continue
		}
		m, err := decode(ctx, s.door.types, descriptionType, engram.Item{ID: id, Snapshot: newest})
		urdf, _ := m["urdf"].(string)
		if err != nil || urdf == "" {
			continue
		}
		if len(all) == 0 {
			all = append(all, protocol.Parameter{Name: "/" + parameterName, Value: urdf})
		}
		name, _ := m["name"].(string)
		if name == "" {
			name = id.Entity()
		}
		all = append(all, protocol.Parameter{Name: "/" + name + "/" + parameterName, Value: urdf})
	}
	if len(names) == 0 {
		return all
	}
	wanted := []protocol.Parameter{}
	for _, name := range names {
		p := protocol.Parameter{Name: name}
		for _, a := range all {
			if a.Name == name || a.Name == "/"+name {
				p.Value = a.Value
			}
		}
		wanted = append(wanted, p)
	}
	return wanted
}

// parameterChanged sends the descriptions of robots anew to a viewer that wants them, if a
// snapshot is one.
func (s *session) parameterChanged(ctx context.Context, it engram.Item) error {
	if len(s.parameters) == 0 || len(it.Instances) == 0 || it.Instances[0].Payload.Type != descriptionType {
		return nil
	}
	var names []string
	for name := range s.parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	return s.send(ctx, protocol.ParameterValues{Op: "parameterValues", Parameters: s.readParameters(ctx, names)})
}

// maxAsset bounds a file that is fetched, in bytes.
const maxAsset = 256 << 20

// ReadAsset returns a file that a viewer may fetch: package://arm/meshes/hand.stl is arm/meshes/hand.stl in the first of
// the folders that has it. The error is Forbidden for an address of another kind, NotFound if no folder has the file,
// Exhausted if it is too large. Nothing outside of the folders is read.
func ReadAsset(folders []string, uri string) ([]byte, error) {
	name, ok := strings.CutPrefix(uri, "package://")
	if !ok {
		return nil, engram.Errorf(engram.Forbidden, uri, "only package:// can be fetched")
	}
	if len(folders) == 0 {
		return nil, engram.Errorf(engram.NotFound, uri, "this server gives no files; start it with --assets DIR")
	}
	for _, dir := range folders {
		b, err := readBelow(dir, name)
		if err == nil {
			return b, nil
		}
		if engram.CodeOf(err) == engram.Exhausted {
			return nil, err
		}
	}
	return nil, engram.Errorf(engram.NotFound, uri, "none of the folders of --assets has it")
}

// readBelow reads a file below a folder, and nothing outside, whatever the name and links say.
func readBelow(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, engram.Errorf(engram.Invalid, name, "it is no file")
	}
	if info.Size() > maxAsset {
		return nil, engram.Errorf(engram.Exhausted, name, "it has %d bytes; files up to %d are given", info.Size(), maxAsset)
	}
	return root.ReadFile(name)
}
