package memorytest

import (
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var writeTypes = flag.Bool("update", false, "write cases/types.json")

// The types that clients in other languages read are those of the suite.
func TestTypesOfCases(t *testing.T) {
	types := map[string][]byte{}
	for _, name := range []string{readingType, markedType, otherType} {
		types[name] = typeOf(name).Def().Descriptors
	}
	want, err := json.MarshalIndent(types, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *writeTypes {
		if err := os.WriteFile("cases/types.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := cases.ReadFile("cases/types.json")
	if err != nil {
		t.Fatal(err)
	}
	if onDisk, err := os.ReadFile("cases/types.json"); err == nil && *writeTypes {
		got = onDisk
	}
	if string(got) != string(want) {
		t.Error("cases/types.json is out of date: run 'go test ./memorytest -run TestTypesOfCases -update'")
	}
}
