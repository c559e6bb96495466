package prolog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/computed"
	"github.com/seed-301d4374/engram/mind/knowledge/prolog"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// cupboards are facts as KnowRob's maps have them: a cupboard of one metre, a cup over its edge, one in its middle, and a class of
// drawers with a handle.
func cupboards() *knowledge.View {
	g := knowledge.NewGraph()
	const kb = "http://knowrob.org/kb/knowrob.owl#"
	iri := func(s string) rdf.Term {
		if prefix, local, ok := strings.Cut(s, ":"); ok && prefix != "http" {
			s = map[string]string{"rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#", "owl": "http://www.w3.org/2002/07/owl#", "k": kb, "c": "http://k/"}[prefix] + local
		}
		return rdf.NewIRI(s)
	}
	say := func(s, p, o string) { g.Add(rdf.Triple{S: iri(s), P: iri(p), O: iri(o)}) }
	number := func(s, p string, n float64) {
		g.Add(rdf.Triple{S: iri(s), P: iri(p), O: rdf.NewTyped(fmt.Sprint(n), rdf.NSXSD+"double")})
	}
	matrix := func(s string, x, y, z float64) {
		say(s, "rdf:type", "k:RotationMatrix3D")
		for i, n := range [16]float64{1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1} {
			number(s, fmt.Sprintf("k:m%d%d", i/4, i%4), n)
		}
	}
	say("k:SemanticMapPerception", "rdfs:subClassOf", "k:MentalEvent")
	say("k:TouchPerception", "rdfs:subClassOf", "k:MentalEvent")
	say("k:VisualPerception", "rdfs:subClassOf", "k:MentalEvent")
	say("k:connectedTo-Rigidly", "rdfs:subPropertyOf", "k:connectedTo")
	for i, thing := range []struct {
		name          string
		size, x, y, z float64
	}{{"cupboard", 1, 1, 1, 0.5}, {"cup", 0.1, 1.25, 0.75, 1.05}, {"middle", 0.1, 1, 1, 0.5}} {
		name, seen, at := "c:"+thing.name, fmt.Sprint("c:seen", i), fmt.Sprint("c:at", i)
		say(name, "rdf:type", "k:Thing")
		for _, edge := range []string{"k:depthOfObject", "k:widthOfObject", "k:heightOfObject"} {
			number(name, edge, thing.size)
		}
		say(seen, "rdf:type", "k:SemanticMapPerception")
		say(seen, "k:objectActedOn", name)
		say(seen, "k:startTime", "k:timepoint_1000")
		say(seen, "k:eventOccursAt", at)
		matrix(at, thing.x, thing.y, thing.z)
	}
	g.Add(rdf.Triple{S: iri("c:quat"), P: iri("k:translation"), O: rdf.NewText("1 2.5 -3")})
	g.Add(rdf.Triple{S: iri("c:quat"), P: iri("k:quaternion"), O: rdf.NewText("0.5 0.5 0.5 0.5")})
	g.Add(rdf.Triple{S: iri("c:box"), P: iri("http://knowrob.org/kb/srdl2-comp.owl#box_size"), O: rdf.NewText("0.1 0.2 0.3")})
	restriction := func(node, class, property, facet string) {
		say(class, "rdfs:subClassOf", node)
		say(node, "rdf:type", "owl:Restriction")
		say(node, "owl:onProperty", property)
		if facet == "" {
			g.Add(rdf.Triple{S: iri(node), P: iri("owl:hasValue"), O: rdf.NewTyped("7", rdf.NSXSD+"int")})
			return
		}
		say(node, map[bool]string{true: "owl:hasValue", false: "owl:someValuesFrom"}[property == "k:orientation"], facet)
	}
	say("c:Drawer", "rdfs:subClassOf", "k:Thing")
	say("c:Drawer", "rdf:type", "owl:Class")
	say("c:Handle", "rdf:type", "owl:Class")
	say("c:Handle", "rdfs:subClassOf", "c:AnyHandle")
	say("k:weight", "rdf:type", "owl:DatatypeProperty")
	restriction("c:r1", "c:Drawer", "k:properPhysicalParts", "c:Handle")
	restriction("c:r2", "c:Handle", "k:orientation", "c:handlePose")
	restriction("c:r3", "c:Drawer", "k:weight", "")
	matrix("c:handlePose", 0.5, 0, 0)
	say("c:handlePose", "k:relativeTo", "c:Drawer")
	v := &knowledge.View{Graph: g}
	v.Computed = computed.New(v)
	return v
}

func answers(t *testing.T, p *prolog.Program, v *knowledge.View, question string) string {
	t.Helper()
	var got []string
	for row, err := range p.Ask(t.Context(), v, question, patience) {
		if err != nil {
			return err.Error()
		}
		text, _ := row.MarshalJSON()
		got = append(got, string(text))
	}
	return strings.Join(got, " ")
}

// All that KnowRob's comp_spatial, comp_temporal and knowrob_objects export, at the commit that docs/knowledge.md names, is there.
func TestKnowRobNames(t *testing.T) {
	names := `holds/2 on_Physical/2 in_ContGeneric/2 comp_toTheRightOf/2 comp_toTheLeftOf/2 comp_toTheSideOf/2 comp_inFrontOf/2 comp_inCenterOf/2
		comp_below_of/2 comp_above_of/2 comp_center/2 objectAtPoint2D/2 objectAtPoint2D/3
		comp_temporallySubsumes/2 comp_after/2 comp_duration/2 comp_equalI/2 comp_afterI/2 comp_beforeI/2 comp_meetsI/2 comp_meetsInvI/2 comp_overlapsI/2
		comp_overlapsInvI/2 comp_startsI/2 comp_startsInvI/2 comp_duringI/2 comp_duringInvI/2 comp_finishesI/2 comp_finishesInvI/2 time_point_value/2
		start_time_value/2 end_time_value/2
		storagePlaceFor/2 storagePlaceForBecause/3 current_object_pose/2 object_pose_at_time/3 object_pose_at_time/4 object_pose/3 object_color/2
		object_dimensions/4 object_assert_dimensions/4 object_assert_color/2 matrix_rotation/2 matrix_translation/2 rotmat_to_list/2 position_to_list/2
		quaternion_to_list/2 create_joint_information/9 update_joint_information/7 read_joint_information/9 delete_joint_information/1
		delete_object_information/1 delete_object_information_recursive/1 object_detection/3 comp_xCoord/2 comp_yCoord/2 comp_zCoord/2 comp_orientation/2
		instantiate_at_position/3 update_instance_from_class_def/2`
	for i := range 36 {
		names += fmt.Sprintf(" comp_m%d%d/2", i/6, i%6)
	}
	p := prolog.NewProgram()
	for _, name := range strings.Fields(names) {
		if got := answers(t, p, cupboards(), "current_predicate("+name+")"); got != "{}" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// KnowRob's rules of what is above and below what (the cup's centre is over the cupboard, whose centre is not under the cup), and
// its predicates over objects, their parts and joints.
func TestKnowRobRules(t *testing.T) {
	p := prolog.NewProgram()
	p.AddPrefix("c", "http://k/")
	const joint = `create_joint_information(knowrob:'PrismaticJoint', c:cupboard, c:cup, [1,0,0,2,0,1,0,3,0,0,1,4,0,0,0,1], [0,0,1], 0.0, 0.25, 0.75, _J), `
	const drawer = `instantiate_at_position(c:'Drawer', [1,0,0,10,0,1,0,20,0,0,1,30,0,0,0,1], _D), rdf_has(_D, knowrob:properPhysicalParts, _H), `
	for question, want := range map[string]string{
		"comp_above_of(c:cup, X)":                                                 `{"X":"http://k/cupboard"}`,
		"comp_above_of(X, c:cupboard)":                                            `{"X":"http://k/cup"}`,
		"comp_below_of(X, c:cup), holds(knowrob:belowOf(X, Y))":                   `{"X":"http://k/cupboard","Y":"http://k/cup"}`,
		"rdf_triple(knowrob:aboveOf, c:cup, c:cupboard)":                          `{}`,
		"rdf_triple(knowrob:belowOf, X, c:cup)":                                   `{"X":"http://k/cupboard"}`,
		"objectAtPoint2D(1.4, 0.6, X)":                                            `{"X":"http://k/cupboard"}`,
		"objectAtPoint2D(1.4, 0.6, c:cupboard)":                                   `{}`,
		"objectAtPoint2D(3, 3, X)":                                                ``,
		"comp_center(c:cup, P), objectAtPoint2D(P, c:cupboard)":                   `{"P":"http://k/translation_at1"}`,
		"comp_center(c:cup, _P), comp_xCoord(_P, X)":                              `{"X":1.25}`,
		"comp_m12('http://k/rotMat3D_1_2_3_4_5_6_7_8_9_10_11_12_13_14_15_16', X)": `{"X":7}`,
		"numlist(1, 36, L0), atomic_list_concat(['http://k/covMat3D'|L0], '_', _M), comp_m55(_M, X), comp_m04(_M, Y), L0 = [_|_]": `{"L0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36],"X":36,"Y":5}`,
		"time_point_value(knowrob:timepoint_12, A), start_time_value(c:seen1, B), end_time_value(c:seen1, C)":                     `{"A":12,"B":1000,"C":1000}`,
		"object_pose(c:quat, A, B)":                                                          `{"A":[1,2.5,-3],"B":[0.5,0.5,0.5,0.5]}`,
		"object_pose(c:at1, A, B)":                                                           `{"A":[1.25,0.75,1.05],"B":[1.0,0.0,0.0,0.0]}`,
		"object_pose_at_time(c:cup, now, A, B)":                                              `{"A":[1.25,0.75,1.05],"B":[1.0,0.0,0.0,0.0]}`,
		"matrix_rotation([0,-1,0,0, 1,0,0,0, 0,0,1,0, 0,0,0,1], [W,0.0,0.0,Z])":              `{"W":0.7071067811865476,"Z":0.7071067811865475}`,
		"object_dimensions(c:box, D, W, H)":                                                  `{"D":0.1,"W":0.2,"H":0.3}`,
		"object_assert_color(c:box, [1,0,0]), object_color(c:box, C)":                        `{"C":"1 0 0 1.0"}`,
		"get_timepoint(_T), time_point_value(_T, _N), get_time(_Now), abs(_Now - _N) < 3600": `{}`,
		"get_timepoint(_T), get_timepoint('+2m', _U), time_point_value(_T, _A), time_point_value(_U, _B), D is round(_B - _A)":                                                    `{"D":120}`,
		joint + "read_joint_information(_J, T, P, C, [_,_,_,X|_], D, R, Min, Max)":                                                                                                `{"T":"http://knowrob.org/kb/knowrob.owl#PrismaticJoint","P":"http://k/cupboard","C":"http://k/cup","X":2,"D":[0,0,1],"Min":0.25,"Max":0.75}`,
		joint + "update_joint_information(_J, 'HingedJoint', [1,0,0,5,0,1,0,3,0,0,1,4,0,0,0,1], [], 0.4, 0, 1), read_joint_information(_J, T, P, C, [_,_,_,X|_], D, R, Min, Max)": `{"T":"http://knowrob.org/kb/knowrob.owl#HingedJoint","P":"http://k/cupboard","C":"http://k/cup","X":5,"D":[],"R":0.4,"Min":0,"Max":1}`,
		joint + "delete_joint_information(_J), \\+ rdf_has(_, _, _J), \\+ rdf_has(_J, _, _), \\+ rdf_has(_, knowrob:prismaticallyConnectedTo, _), rdf_has(c:cup, _, _)":           `{}`,
		"delete_object_information(c:cup), \\+ rdf(c:cup, _, _), \\+ rdf(c:seen1, _, _), rdf(c:at1, knowrob:m00, _), rdf(c:cupboard, rdf:type, X)":                                `{"X":"http://knowrob.org/kb/knowrob.owl#Thing"}`,
		"rdf_assert(c:cup, knowrob:parts, c:cupboard), delete_object_information_recursive(c:cup), \\+ rdf(c:cup, _, _), \\+ rdf(c:at1, _, _), \\+ rdf(c:cupboard, _, _)":         `{}`,
		drawer + "rdf_has(_H, rdf:type, T), current_object_pose(_H, [_,_,_,X|_]), rdf_has(_D, knowrob:weight, literal(type(_, W)))":                                               `{"T":"http://k/Handle","X":10.5,"W":"7"}`,
		"rdf_assert(c:mine, rdf:type, c:'Drawer'), rdf_assert(c:mine, knowrob:properPhysicalParts, c:grip), rdf_assert(c:grip, rdf:type, c:'AnyHandle'), update_instance_from_class_def(c:'Drawer', c:mine), findall(H, rdf_has(c:mine, knowrob:properPhysicalParts, H), L), current_object_pose(c:grip, [_,_,_,X|_]), rdf_has(c:mine, knowrob:weight, literal(type(_, W)))": `{"L":["http://k/grip"],"X":0.5,"W":"7"}`,
	} {
		if got := answers(t, p, cupboards(), question); got != want {
			t.Errorf("%s: got %s, want %s", question, got, want)
		}
	}
}
