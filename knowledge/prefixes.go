package knowledge

import (
	_ "embed"
	"strings"
)

//go:embed prefixes.tsv
var prefixesText string

// Prefixes returns the prefixes of KnowRob, RoboEarth and the W3C, and the beginnings of IRIs
// that they stand for.
func Prefixes() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(prefixesText) {
		if name, iri, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && name != "prefix" {
			all[name] = iri
		}
	}
	return all
}
