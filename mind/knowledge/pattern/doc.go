// Package pattern answers questions that are patterns of triples, without Prolog:
//
//	?room roomNumber "3001"; ?s properPhysicalParts+ ?room; ?s label ~"Karlstr.*"
//
// A [Question] is made of Go values, read from text with [Parse], or from JSON; [Compile] finds
// what its names mean in a view of knowledge, and [Compiled.Ask] answers it, as often as wanted.
// [ParseClass] reads class expressions in OWL's Manchester syntax; they may stand in questions.
//
// # The language
//
// A question is what must hold, separated by semicolons:
//
//	?x parts ?y            a triple: subject, property, object; ?x is a variable, _ is anything
//	?x parts+ ?y           one or more steps; parts* none or more; ^parts the other way round
//	?x a Door              type, with the classes below it and their definitions; ?x type Door is the same
//	?x a (Door and …)      of a class expression
//	?x ?p ?y               any property, as it is stated
//	?x roomNumber "3001"   a literal with this text, of any type and language
//	?x height 2.0          a literal with this value: 2, "2.00"^^xsd:double
//	?x label ~"Karl.*"     a literal in whose text the regular expression (RE2) is found
//	?x label "Tür"@de      a literal with this value: "4"^^xsd:int has 4.0, and not the text "4"
//	not { … }              nothing fulfils this; ! before one triple is the same
//	optional { … }         this too where something fulfils it
//	where ?h > 2.0         a condition in CEL on the values of variables
//	certain >= 0.9         only rows with this probability at least
//	mode owl               what a property means: owl (what follows), rdfs (with sub-properties), plain (as stated)
//	prefix my: <http://…#> what my: stands for
//	select ?x, ?y          what the rows have; select ?x, count(?y) counts for each ?x
//	distinct               each row once; without select rows are distinct anyway
//	count                  how many rows there are
//	order by ?h desc, ?x   what comes first
//	limit 10               rows at most
//
// Names are prefix:local, <iri>, or a local name that one property, class or individual of the
// view has that fits the place; the labels and comments of RDFS, and the properties that OWL's
// reasoning knows, come before others of their names, and their other names after. 'quotes' are
// for names with other characters. Variables that begin with ?_ are left out of rows.
//
// In mode owl a property has what [knowledge.Relation] says: sub-properties, inverses, symmetry,
// transitivity, owl:sameAs, and values of restrictions. Computed properties of a view are
// used like others; a row's probability is the product of those of its triples, as if they were
// independent. Within not, what is less likely than 0.5 does not hold.
//
// In CEL, literals have the types that they have in RDF: numbers, booleans and times; all others
// and IRIs are strings. Where a variable stands beside ==, !=, <, <=, >, >= or in, what its literal means is
// compared ([rdf.Compare]): numbers of any size, times with and without a zone; also in a list after in. What is
// computed, such as ?t + duration("1h"), is CEL's: a time without a zone is one of UTC there, and where it is compared with
// that. A variable without a value (of an optional part) is null. What is in no order, such as a number and an IRI,
// fulfils none of <, <=, > and >=. A condition that fails on a row, such as one that adds a number and a string, does not hold of it; if it fails on all, that is an error.
//
// A variable that stands twice is one literal; ?a == ?b compares values.
package pattern
