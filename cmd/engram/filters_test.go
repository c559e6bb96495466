package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The script of filters runs every expression of the guide's table.
func TestFilterGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/filters.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/filters.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| to ask for | write |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows, examples := 0, 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "| ") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			if strings.HasPrefix(m[1], ".") {
				continue // the end of the expression before it
			}
			if examples++; !strings.Contains(string(script), "--where '"+strings.ReplaceAll(m[1], "'", "''")+"'") {
				t.Errorf("no script runs %s", m[1])
			}
		}
	}
	if rows < 10 || examples < 10 {
		t.Errorf("the guide has %d rows with %d expressions", rows, examples)
	}
}
