package web_test

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// One sees in 3D what is where, selects it by a click, and finds it in the tree of the world and on
// its floor plan.
func TestScene(t *testing.T) {
	srv, _ := living(t, 300)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "scene-smoke.mjs", url, nil)
}

// In 3D one follows, measures, sees trails, chooses what is shown, is told what cannot be shown, and
// shares what one sees; with 10,000 items, too, of which the world has a tree and a plan.
func TestSceneInFull(t *testing.T) {
	testkit.Long(t)
	srv, _ := living(t, 300)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "scene.mjs", url, map[string]func() string{
		"many": func() string { many(t, srv, 10_000); return "there" },
		"lose": func() string {
			putMessage(t, srv, "Vision/LaserScan/Simulation/laser", engram.Now(), &foxglovepb.LaserScan{FrameId: "nowhere", Ranges: []float64{1}})
			return "lost"
		},
	})
}

// many states boxes, on the map.
func many(t testing.TB, svc engram.Service, n int) {
	t.Helper()
	model, err := world.Over(t.Context(), svc, "tester", world.DefaultRules(), world.FromSource(world.Operator))
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	var items []world.NamedItem
	for i := range n {
		items = append(items, world.NamedItem{Name: fmt.Sprint("box ", i), Item: world.Item{
			Placement:   &world.Placement{Frame: "map", Pose: pose.Translation(float64(i%100)/2, float64(i/100)/2, 0)},
			Description: &world.Description{Kinds: []string{fmt.Sprint("kind ", i%7)}, Box: &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 0.2, Y: 0.3, Z: 0.1}}},
		}})
	}
	refused, mark, err := model.Update(t.Context(), items...)
	if err == nil && len(refused) == 0 {
		_, err = model.View(t.Context(), mark)
	}
	if err != nil || len(refused) > 0 {
		t.Fatal(err, len(refused))
	}
}
