package base

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/semmap"
)

const (
	// nsID is what the IRIs of entities that are no items begin with; the ID follows.
	nsID = "https://engram.dev/id#"
)

// deedTypes are the core segments, beside those of the world, whose entities are individuals or classes,
// and their types: what kinds of things there are, what the robot can do, and what it did.
var deedTypes = map[string]string{
	"Object/Class":      "engram.object.Class",
	"Skill/Description": "engram.skill.Description",
	"Skill/Execution":   "engram.skill.Execution",
	"Skill/Activity":    "engram.skill.Activity",
	"Navigation/Result": "engram.navigation.Result",
}

// properties are those of members that have a name in KnowRob's ontology or in RDF Schema; others are of
// ours, and called as the member.
var properties = map[string]string{
	"Object/Class.categories":       rdf.NSRDFS + "subClassOf",
	"Object/Class.spoken_names":     rdf.NSRDFS + "label",
	"Object/Class.name":             rdf.NSRDFS + "label",
	"Skill/Description.name":        rdf.NSRDFS + "label",
	"Skill/Description.description": rdf.NSRDFS + "comment",
	"Skill/Description.subskills":   semmap.NSKnowRob + "subAction",
	"Skill/Execution.started":       semmap.NSKnowRob + "startTime",
	"Skill/Activity.name":           rdf.NSRDFS + "label",
	"Skill/Activity.started":        semmap.NSKnowRob + "startTime",
	"Skill/Activity.ended":          semmap.NSKnowRob + "endTime",
	"Navigation/Result.started":     semmap.NSKnowRob + "startTime",
	"Navigation/Result.timestamp":   semmap.NSKnowRob + "endTime",
}

// deeds reads the entities of deedTypes, by core segment, as far as the server has it: a member that is
// a text, a number or a time is a literal or a time point, a link the individual that it leads to.
type deeds map[string]*idf.Type

func newDeeds(ctx context.Context, types engram.Types) (deeds, error) {
	d := deeds{}
	for segment, name := range deedTypes {
		def, err := types.Type(ctx, name)
		if engram.CodeOf(err) == engram.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d[segment], err = idf.ParseType(def); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d deeds) patterns() (all []engram.Pattern) {
	for segment := range d {
		all = append(all, engram.MustPattern(segment))
	}
	return all
}

// iriOf returns the IRI of what an ID leads to.
func iriOf(names *semmap.Names, id engram.ID) string {
	segment := id.Memory() + "/" + id.CoreSegment()
	switch {
	case segment == "World/Item", segment == "Object/Instance":
		return names.IRI(id.Entity())
	case segment == "Object/Class":
		return semmap.ClassIRI(id)
	case id.Memory() == knowledgeMemory:
		return id.Entity()
	case deedTypes[segment] != "":
		id = id.Truncate(engram.LevelEntity) // one individual, of whichever time
	}
	return nsID + escaped.Replace(id.String())
}

// escaped replaces what IRIs must not have.
var escaped = strings.NewReplacer(" ", "%20", "<", "%3C", ">", "%3E", `"`, "%22", "{", "%7B", "}", "%7D", "|", "%7C", `\`, "%5C", "^", "%5E", "`", "%60")

// triples returns what a snapshot of an entity says; nothing if it cannot be read.
func (d deeds) triples(names *semmap.Names, id engram.ID, s *engram.Snapshot) (all []rdf.Triple) {
	segment := id.Memory() + "/" + id.CoreSegment()
	t := d[segment]
	if t == nil || len(s.Instances) == 0 {
		return nil
	}
	text, err := t.JSON(s.Instances[0].Payload.Bytes, idf.JSONOptions{})
	var members map[string]any
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	subject := rdf.NewIRI(iriOf(names, id))
	say := func(property string, o rdf.Term) {
		all = append(all, rdf.Triple{S: subject, P: rdf.NewIRI(property), O: o})
	}
	class := semmap.NS + id.CoreSegment()
	switch segment {
	case "Object/Class":
		class = rdf.NSOWL + "Class"
	case "Skill/Description":
		class = semmap.NS + "Skill"
	case "Navigation/Result":
		class = semmap.NS + "Navigation"
	}
	say(rdf.NS+"type", rdf.NewIRI(class))
	say(semmap.NS+"provider", literal(id.ProviderSegment(), "string"))
	for _, m := range t.Members() {
		property := properties[segment+"."+m.Name]
		if property == "" {
			property = semmap.NS + camel(m.Name)
		}
		values, many := members[m.Name].([]any)
		if !many {
			values = []any{members[m.Name]}
		}
		for _, v := range values {
			category, _ := v.(string)
			if property == rdf.NSRDFS+"subClassOf" && category != "" {
				if of, err := engram.NewID("Object", "Class", id.ProviderSegment(), category); err == nil {
					say(property, rdf.NewIRI(semmap.ClassIRI(of)))
				}
			} else if o, ok := valueOf(names, m.Type, v); ok {
				say(property, o)
			}
		}
	}
	if segment == "Skill/Execution" {
		switch members["status"] {
		case "Succeeded", "Failed", "Aborted":
			if o, ok := valueOf(names, "Time", members["timestamp"]); ok {
				say(semmap.NSKnowRob+"endTime", o)
			}
		}
	}
	if id.Memory() != "Skill" {
		return all
	}
	links, _ := t.Links(s.Instances[0].Payload.Bytes) // it was read before
	for _, l := range links {
		of := rdf.NewIRI(iriOf(names, l.ID))
		switch member, _, _ := strings.Cut(strings.ReplaceAll(l.Path, "[", "."), "."); member {
		case "parent": // as KnowRob says it, from the whole
			all = append(all, rdf.Triple{S: of, P: rdf.NewIRI(semmap.NSKnowRob + "subAction"), O: subject})
		case "result":
			say(semmap.NS+"resultedIn", of)
			continue
		case "parameters":
			say(semmap.NS+"uses", of)
		}
		if l.ID.Memory() == "Vision" {
			say(semmap.NS+"usesImage", of)
		}
	}
	return all
}

// valueOf returns a member's value as a term; ok is false for what is no text, number, time or link.
func valueOf(names *semmap.Names, typ string, v any) (o rdf.Term, ok bool) {
	switch v := v.(type) {
	case bool:
		return literal(fmt.Sprint(v), "boolean"), true
	case float64:
		return literal(fmt.Sprint(v), "double"), true
	case string:
		switch {
		case v == "":
			return o, false
		case strings.Contains(typ, "Link"):
			id, err := engram.Parse(v)
			if err != nil {
				return o, false
			}
			return rdf.NewIRI(iriOf(names, id)), true
		case typ == "Time":
			t, err := time.Parse(time.RFC3339Nano, v)
			if err != nil || t.UnixNano() == 0 {
				return o, false
			}
			return semmap.TimePoint(engram.Time(t.UnixNano())), true
		}
		return literal(v, "string"), true
	}
	return o, false
}

func literal(text, datatype string) rdf.Term {
	return rdf.Term{Kind: rdf.Literal, Value: text, Type: rdf.NSXSD + datatype}
}

// camel writes the name of a member as properties are written: path_length is pathLength.
func camel(name string) string {
	var b strings.Builder
	up := false
	for _, r := range name {
		if r == '_' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
