package gen_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/idf/gen"
)

// docsExample returns the example of docs/codegen.md in a language.
func docsExample(t *testing.T, language string) string {
	t.Helper()
	_, after, ok := strings.Cut(string(readFile(t, "../../docs/codegen.md")), "```"+language+"\n")
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
	return docsTypes(t, "Cup", "<ObjectChild key='fill'><Float /></ObjectChild>")
}

func TestDocsPython(t *testing.T) {
	needPython(t)
	folder := pythonLibrary(t)
	write(t, gen.Python, cups(t), filepath.Join(folder, "cups"))
	mug := typeNamed(docsTypes(t, "Mug", ""), "lab.Mug")
	b, err := mug.FromJSON([]byte(`{"color": "Red"}`))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "mug"), string(b))
	writeFile(t, filepath.Join(folder, "mug.binpb"), string(mug.Def().Descriptors))
	writeFile(t, filepath.Join(folder, "example.py"), docsExample(t, "python"))
	cmd := exec.Command(debianPython, "example.py")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestDocsTypeScript(t *testing.T) {
	example := strings.ReplaceAll(docsExample(t, "typescript"), "./cups/", "./golden/")
	folder := compileTypeScript(t, cups(t), example)
	if out, err := exec.Command("node", filepath.Join(folder, "out", "main.js")).CombinedOutput(); err != nil || string(out) != "true\n" {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestDocsCpp(t *testing.T) {
	folder := t.TempDir()
	write(t, gen.Cpp, cups(t), filepath.Join(folder, "cups"))
	writeFile(t, filepath.Join(folder, "main.cpp"), docsExample(t, "cpp"))
	binary := compileCpp(t, folder, "-O0", "main.cpp", "cups/cups.cpp", "cups/engram_payload.cpp")
	if out, err := exec.Command(binary).CombinedOutput(); err != nil || string(out) != "1\n" {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestDocsGo(t *testing.T) {
	root, err := os.MkdirTemp(".", "_built")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	root = filepath.Base(root)
	write(t, gen.Go, cups(t), filepath.Join(root, "cups"))
	example := strings.ReplaceAll(docsExample(t, "go"), "example.com/robot/cups", "github.com/seed-301d4374/engram/idf/gen/"+root+"/cups")
	writeFile(t, filepath.Join(root, "main.go"), example)
	if out, err := exec.Command("go", "run", "./"+root).CombinedOutput(); err != nil || string(out) != "<nil> true\n" {
		t.Fatalf("%v\n%s", err, out)
	}
}
