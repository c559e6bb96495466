package idf_test

import (
	"fmt"
	"testing/fstest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// A type of one's own, written as ArmarX does, and a payload of it.
func ExampleCompileXML() {
	grasp := compile()
	b, err := grasp.Encode(map[string]any{"hand": "left", "width": 0.08})
	check(err)
	text, err := grasp.Text(b, idf.TextOptions{})
	check(err)
	fmt.Println(grasp.Name(), text)
	_, err = grasp.Encode(map[string]any{"hand": 3})
	fmt.Println(err)
	// Output:
	// lab.Grasp hand: "left", width: 0.08
	// lab.Grasp: member hand: expected a string, got the number 3
}

// A filter is an expression over an instance: its payload's members, its confidence, its
// times.
func ExampleCompileFilter() {
	grasp := compile()
	narrow, err := idf.CompileFilter("confidence > 0.5 && width < 0.1")
	check(err)
	b, err := grasp.Encode(map[string]any{"hand": "left", "width": 0.08})
	check(err)
	in := engram.NewInstance(engram.Payload{Type: grasp.Name(), Bytes: b})
	in.Confidence = 0.8
	fmt.Println(narrow.Match(grasp, &engram.Snapshot{Instances: []engram.Instance{in}}, 0), narrow.Members())
	// Output: true [width]
}

// compile compiles a type of one's own from ArmarX's XML.
func compile() *idf.Type {
	files := fstest.MapFS{"grasp.xml": {Data: []byte(`
		<AronTypeDefinition><GenerateTypes>
			<Object name='lab::Grasp'>
				<ObjectChild key='hand'><String /></ObjectChild>
				<ObjectChild key='width'><Double /></ObjectChild>
				<ObjectChild key='pose'><Pose /></ObjectChild>
			</Object>
		</GenerateTypes></AronTypeDefinition>`)}}
	types, err := idf.CompileXML(idf.Source{files}, "grasp.xml")
	check(err)
	grasp, err := idf.ParseType(types[0])
	check(err)
	return grasp
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
