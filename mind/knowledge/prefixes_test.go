package knowledge

import (
	"maps"
	"strings"
	"testing"
)

func TestPrefixes(t *testing.T) {
	const kb = "http://knowrob.org/kb/"
	p := NewPrefixes(
		Document{"ias-hospital_room", map[string]string{"": kb + "room##", "rdf": "http://other/", "kr": kb + "knowrob.owl#", "map": kb + "a#", "p": kb + "p#"}},
		Document{"Kitchen", map[string]string{"": kb + "kitchen#", "map": kb + "b#", "time": "http://www.w3.org/2006/time#", "none": ""}},
		Document{"3d", map[string]string{"": kb + "3d#"}},
		Document{"again", map[string]string{"": kb + "p#"}},
		Document{"old", map[string]string{"knowrob": "http://ias/knowrob.owl#"}},
	)
	for prefix, want := range map[string]string{
		"ias_hospital_room": kb + "room#", "kitchen": kb + "kitchen#", // the names of documents have what is their default
		"rdf":  "http://www.w3.org/1999/02/22-rdf-syntax-ns#",                                                   // is fixed
		"time": "http://www.w3.org/2006/time#", "knowrob": "http://ias/knowrob.owl#", "kr": kb + "knowrob.owl#", // documents say otherwise
		"srdl2": kb + "srdl2.owl#", "p": kb + "p#",
		"map": "", "": "", "none": "", "d": "", "3d": "", "again": "", "nobody": "",
	} {
		if got, known := p.IRI(prefix); got != want || known != (want != "") {
			t.Errorf("%s is %q, %v; want %q", prefix, got, known, want)
		}
	}
	for iri, want := range map[string]string{kb + "room#bed": "ias_hospital_room:bed", kb + "knowrob.owl#Cup": "kr:Cup", kb + "p#": "p:", "http://who/": ":http://who/", kb + "a#x": ":" + kb + "a#x"} {
		if prefix, local := p.Shorten(iri); prefix+":"+local != want {
			t.Errorf("%s is %s:%s, want %s", iri, prefix, local, want)
		}
	}
	for prefix, want := range map[string]string{
		"map":    "documents say that the prefix map stands for " + kb + "a# or " + kb + "b#; --prefix map=IRI says which",
		"nowrob": "there is no prefix nowrob; did you mean knowrob? (--prefix nowrob=IRI says what it stands for)",
		"srdl":   "did you mean srdl2 or", "fmi": "there is no prefix fmi (--prefix fmi=IRI",
	} {
		if err := p.Unknown(prefix); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", prefix, err, want)
		}
	}
	var none *Prefixes
	if !maps.Equal(none.All(), NewPrefixes().All()) {
		t.Error("no prefixes are not the common ones")
	}
	own := none.Clone()
	own.Add("rdf", "http://mine/")
	if iri, _ := none.IRI("rdf"); iri == "http://mine/" {
		t.Error("a clone is not on its own")
	}
	if iri, _ := own.IRI("rdf"); iri != "http://mine/" {
		t.Errorf("a prefix that was given is %s", iri)
	}
	one := NewPrefixes(Document{"a", map[string]string{"": "http://a#"}})
	if iri, _ := one.IRI(""); iri != "http://a#" {
		t.Errorf("the only default prefix is %q", iri)
	}
}
