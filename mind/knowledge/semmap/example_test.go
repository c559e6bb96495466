package semmap_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
	"github.com/seed-301d4374/engram/mind/world"
)

const ward = `
@prefix : <http://hospital.org/ward.owl#> .
@prefix k: <http://knowrob.org/kb/knowrob.owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .

:Munich a k:City ; rdfs:label "Munich" ; k:properPhysicalParts :Street1 .
:Street1 a k:Street ; rdfs:label "Karlstrasse" ; k:properPhysicalParts :Building1 .
:Building1 a k:Building ; k:streetNumber "45" ; k:properPhysicalParts :Room1 .
:Room1 a k:RoomInAConstruction ; k:roomNumber "3001" ; k:describedInMap :Map1 ; k:properPhysicalParts :bed1 .
:Map1 a k:SemanticEnvironmentMap .
:bed1 a k:Bed-PieceOfFurniture ; k:depthOfObject 2.0 ; k:widthOfObject 0.9 ; k:heightOfObject 0.7 .

:seen1 a k:SemanticMapPerception ; k:objectActedOn :bed1 ; k:startTime :timepoint_1321540911 ; k:eventOccursAt
	[ k:translation "1 2 0.35" ; k:quaternion "1 0 0 0" ] .
:seen2 a k:SemanticMapPerception ; k:objectActedOn :bed1 ; k:startTime :timepoint_1321540999 ; k:eventOccursAt
	[ k:translation "1 3 0.35" ; k:quaternion "1 0 0 0" ] .
`

// A semantic map becomes a part of the world, and a part of the world a semantic map.
func Example() {
	g := knowledge.NewGraph()
	if _, err := rdf.Read(strings.NewReader(ward), rdf.Turtle, rdf.ReadOptions{}, func(q rdf.Quad) error { g.Add(q.Triple); return nil }); err != nil {
		fmt.Println(err)
		return
	}
	names := semmap.NewNames("")
	im := semmap.Read(g, semmap.ReadOptions{Names: names})
	b := world.NewBuilder(world.DefaultRules())
	for _, it := range im.Items {
		if err := b.Put(world.Statement{Name: it.Name, Said: world.Said{Provider: "ward.owl", Time: 1, Confidence: 1}, Item: &it.Item}); err != nil {
			fmt.Println(err)
		}
	}
	f := b.Forest()
	for room := range f.ByPlace("3001", "Karlstrasse", "Munich") {
		for bed := range f.Children(room.Name) {
			fmt.Println(bed.Name, "in", room.Name, "at", bed.Placement.Pose.T)
		}
	}
	fmt.Println(len(im.Poses), "poses of", names.IRI("bed1"))

	triples, err := semmap.Write(f, semmap.WriteOptions{Names: names, Root: "bed1"})
	if err != nil {
		fmt.Println(err)
	}
	parts := slices.DeleteFunc(triples, func(t rdf.Triple) bool { return t.P.Value != semmap.NSKnowRob+"properPhysicalParts" })
	fmt.Println(len(parts), "parts, the last", parts[len(parts)-1].O.Value)
	// Output:
	// bed1 in Room1 at {1 3 0.35}
	// 2 poses of http://hospital.org/ward.owl#bed1
	// 4 parts, the last http://hospital.org/ward.owl#bed1
}
