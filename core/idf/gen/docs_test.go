package gen_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/idf/gen"
)

// docsExample returns the example of docs/codegen.md in a language.
func docsExample(t *testing.T, language string) string {
	t.Helper()
	_, after, ok := strings.Cut(string(readFile(t, "../../../docs/codegen.md")), "```"+language+"\n")
	if !ok {
		t.Fatalf("docs/codegen.md has no example in %s", language)
	}
	text, _, _ := strings.Cut(after, "```")
	return text
}

const docsCup = `<AronTypeDefinition><GenerateTypes>
	<IntEnum name='lab::Color'><EnumValue key='None' value='0'/><EnumValue key='Red' value='1'/></IntEnum>
	<Object name='lab::%s'>%s<ObjectChild key='color'><lab::Color /></ObjectChild>
		<ObjectChild key='pose'><Pose /></ObjectChild></Object>
</GenerateTypes></AronTypeDefinition>`

func docsTypes(t *testing.T, name, member string) []*idf.Type {
	t.Helper()
	folder := t.TempDir()
	writeFile(t, folder+"/cup.xml", fmt.Sprintf(docsCup, name, member))
	return compileFolder(t, folder, "cup.xml")
}

func cups(t *testing.T) []*idf.Type {
	t.Helper()
	return docsTypes(t, "Cup", "<ObjectChild key='fill'><Float /></ObjectChild>")
}

func TestDocsPython(t *testing.T) {
	folder := t.TempDir()
	cmd := pythonCommand(t, folder, "example.py")
	write(t, gen.Python, cups(t), filepath.Join(folder, "cups"))
	mug := typeNamed(docsTypes(t, "Mug", ""), "lab.Mug")
	b, err := mug.FromJSON([]byte(`{"color": "Red"}`))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "mug"), string(b))
	writeFile(t, filepath.Join(folder, "mug.binpb"), string(mug.Def().Descriptors))
	writeFile(t, filepath.Join(folder, "example.py"), docsExample(t, "python"))
	run(t, cmd)
}

func TestDocsGo(t *testing.T) {
	folder := t.TempDir()
	goModule(t, folder)
	write(t, gen.Go, cups(t), filepath.Join(folder, "cups"))
	writeFile(t, filepath.Join(folder, "main.go"), docsExample(t, "go"))
	if out := run(t, goCommand(folder, "run", ".")); out != "<nil> true\n" {
		t.Error(out)
	}
}
