package engram_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// shielded are types that much of the program holds, with the packages whose generics they
// must not lead to: whoever imports such a type compiles all methods of each generic type
// that can be reached from it, by fields and by methods, exported or not.
var shielded = []struct{ room, name, from string }{
	{"mind/pose", "Pose", "mind/pose"},
	{"mind/pose", "Failure", "mind/pose"},
	{"core/idf", "Type", "internal/sync"}, // sync.Map's
	{"core/idf", "Filter", "internal/sync"},
	{"edge/transport/rpc", "Client", "internal/sync"},
	{"edge/transport/rpc", "Client", "connectrpc.com/connect"},
	{"fleet/backbone/embedded", "Server", "github.com/nats-io/nats-server/v2/server"},
}

// Importing a type costs no compiler what is behind it.
func TestGenericsAreCompiledWhereTheyAre(t *testing.T) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, s := range shielded {
		args = append(args, "./"+s.room)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exported[path] = file
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })
	for _, s := range shielded {
		p, err := from.Import(module + "/" + s.room)
		if err != nil {
			t.Fatal(err)
		}
		behind := s.from
		if s.from == s.room {
			behind = module + "/" + s.room
		}
		if way := wayToGenerics(p.Scope().Lookup(s.name).Type(), behind); way != "" {
			t.Errorf("%s.%s leads to generics of %s, which all who import it compile: %s", s.room, s.name, s.from, way)
		}
	}
}

// wayToGenerics returns how one comes from a type to an instance of a generic type with
// methods of a package, or of one below it; "" if one does not.
func wayToGenerics(t types.Type, behind string) string {
	type step struct {
		t   types.Type
		way string
	}
	seen := map[string]bool{}
	for left := []step{{t, ""}}; len(left) > 0; left = left[1:] {
		next := func(what string, t types.Type) { left = append(left, step{t, left[0].way + what}) }
		switch t := left[0].t.(type) {
		case *types.Named:
			name := types.TypeString(t, nil)
			if seen[name] {
				continue
			}
			seen[name] = true
			if t.TypeArgs().Len() > 0 && t.NumMethods() > 0 && in(behind)(t.Obj().Pkg().Path()) {
				return left[0].way + " " + name
			}
			next(" "+t.Obj().Name(), t.Underlying())
			for m := range t.Methods() {
				next(" "+t.Obj().Name()+"."+m.Name(), m.Type())
			}
			for arg := range t.TypeArgs().Types() {
				next("", arg)
			}
		case *types.Alias:
			next("", types.Unalias(t))
		case *types.Map:
			next("", t.Key())
			next("", t.Elem())
		case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
			next("", t.Elem())
		case *types.Struct:
			for f := range t.Fields() {
				next("."+f.Name(), f.Type())
			}
		case *types.Interface:
			for m := range t.Methods() {
				next("."+m.Name(), m.Type())
			}
		case *types.Signature:
			for v := range t.Params().Variables() {
				next("", v.Type())
			}
			for v := range t.Results().Variables() {
				next("", v.Type())
			}
		}
	}
	return ""
}
