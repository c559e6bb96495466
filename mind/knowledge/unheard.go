package knowledge

import (
	"fmt"
	"iter"
	"strings"

	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// maxNear bounds with how many names a wrong one is compared.
const maxNear = 20_000

// Unheard says that nothing is known of a name of a question, and which one of the same prefix may be meant; "" if something is
// known of it, or the prefix is none, or that of XML Schema's datatypes.
func (v *View) Unheard(prefixes *Prefixes, prefix, local string) string {
	begin, known := prefixes.IRI(prefix)
	if !known || begin == rdf.NSXSD || local == "" {
		return ""
	}
	c := v.Cursor()
	if v.names.find(rdf.NewIRI(begin+local)) != 0 {
		return ""
	}
	var names []string
	if v.Computed != nil {
		for iri := range v.Computed.Properties() {
			if iri == begin+local {
				return ""
			}
			if name, of := strings.CutPrefix(iri, begin); of {
				names = append(names, name)
			}
		}
	}
	c.IRIs(func(_ ID, iri string) bool {
		if name, of := strings.CutPrefix(iri, begin); of && name != "" {
			names = append(names, name)
		}
		return len(names) < maxNear
	})
	note := fmt.Sprintf("nothing is known of %s:%s", prefix, local)
	if near := spelling.Nearest(local, names); near != "" {
		note += fmt.Sprintf("; did you mean %s:%s?", prefix, near)
	}
	return note
}

// UnheardOf is Unheard of prefixed names, each looked up once. It stops at ten notes, as each name is compared with all that are
// known.
func (v *View) UnheardOf(prefixes *Prefixes, names iter.Seq2[string, string]) (notes []string) {
	const most = 10
	looked := map[[2]string]bool{}
	for prefix, local := range names {
		name := [2]string{prefix, local}
		if looked[name] {
			continue
		}
		looked[name] = true
		if note := v.Unheard(prefixes, prefix, local); note != "" {
			if notes = append(notes, note); len(notes) == most {
				break
			}
		}
	}
	return notes
}
