package idf

import (
	"testing"
)

func TestMembers(t *testing.T) {
	src, _ := xmlFiles(t)
	defs, err := CompileXML(src, "example/ExampleData.xml")
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]Member{}
	for i, m := range parseAll(t, defs)["armarx.example.ExtendedData"].Members() {
		if m.Number != int32(i+1) {
			t.Errorf("%s is at place %d, its number is %d", m.Name, i, m.Number)
		}
		members[m.Name] = m
	}
	for name, want := range map[string]Member{
		"the_int":                    {Type: "Int"},
		"the_time":                   {Type: "Time", Doc: "in UTC"},
		"the_position":               {Type: "Position", Doc: "geometry"},
		"the_4x4_matrix":             {Type: "Matrix(4x4, float64)"},
		"the_3x1_vector":             {Type: "Matrix(3x1, float32)"},
		"the_dynamic_matrix":         {Type: "Matrix(int16)"},
		"the_ndarray":                {Type: "NDArray(3D, uint8)", Doc: "perception"},
		"the_rgb24_image":            {Type: "Image(rgb8)"},
		"the_xyz_pcl":                {Type: "PointCloud(PointXYZ)"},
		"the_pose_list":              {Type: "List<Pose>"},
		"the_int_list_list":          {Type: "List<List<Int>>"},
		"the_dict_dict":              {Type: "Dict<Dict<Long>>"},
		"the_list_of_dicts":          {Type: "List<Dict<Position>>"},
		"the_matrix_list":            {Type: "List<Matrix(2x2, float32)>"},
		"the_tuple":                  {Type: "Tuple<Int, String, List<Float>>"},
		"the_list_of_pairs":          {Type: "List<Pair<Int, Dict<Double>>>"},
		"the_list_of_optionals":      {Type: "List<optional Int>"},
		"the_dict_of_optional_lists": {Type: "Dict<optional List<Bool>>"},
		"the_optional_dict":          {Type: "Dict<Pose>", Optional: true},
		"the_optional_pose":          {Type: "Pose", Optional: true},
		"the_raw_ptr":                {Type: "armarx.example.InnerClass", Optional: true},
		"the_enum":                   {Type: "armarx.example.TheIntEnum"},
		"the_any":                    {Type: "AnyObject"},
		"the_links":                  {Type: "List<Link>"},
		"the_children":               {Type: "List<armarx.example.ExampleData>"},
		"the_weight":                 {Type: "Float", Doc: "kg"},
	} {
		got, ok := members[name]
		if !ok {
			t.Errorf("no member %s", name)
			continue
		}
		want.Name, want.Number = name, got.Number
		if got != want {
			t.Errorf("is %+v, want %+v", got, want)
		}
	}
}

// A wrapper may contain itself or tuples of tuples: the words stay short.
func TestMembersOfHostileTypes(t *testing.T) {
	text := `syntax = "proto3"; package test; import "engram/idf/v1/options.proto";
		message M { W w = 1; T0 t = 2; map<int32, uint64> m = 3; oneof o { bytes b = 4; } }
		message W { option (engram.idf.v1.wrapper) = WRAPPER_LIST; repeated W items = 1; }`
	for i := range 9 {
		text += "\nmessage T" + string(rune('0'+i)) + " { option (engram.idf.v1.wrapper) = WRAPPER_TUPLE;"
		for j := range 9 {
			text += " T" + string(rune('1'+i)) + " item" + string(rune('0'+j)) + " = " + string(rune('1'+j)) + ";"
		}
		text += " }"
	}
	ty := compiled(t, "test.M", text+"message T9 {}")
	for _, m := range ty.Members() {
		if len(m.Type) > 2*maxTypeWords {
			t.Errorf("%s has a type of %d bytes", m.Name, len(m.Type))
		}
		if m.Name == "m" && m.Type != "Dict<Int, ULong>" {
			t.Error(m.Type)
		}
		if m.Name == "b" && (m.Type != "Bytes" || !m.Optional) {
			t.Errorf("%+v", m)
		}
	}
}
