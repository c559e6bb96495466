package gen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/idf/gen"
)

// complexObject is the object of 49 KB of the ArMem paper's figures: a link, an object,
// five numbers by name and an image.
func complexObject(b *testing.B) (*idf.Type, []byte) {
	b.Helper()
	defs, err := idf.CompileXML(idf.Source{os.DirFS("../../bench/transfer/types")}, "engram/bench/Transfer.xml")
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
	for _, lang := range []struct {
		name    string
		lang    gen.Language
		program string
		run     func(folder string) *exec.Cmd
	}{
		{"python", gen.Python, "bench.py", func(folder string) *exec.Cmd {
			library, _ := filepath.Abs(pythonSource)
			cmd := exec.Command(debianPython, "bench.py")
			cmd.Env = append(os.Environ(), "PYTHONPATH="+library)
			return cmd
		}},
		{"cpp", gen.Cpp, "bench.cpp", func(folder string) *exec.Cmd {
			return exec.Command("sh", "-c", "g++ -std=c++20 -O2 -I. -o bench bench.cpp golden/golden.cpp golden/engram_payload.cpp && ./bench")
		}},
		{"typescript", gen.TypeScript, "bench.ts", func(folder string) *exec.Cmd {
			tsc, _ := filepath.Abs(typeScript)
			return exec.Command("sh", "-c", "node "+tsc+" --target es2022 --module nodenext --strict --lib es2022,dom --outDir out bench.ts && node out/bench.js")
		}},
	} {
		b.Run(lang.name, func(b *testing.B) {
			folder := b.TempDir()
			files, err := gen.Files(lang.lang, []*idf.Type{ty}, gen.Options{Package: "golden"})
			if err != nil {
				b.Fatal(err)
			}
			files["../payload"], files["../package.json"] = payload, []byte(`{"type": "module"}`)
			if files["../"+lang.program], err = os.ReadFile("testdata/" + lang.program); err != nil {
				b.Fatal(err)
			}
			for name, text := range files {
				path := filepath.Join(folder, "golden", name)
				if err := os.MkdirAll(filepath.Join(folder, "golden"), 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(path, text, 0o644); err != nil {
					b.Fatal(err)
				}
			}
			cmd := lang.run(folder)
			cmd.Dir = folder
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			fields := strings.Fields(string(out)) // seconds to read and to write
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
