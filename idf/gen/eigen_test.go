package gen_test

import (
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/idf/gen"
	"github.com/seed-301d4374/engram/internal/testkit"
)

const eigenTypes = `<AronTypeDefinition><GenerateTypes><Object name='lab::Arm'>
	<ObjectChild key='jacobian'><Matrix rows='-1' cols='-1' type='float64' /></ObjectChild>
	<ObjectChild key='gains'><Matrix rows='2' cols='2' type='float32' /></ObjectChild>
	<ObjectChild key='grasp'><Pose /></ObjectChild>
</Object></GenerateTypes></AronTypeDefinition>`

// Where Eigen is found, structs take its matrices and poses, and give them back.
func TestEigen(t *testing.T) {
	testkit.Long(t)
	const headers = "/usr/include/eigen3"
	testkit.Folder(t, headers, "apt-get install libeigen3-dev")
	defs, err := idf.CompileXML(idf.Source{fstest.MapFS{"arm.xml": &fstest.MapFile{Data: []byte(eigenTypes)}}}, "arm.xml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write(t, gen.Cpp, parse(t, defs), filepath.Join(folder, "lab"))
	writeFile(t, filepath.Join(folder, "main.cpp"), string(readFile(t, "testdata/eigen.cpp")))
	binary := compileCpp(t, folder, "-O0", "-isystem", headers, "main.cpp", "lab/lab.cpp", "lab/engram_payload.cpp")
	if out, err := exec.Command(binary).CombinedOutput(); err != nil || string(out) != "well\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
