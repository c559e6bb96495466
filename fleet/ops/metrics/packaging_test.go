package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/goccy/go-yaml"
)

// What the sample dashboard and the sample alerts ask for is there.
func TestDashboardAndAlertsAskForWhatThereIs(t *testing.T) {
	families, err := NewRegistry(everything(1)).Gather()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, f := range families {
		there[f.GetName()] = true
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			there[f.GetName()+suffix] = true
		}
	}
	dashboard, err := os.ReadFile("../../../packaging/grafana/engram.json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(dashboard) {
		t.Error("the dashboard is no JSON")
	}
	alerts, err := os.ReadFile("../../../packaging/prometheus/engram-alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"engram-alerts.yml", "prometheus.yml"} {
		text, err := os.ReadFile("../../../packaging/prometheus/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, new(any)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	asked := regexp.MustCompile(`\b(engram|go|process)_[a-z_]+`).FindAllString(string(dashboard)+string(alerts), -1)
	if len(asked) < 30 {
		t.Fatalf("%d metrics are asked for", len(asked))
	}
	for _, name := range asked {
		if !there[name] {
			t.Errorf("there is no metric %s", name)
		}
	}
}
