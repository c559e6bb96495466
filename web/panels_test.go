package web_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// One sees what the cameras see, live and before, saves an image, and plots numbers that one chooses, goes to a time in
// the plot, looks closer and takes the values along.
func TestPanels(t *testing.T) {
	srv, rest := living(t, 1000)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "panels.mjs", url, map[string]func() string{"rest": rest, "skill": func() string {
		stats, err := srv.Stats(t.Context(), engram.MustPattern("Skill/Execution/Simulation"), engram.LevelEntity)
		if err != nil {
			t.Error(err)
		}
		for _, s := range stats {
			if s.ID.Level() == engram.LevelEntity {
				return s.ID.Entity()
			}
		}
		return ""
	}})
}

// A view is saved as one file, which shows the same without a server and without scripts.
func TestSavedPage(t *testing.T) {
	srv, _ := living(t, 300)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "saved.mjs", url, nil)
}

// Several views stand beside each other; each keeps its own settings in the link, and they move up when one is closed.
func TestViews(t *testing.T) {
	srv, _ := living(t, 500)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "views.mjs", url, nil)
}

// How the server is, with what the doctor finds, at one glance.
func TestHealthPanel(t *testing.T) {
	srv, _ := living(t, 50)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "health.mjs", url, nil)
}
