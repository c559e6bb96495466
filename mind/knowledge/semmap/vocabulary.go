package semmap

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/world"
)

// The namespaces of what is written. What is read may also be in NSOldKnowRob.
const (
	NSKnowRob    = "http://knowrob.org/kb/knowrob.owl#"
	NSOldKnowRob = "http://ias.cs.tum.edu/kb/knowrob.owl#"
	NSRoboEarth  = "http://www.roboearth.org/kb/roboearth.owl#"
	NSComponent  = "http://knowrob.org/kb/srdl2-comp.owl#"
	NS           = "https://engram.dev/ontology#" // of [Ontology]
	NSProperty   = "https://engram.dev/property#" // of properties of descriptions and maps
	NSState      = "https://engram.dev/state#"    // of states of items
	NSTime       = "https://engram.dev/time#"     // of points in time
	NSClass      = "https://engram.dev/class/"    // of object classes: a provider, "#", a name
)

// Ontology is our own ontology, in Turtle.
//
//go:embed engram.ttl
var Ontology []byte

// KindJoint is the kind of items that are joints in a semantic map; the articulation that
// such an item stands for has its name.
const KindJoint = "joint"

// propertyTypes is the property of descriptions that has all classes that a document says of an
// item. propertySame has the other IRIs that are said to be the same, propertyJoined those of places
// that were joined.
const (
	propertyTypes  = "types"
	propertySame   = "same_as"
	propertyJoined = "joined"
)

// levels are the levels of places that KnowRob knows, from the greater to the lesser, with their
// class and the property that numbers them.
var levels = []struct{ level, class, number string }{
	{"city", "City", ""},
	{"street", "Street", ""},
	{"building", "Building", "streetNumber"},
	{"floor", "LevelOfAConstruction", "floorNumber"},
	{"room", "RoomInAConstruction", "roomNumber"},
}

// kinds are the kinds of items that KnowRob has a class for. The first are also read as such.
var kinds = []struct{ kind, class string }{
	{world.KindMap, "Place"},
	{world.KindMap, "SpaceInAFixedHOC"},
	{world.KindMap, "HumanShelterConstruction"},
	{world.KindRobot, "Robot"},
	{KindJoint, "Joint-Physical"},
	{"furniture", "FurniturePiece"},
	{"wall", "WallOfAConstruction"},
	{"cup", "Cup"},
	{"person", "Person"},
	{world.KindComponent, "PhysicalDevice"}, // written only
	{world.KindObject, "EnduringThing-Localized"},
}

// mapClasses are the classes of maps by kind; those without a namespace are RoboEarth's.
var mapClasses = [...]string{
	world.OccupancyGrid:  NSRoboEarth + "OccupancyGridMap",
	world.SemanticMap:    NSKnowRob + "SemanticEnvironmentMap",
	world.Octomap:        NSRoboEarth + "OctoMap",
	world.VisualSLAM:     NSRoboEarth + "ReVslamMap",
	world.TopologicalMap: NSRoboEarth + "TopologicalMap",
	world.MeshMap:        NS + "MeshMap",
}

// providers are the providers of object classes that stand for an ontology.
var providers = map[string]string{"knowrob": NSKnowRob, "roboearth": NSRoboEarth}

// ClassIRI returns the IRI of an entity of Object/Class.
func ClassIRI(id engram.ID) string {
	if ns, ok := providers[id.ProviderSegment()]; ok {
		return ns + id.Entity()
	}
	return NSClass + escape(id.ProviderSegment()) + "#" + escape(id.Entity())
}

// classOf returns the entity of Object/Class for the IRI of a class: its provider is the name of
// the ontology.
func classOf(iri string) (engram.ID, error) {
	if local, ok := strings.CutPrefix(iri, NSClass); ok {
		provider, name, _ := strings.Cut(local, "#")
		provider, err := url.PathUnescape(provider)
		if err == nil {
			name, err = url.PathUnescape(name)
		}
		if err == nil {
			return engram.NewID("Object", "Class", provider, name)
		}
	}
	provider, name := split(strings.Replace(iri, NSOldKnowRob, NSKnowRob, 1))
	return engram.NewID("Object", "Class", provider, name)
}

// classesOf returns the classes that an item is said to be of; of one that KnowRob has no class for
// that of its place or its kind.
func classesOf(d *world.Description) []string {
	if d == nil {
		return []string{NSKnowRob + "SpatialThing-Localized"}
	}
	iris := list(d.Properties[propertyTypes])
	asserted := len(iris) > 0
	if d.Class != nil && !slices.ContainsFunc(iris, func(iri string) bool { id, err := classOf(iri); return err == nil && id == *d.Class }) {
		iris = append(slices.Clone(iris), ClassIRI(*d.Class))
	}
	if asserted || d.Class != nil && providers[d.Class.ProviderSegment()] != "" {
		return iris
	}
	if d.Place != nil {
		for _, l := range levels {
			if l.level == d.Place.Level {
				return append(iris, NSKnowRob+l.class)
			}
		}
	}
	for _, k := range kinds {
		if slices.Contains(d.Kinds, k.kind) {
			return append(iris, NSKnowRob+k.class)
		}
	}
	return append(iris, NSKnowRob+"SpatialThing-Localized")
}

// list returns the texts of a list.
func list(v any) (texts []string) {
	switch v := v.(type) {
	case []string:
		return v
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				texts = append(texts, s)
			}
		}
	}
	return texts
}

func kr(name string) rdf.Term  { return rdf.NewIRI(NSKnowRob + name) }
func own(name string) rdf.Term { return rdf.NewIRI(NS + name) }

var (
	rdfType   = rdf.NewIRI(rdf.NS + "type")
	rdfsLabel = rdf.NewIRI(rdf.NSRDFS + "label")
	sameAs    = rdf.NewIRI(rdf.NSOWL + "sameAs")
)
