package pattern_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/reference"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/pattern"
)

// asPatterns are questions of the reference as they are said in patterns. The variables that both
// have are compared; a literal by its text.
var asPatterns = map[string]string{
	"s001": `?M label ~"Munich"; ?M properPhysicalParts ?R; ?R roomNumber "3001"; ?R describedInMap ?Map`,
	"s002": `?M label ~"Munich"; ?M properPhysicalParts ?R; ?R roomNumber "3001"; ?R describedInMap ?Map`,
	"s003": `?M label ~"Munich"; ?M properPhysicalParts ?R; ?R roomNumber "3001"; ?R describedInMap ?Map`,
	"s007": `?C a City; ?C label ~"(?i)^munich$"; ?C properPhysicalParts ?S; ?S a Street; ?S label ~"^Karlstr"; ?S properPhysicalParts ?B; ?B a Building; ?B properPhysicalParts ?R; ?R a RoomInAConstruction; ?R roomNumber "3001"`,
	"s008": `?S label "Karlstrasse"; ?S properPhysicalParts ?R; ?R a HospitalRoom; ?R describedInMap ?Map; ?Map a roboearth:MetricMap`,
	"s010": `?R a RoomInAConstruction; not { ?R describedInMap ?_m; ?_m a knowrob:SemanticEnvironmentMap }`,
	"s012": `ias_room:Munich properPhysicalParts ?Part`,
	"s013": `mode rdfs; ias_room:Munich properPhysicalParts ?Part`,
	"s014": `?Whole properPhysicalParts ias_room:Room7635`,
	"s025": `joints:Bremen properPhysicalParts ?Part; ?Part a Container`,
	"s027": `?X standsNextTo ?Y`,
	"s028": `mode plain; ?X standsNextTo ?Y`,
	"s041": `?R roomNumber "3001"`,
	"s050": `?X a Place`,
	"s052": `?X a HeatSource`,
	"s054": `?X a HingedFurniture`,
	"s055": `?X a FrontPanel; not { ?X a Drawer }`,
	"s056": `?X a SeedCupboard; ! ?X a HingedFurniture`,
	"s058": `?X a OnlyHandleParts`,
	"s063": `?Joint a HingedJoint; ?Joint minJointValue ?Min; ?Joint maxJointValue ?Max; ?Joint radius ?Radius`,
	"s067": `?Parent properPhysicalParts ?Joint; mode rdfs; ?Joint connectedTo-Rigidly ?Parent; ?Joint connectedTo-Rigidly ?Child; where ?Child != ?Parent`,
	"s071": `?X hingedTo ?Door; ?Door properPhysicalParts ?Joint; ?Joint a HingedJoint`,
	"s072": `mode plain; ?_x a HingedJoint; select count`,
	"s087": `?P objectActedOn ?X; ?X a DrinkingVessel; ?P eventOccursAt ?M; ?M m23 ?_z; where double(?_z) > 0.5; ?P startTime ?T`,
	"s094": `ias_room:bed1 ?P ?O`,
}

func TestReference(t *testing.T) {
	b, err := os.ReadFile(testkit.Shared(t, "knowledge", "queries.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	views, prefixes := map[string]*knowledge.View{}, reference.Prefixes(t)
	asked := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		text, ok := asPatterns[cells[0]]
		if !ok || len(cells) < 8 {
			continue
		}
		id, files := cells[0], cells[2]
		if views[files] == nil {
			views[files] = &knowledge.View{Graph: reference.Load(t, files)}
		}
		asked++
		var want []map[string]any
		if err := json.Unmarshal([]byte(cells[7]), &want); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		c, err := pattern.CompileText(views[files], text, pattern.Options{Prefixes: prefixes})
		if err != nil {
			t.Errorf("%s: %v\n%s", id, err, text)
			continue
		}
		var got []string
		for row, err := range c.Ask(t.Context(), views[files], knowledge.DefaultLimits) {
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			var names []string
			for i := range row.Len() {
				names = append(names, row.Name(i)+"="+row.Value(i).Value)
			}
			slices.Sort(names)
			got = append(got, strings.Join(names, " "))
		}
		var rows []string
		for _, row := range want {
			var names []string
			for name, value := range row {
				text := fmt.Sprint(value)
				if literal, ok := value.(map[string]any); ok {
					text = fmt.Sprint(literal["literal"])
				}
				if name == "N" {
					name = "count"
				}
				if slices.Contains(c.Columns(), name) {
					names = append(names, name+"="+text)
				}
			}
			slices.Sort(names)
			rows = append(rows, strings.Join(names, " "))
		}
		slices.Sort(got)
		slices.Sort(rows)
		got, rows = slices.Compact(got), slices.Compact(rows)
		if !slices.Equal(got, rows) {
			t.Errorf("%s: %s\n%s\n got %q\nwant %q", id, text, cells[3], got, rows)
		}
	}
	if asked != len(asPatterns) {
		t.Errorf("%d questions were asked of %d", asked, len(asPatterns))
	}
}
