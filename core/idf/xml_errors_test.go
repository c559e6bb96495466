package idf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// Every error names the file and the line, and what was expected.
func TestXMLErrors(t *testing.T) {
	const objects, end = "<AronTypeDefinition>\n<GenerateTypes>\n", "\n</GenerateTypes></AronTypeDefinition>"
	member := func(typ string) string {
		return objects + "<Object name='n::O'>\n<ObjectChild key='m'>\n" + typ + "\n</ObjectChild></Object>" + end
	}
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		// not XML
		"empty":               {"", 1, "expected <AronTypeDefinition>"},
		"only a comment":      {"<!-- x -->\n", 2, "expected <AronTypeDefinition>"},
		"control character":   {"<AronTypeDefinition>\n<!-- a\x00b -->", 2, "U+0000"},
		"text":                {"\nhello", 2, `unexpected text "hello"`},
		"not ended":           {"<AronTypeDefinition>\n<GenerateTypes>", 2, "not ended with </GenerateTypes>"},
		"ended otherwise":     {"<AronTypeDefinition>\n</GenerateTypes>", 2, "expected </AronTypeDefinition>, which ends <AronTypeDefinition> of line 1"},
		"two roots":           {"<AronTypeDefinition/>\n<AronTypeDefinition/>", 2, "second root"},
		"tag not ended":       {"\n<AronTypeDefinition", 2, "not ended with >"},
		"comment not ended":   {"<AronTypeDefinition>\n<!-- ", 2, "comment"},
		"value not ended":     {objects + "<Object name='n::O", 3, "attribute name"},
		"value not quoted":    {objects + "<Object name=n/>", 3, "quotes"},
		"no value":            {objects + "<Object name/>", 3, "no value"},
		"attribute twice":     {objects + "<Object name='a' name='b'/>", 3, "twice"},
		"unknown entity":      {objects + "<Object name='&foo;'/>", 3, "&foo;"},
		"lone ampersand":      {objects + "<Object name='a & b'/>", 3, "&amp;"},
		"doctype":             {"<!DOCTYPE x>\n<AronTypeDefinition/>", 1, "DOCTYPE"},
		"not UTF-8":           {"<AronTypeDefinition>\n\xff</AronTypeDefinition>", 2, "UTF-8"},
		"stray character":     {objects + "<Object ? />", 3, "expected an attribute"},
		"no name":             {objects + "< Object/>", 3, "element's name"},
		"too deep":            {member(strings.Repeat("<List>", 70) + "<Int/>" + strings.Repeat("</List>", 70)), 5, "nested over"},
		"text between":        {objects + "<Object name='n::O'>int x;</Object>" + end, 3, `unexpected text "int x;"`},
		"numeric entity of 0": {objects + "<Object name='&#0;'/>", 3, "&#0;"},

		// structure
		"other root":          {"\n<AronTypes/>", 2, "expected <AronTypeDefinition>"},
		"unknown section":     {"<AronTypeDefinition>\n<Types/></AronTypeDefinition>", 2, "unknown element <Types>"},
		"unknown declaration": {objects + "<Struct name='n::O'/>" + end, 3, "unknown element <Struct>"},
		"attribute of root":   {"<AronTypeDefinition version='2'/>", 1, "version"},

		// objects
		"object without name":  {objects + "<Object/>" + end, 3, "name"},
		"empty name":           {objects + "<Object name=''/>" + end, 3, "name"},
		"not a name":           {objects + "<Object name='n:O'/>" + end, 3, `"n:O"`},
		"digit first":          {objects + "<Object name='n::2'/>" + end, 3, `"n::2"`},
		"dotted name":          {objects + "<Object name='n.O'/>" + end, 3, `"n.O"`},
		"empty namespace":      {objects + "<Object name='::O'/>" + end, 3, `"::O"`},
		"long name":            {objects + "<Object name='" + strings.Repeat("n", 300) + "'/>" + end, 3, "not a type's name"},
		"name twice":           {objects + "<Object name='n::O'/>\n<IntEnum name='n::O'/>" + end, 4, "already defined in o.xml:3"},
		"known name":           {objects + "<Object name='foxglove::Pose'/>" + end, 3, "known already"},
		"type as namespace":    {objects + "<Object name='n::O'/>\n<Object name='n::O::P'/>" + end, 4, "namespace n::O"},
		"namespace as type":    {objects + "<Object name='n::O::P'/>\n<Object name='n::O'/>" + end, 4, "namespace"},
		"unknown attribute":    {objects + "<Object name='n::O' extend='n::P'/>" + end, 3, "no attribute extend"},
		"unknown in object":    {objects + "<Object name='n::O'>\n<Child key='a'/></Object>" + end, 4, "expected <ObjectChild"},
		"child without key":    {objects + "<Object name='n::O'>\n<ObjectChild><Int/></ObjectChild></Object>" + end, 4, "no key"},
		"bad key":              {objects + "<Object name='n::O'>\n<ObjectChild key='a-b'><Int/></ObjectChild></Object>" + end, 4, `"a-b"`},
		"key twice":            {objects + "<Object name='n::O'>\n<ObjectChild key='a'><Int/></ObjectChild>\n<ObjectChild key='a'><Int/></ObjectChild></Object>" + end, 5, "the key a is taken"},
		"one name in JSON":     {objects + "<Object name='n::O'>\n<ObjectChild key='a_b'><Int/></ObjectChild>\n<ObjectChild key='aB'><Int/></ObjectChild></Object>" + end, 5, "a_b and aB"},
		"entry's name":         {objects + "<Object name='n::O'>\n<ObjectChild key='a'><Dict><Int/></Dict></ObjectChild>\n<ObjectChild key='AEntry'><Int/></ObjectChild></Object>" + end, 4, "AEntry"},
		"entry without name":   {objects + "<Object name='n::O'>\n<ObjectChild key='_1'><Dict><Int/></Dict></ObjectChild></Object>" + end, 4, "rename the key"},
		"child without type":   {objects + "<Object name='n::O'>\n<ObjectChild key='a'/></Object>" + end, 4, "holds 0 elements"},
		"child with two types": {objects + "<Object name='n::O'>\n<ObjectChild key='a'><Int/><Int/></ObjectChild></Object>" + end, 4, "holds 2 elements"},
		"child with attribute": {objects + "<Object name='n::O'>\n<ObjectChild key='a' optional='true'><Int/></ObjectChild></Object>" + end, 4, "no attribute optional"},

		// extends
		"extends unknown":  {objects + "<Object name='n::O' extends='n::P'/>" + end, 3, "unknown type n::P"},
		"extends itself":   {objects + "<Object name='n::O' extends='n::O'/>" + end, 3, "extends itself"},
		"extend each":      {objects + "<Object name='n::O' extends='n::P'/>\n<Object name='n::P' extends='n::O'/>" + end, 4, "extend each other"},
		"extends enum":     {objects + "<Object name='n::O' extends='n::E'/><IntEnum name='n::E'><EnumValue key='a' value='0'/></IntEnum>" + end, 3, "enumeration"},
		"extends later":    {objects + "<Object name='n::O' extends='m::P'/>\n<Object name='m::P'/>" + end, 3, "move it up"},
		"base's key again": {objects + "<Object name='n::P'><ObjectChild key='a'><Int/></ObjectChild></Object>\n<Object name='n::O' extends='n::P'>\n<ObjectChild key='a'><Int/></ObjectChild></Object>" + end, 5, "the key a is taken"},

		// types
		"unknown type":         {member("<Integer/>"), 5, "unknown type <Integer>"},
		"type by short name":   {member("<O/>"), 5, "unknown type <O>"},
		"type later":           {objects + "<Object name='n::O'>\n<ObjectChild key='m'>\n<m::P/></ObjectChild></Object><Object name='m::P'/>" + end, 5, "move it up"},
		"object in a type":     {member("<Object name='n::P'/>"), 5, "under <GenerateTypes>"},
		"something in Int":     {member("<Int>\n<Int/></Int>"), 6, "holds nothing"},
		"list of nothing":      {member("<List/>"), 5, "holds 0 elements"},
		"list of two":          {member("<List><Int/><Int/></List>"), 5, "holds 2 elements"},
		"dict of two":          {member("<Dict><String/><Int/></Dict>"), 5, "holds 2 elements"},
		"pair of one":          {member("<Pair><Int/></Pair>"), 5, "holds 1 types"},
		"pair of three":        {member("<Pair><Int/><Int/><Int/></Pair>"), 5, "holds 3 types"},
		"tuple of nothing":     {member("<Tuple/>"), 5, "holds 0 types"},
		"unknown in a list":    {member("<List>\n<Dict>\n<Foo/></Dict></List>"), 7, "unknown type <Foo>"},
		"optional of what":     {member("<Int optional='maybe'/>"), 5, "optional='maybe'"},
		"typo of optional":     {member("<Int optionl='true'/>"), 5, "no attribute optionl"},
		"ndarray without ndim": {member("<NDArray type='uint8'/>"), 5, "ndim=''"},
		"ndim 0":               {member("<NDArray ndim='0' type='uint8'/>"), 5, "ndim='0'"},
		"ndim words":           {member("<NDArray ndim='two' type='uint8'/>"), 5, "ndim='two'"},
		"ndim huge":            {member("<NDArray ndim='1000' type='uint8'/>"), 5, "ndim='1000'"},
		"ndarray type":         {member("<NDArray ndim='2' type='int64'/>"), 5, "type='int64'"},
		"ndarray no type":      {member("<NDArray ndim='2'/>"), 5, "expected uint8"},
		"matrix rows":          {member("<Matrix rows='0' cols='1' type='float32'/>"), 5, "rows='0'"},
		"matrix cols":          {member("<Matrix rows='1' type='float32'/>"), 5, "cols=''"},
		"matrix -2":            {member("<Matrix rows='1' cols='-2' type='float32'/>"), 5, "cols='-2'"},
		"matrix type":          {member("<Matrix rows='1' cols='1' type='uint8'/>"), 5, "type='uint8'"},
		"quaternion type":      {member("<Quaternion type='int32'/>"), 5, "type='int32'"},
		"pixel type":           {member("<Image pixelType='bgr24'/>"), 5, "pixelType='bgr24'"},
		"no pixel type":        {member("<Image/>"), 5, "expected rgb24, depth32"},
		"voxel type":           {member("<PointCloud voxelType='XYZ'/>"), 5, "voxelType='XYZ'"},

		// enumerations
		"enum without name":      {objects + "<IntEnum/>" + end, 3, "name"},
		"enum without values":    {objects + "<IntEnum name='n::E'/>" + end, 3, "no values"},
		"unknown in enum":        {objects + "<IntEnum name='n::E'>\n<Value/></IntEnum>" + end, 4, "expected <EnumValue"},
		"value without key":      {objects + "<IntEnum name='n::E'>\n<EnumValue value='1'/></IntEnum>" + end, 4, "no key"},
		"value's bad key":        {objects + "<IntEnum name='n::E'>\n<EnumValue key='a b' value='1'/></IntEnum>" + end, 4, `"a b"`},
		"value's key twice":      {objects + "<IntEnum name='n::E'>\n<EnumValue key='a' value='1'/>\n<EnumValue key='a' value='2'/></IntEnum>" + end, 5, "twice"},
		"value without value":    {objects + "<IntEnum name='n::E'>\n<EnumValue key='a'/></IntEnum>" + end, 4, "value=''"},
		"value not a number":     {objects + "<IntEnum name='n::E'>\n<EnumValue key='a' value='1.5'/></IntEnum>" + end, 4, "value='1.5'"},
		"value too large":        {objects + "<IntEnum name='n::E'>\n<EnumValue key='a' value='2147483648'/></IntEnum>" + end, 4, "32 bits"},
		"something in a value":   {objects + "<IntEnum name='n::E'>\n<EnumValue key='a' value='1'><Int/></EnumValue></IntEnum>" + end, 4, "holds nothing"},
		"attribute of the enum":  {objects + "<IntEnum name='n::E' extends='n::F'/>" + end, 3, "no attribute extends"},
		"attribute of the value": {objects + "<IntEnum name='n::E'>\n<EnumValue key='a' value='1' doc='x'/></IntEnum>" + end, 4, "no attribute doc"},

		// includes
		"include of nothing":       {"<AronTypeDefinition>\n<AronIncludes>\n<Include/></AronIncludes></AronTypeDefinition>", 3, "names no file"},
		"include not found":        {"<AronTypeDefinition>\n<AronIncludes>\n<Include include='<gone/gone.xml>'/></AronIncludes></AronTypeDefinition>", 3, "gone/gone.xml: not found"},
		"include outside":          {"<AronTypeDefinition>\n<AronIncludes>\n<Include include='../secret.xml'/></AronIncludes></AronTypeDefinition>", 3, "../secret.xml"},
		"include of itself":        {"<AronTypeDefinition>\n<AronIncludes>\n<Include include='o.xml'/></AronIncludes></AronTypeDefinition>", 3, "o.xml → o.xml"},
		"package without path":     {"<AronTypeDefinition>\n<AronIncludes>\n<PackagePath package='p'/></AronIncludes></AronTypeDefinition>", 3, "names no file"},
		"unknown in includes":      {"<AronTypeDefinition>\n<AronIncludes>\n<Import path='p'/></AronIncludes></AronTypeDefinition>", 3, "unknown element <Import>"},
		"attribute of the include": {"<AronTypeDefinition>\n<AronIncludes>\n<Include includes='p'/></AronIncludes></AronTypeDefinition>", 3, "no attribute includes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CompileXML(memSource(map[string]string{"o.xml": c.text}), "o.xml")
			prefix := fmt.Sprintf("o.xml:%d: ", c.line)
			if !errors.Is(err, engram.Invalid) || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant Invalid, %q and %q", err, prefix, c.want)
			}
		})
	}
}

// Errors in and between included files.
func TestXMLIncludeErrors(t *testing.T) {
	including := func(body string, paths ...string) string {
		text := "<AronTypeDefinition><AronIncludes>\n"
		for _, p := range paths {
			text += "<Include include='" + p + "'/>\n"
		}
		return text + "</AronIncludes><GenerateTypes>" + body + "</GenerateTypes></AronTypeDefinition>"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"cycle": {map[string]string{"o.xml": including("", "a.xml"), "a.xml": including("", "b.xml"), "b.xml": including("", "./a.xml")},
			[]string{"b.xml:2: ", "a.xml → b.xml → a.xml"}},
		"in the included file": {map[string]string{"o.xml": including("", "d/a.xml"), "d/a.xml": including("<Foo/>")},
			[]string{"d/a.xml:2: ", "<Foo>"}},
		"defined in both": {map[string]string{"o.xml": including("<Object name='n::A'/>", "a.xml"), "a.xml": including("<Object name='n::A'/>")},
			[]string{"o.xml:3: ", "already defined in a.xml:2"}},
		"not included": {map[string]string{"o.xml": including("", "a.xml", "b.xml"), "a.xml": including("<Object name='n::A'/>"),
			"b.xml": including("<Object name='n::B'><ObjectChild key='a'><n::A/></ObjectChild></Object>")},
			[]string{"b.xml:2: ", "it is defined in a.xml, include that"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CompileXML(memSource(c.files), "o.xml")
			if !errors.Is(err, engram.Invalid) || !strings.HasPrefix(err.Error(), c.want[0]) || !strings.Contains(err.Error(), c.want[1]) {
				t.Errorf("%v\nwant Invalid, %q", err, c.want)
			}
		})
	}
	if _, err := CompileXML(memSource(nil), "gone.xml"); !errors.Is(err, engram.NotFound) || !strings.Contains(err.Error(), "gone.xml") {
		t.Errorf("no such file: %v, want NotFound", err)
	}
}

// A file that names few things and means many is refused before it fills the memory.
func TestXMLLimits(t *testing.T) {
	var chain strings.Builder
	chain.WriteString(xmlHead + "<Object name='n::O0'/>")
	for i := range 2000 {
		fmt.Fprintf(&chain, "<Object name='n::O%d' extends='n::O%d'><ObjectChild key='k%d'><Int/></ObjectChild></Object>\n", i+1, i, i)
	}
	chain.WriteString(xmlTail)
	for name, c := range map[string]struct {
		text string
		code engram.Code
	}{
		"extends":    {chain.String(), engram.Invalid},
		"large file": {strings.Repeat(" ", maxSourceFile+1), engram.Exhausted},
	} {
		if _, err := CompileXML(memSource(map[string]string{"o.xml": c.text}), "o.xml"); !errors.Is(err, c.code) {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
	}
	var many strings.Builder
	many.WriteString("<AronTypeDefinition><AronIncludes>")
	files := map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("i%d.xml", i)
		fmt.Fprintf(&many, "<Include include='%s'/>", name)
		files[name] = "<AronTypeDefinition/>" + strings.Repeat(" ", maxSourceFile-100)
	}
	files["o.xml"] = many.String() + "</AronIncludes></AronTypeDefinition>"
	if _, err := CompileXML(memSource(files), "o.xml"); !errors.Is(err, engram.Invalid) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("many large includes: %v", err)
	}
}

// What ArmarX's own reader takes and strict XML would not, or writes otherwise.
func TestXMLAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"byte order mark":     "\ufeff" + objectXML("<Int/>"),
		"raw < in a value":    "<AronTypeDefinition><CodeIncludes><SystemInclude include=\"<Eigen/Core>\"/></CodeIncludes></AronTypeDefinition>",
		"other case":          "<arontypedefinition><GENERATETYPES><object NAME='n::O'><objectchild KEY='a'><INT Optional='TRUE'/></objectchild></object></GENERATETYPES></arontypedefinition>",
		"no types":            "<AronTypeDefinition/>",
		"comments everywhere": "<!-- a --><AronTypeDefinition><!-- b --><GenerateTypes><!-- c --></GenerateTypes><!-- d --></AronTypeDefinition><!-- e -->",
		"documentation":       xmlHead + "<Object name='n::O' doc-brief='An object' doc-author='me'/>" + xmlTail,
		"the link's file":     "<AronTypeDefinition><AronIncludes><Include include='<armarx/arondto/MemoryID.xml>'/></AronIncludes></AronTypeDefinition>",
		"spaces":              xmlHead + "<Object  name = ' n::O '\n><ObjectChild key\n=\t'a' ><Int /></ObjectChild ></Object>" + xmlTail,
	} {
		if _, err := CompileXML(memSource(map[string]string{"o.xml": text}), "o.xml"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCompileXML(f *testing.F) {
	f.Add(objectXML("<List><Dict optional='true'><Pair><Int/><Pose shared_ptr='1'/></Pair></Dict></List>"))
	f.Add(objectXML("<Tuple><Matrix rows='1' cols='-1' type='int16'/><NDArray ndim='2' type='uint8'/></Tuple>"))
	f.Add(xmlHead + "<IntEnum name='n::E'><EnumValue key='a' value='-1'/></IntEnum><Object name='n::O' extends='n::P'/><Object name='n::P'/>" + xmlTail)
	f.Add("<?xml version='1.0'?><!-- c --><AronTypeDefinition><AronIncludes><Include include='&lt;o.xml&gt;'/></AronIncludes></AronTypeDefinition>")
	src, paths := xmlFiles(f)
	for _, p := range paths {
		text, err := (&sourceReader{src: src}).read(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		defs, err := CompileXML(append(memSource(map[string]string{"o.xml": text}), src...), "o.xml")
		if err != nil {
			if code := engram.CodeOf(err); code != engram.Invalid && code != engram.Exhausted {
				t.Errorf("%v: %v", code, err)
			}
			return
		}
		printsSame(t, slices.Collect(maps.Values(parseAll(t, defs)))...)
	})
}
