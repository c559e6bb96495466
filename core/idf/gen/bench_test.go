package gen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/idf/gen"
)

// complexObject is the object of 49 KB of the ArMem paper's figures, of bench/transfer: a
// link, an object, five numbers by name and an image.
func complexObject(b *testing.B) (*idf.Type, []byte) {
	b.Helper()
	defs, err := idf.CompileXML(idf.Source{os.DirFS("../../../bench/transfer/types")}, "engram/bench/Transfer.xml")
	if err != nil {
		b.Fatal(err)
	}
	for _, def := range defs {
		if def.Name != "engram.bench.Complex" {
			continue
		}
		ty, err := idf.ParseType(def)
		if err != nil {
			b.Fatal(err)
		}
		payload, err := ty.Encode(map[string]any{
			"link": engram.MustID("Ro/Pe/Pr/e1"), "nested": map[string]any{"v": 7, "s": "abcde"},
			"map":   map[string]float32{"k0": 0, "k1": 1.5, "k2": 3, "k3": 4.5, "k4": 6},
			"image": map[string]any{"width": 128, "height": 128, "step": 384, "encoding": "rgb8", "data": make([]byte, 128*128*3)},
		})
		if err != nil {
			b.Fatal(err)
		}
		return ty, payload
	}
	b.Fatal("there is no engram.bench.Complex")
	return nil, nil
}

// BenchmarkConvert measures how long a program takes to read the object of 49 KB from its
// payload, and to write it: the least of several rounds, in µs.
func BenchmarkConvert(b *testing.B) {
	ty, payload := complexObject(b)
	for lang, program := range map[gen.Language]func(folder string) *exec.Cmd{
		gen.Python: func(folder string) *exec.Cmd {
			writeFile(b, filepath.Join(folder, "bench.py"), string(readFile(b, "testdata/bench.py")))
			return pythonCommand(b, folder, "bench.py")
		},
		gen.Go: func(folder string) *exec.Cmd {
			goModule(b, folder)
			writeFile(b, filepath.Join(folder, "main.go"), string(readFile(b, "testdata/bench.go.txt")))
			return goCommand(folder, "run", ".")
		},
	} {
		b.Run(string(lang), func(b *testing.B) {
			folder := b.TempDir()
			cmd := program(folder)
			write(b, lang, []*idf.Type{ty}, filepath.Join(folder, "golden"))
			writeFile(b, filepath.Join(folder, "payload"), string(payload))
			fields := strings.Fields(run(b, cmd)) // seconds to read and to write
			for i, unit := range []string{"read-µs", "write-µs"} {
				seconds, err := strconv.ParseFloat(fields[i], 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(seconds*1e6, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
