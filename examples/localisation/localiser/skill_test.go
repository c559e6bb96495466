package localiser_test

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/camera"
	"github.com/seed-301d4374/engram/examples/localisation/localiser"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/server"
	"github.com/seed-301d4374/engram/skill"
)

// offered runs a provider of the skill until the test ends.
func offered(t *testing.T, s *server.Server) {
	t.Helper()
	p := skill.NewProvider(s, "Localizer")
	c := localiser.Config{Provider: camera.Provider, Camera: camera.Name, Poses: s.Poses(), Log: testkit.Quiet}
	if err := localiser.Offer(p, s, c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	testkit.Until(t, func() (string, bool) {
		all, err := skill.Descriptions(t.Context(), s, "Skill")
		return "no skill yet", err == nil && len(all) > 0
	})
}

func ask(t *testing.T, s *server.Server, parameters map[string]any) *skill.Ongoing {
	t.Helper()
	x, err := skill.Start(t.Context(), s, skill.Request{Skill: localiser.Skill, Caller: "test", Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// The skill looks at images while it runs, and at none before and after.
func TestSkill(t *testing.T) {
	s := newServer(t)
	driver := camera.New(engram.Time(1.7e18), 1)
	commit(t, s, driver.Setup())
	commit(t, s, driver.Image(0))
	offered(t, s)
	instances := engram.MustPattern("Object/Instance/Localizer")
	if r, err := s.Query(t.Context(), instances.Select(engram.All())); err == nil && len(r.Items()) > 0 {
		t.Fatal("objects were looked for before anybody asked")
	}
	updates, err := s.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{instances}})
	if err != nil {
		t.Fatal(err)
	}
	defer updates.Close()

	once := ask(t, s, map[string]any{"classes": []any{"toolbox"}, "images": 1})
	e, err := once.Wait(testkit.Context(t))
	if err != nil || e.Err() != nil || e.Status != skill.Succeeded {
		t.Fatalf("%+v, %v", e, err)
	}
	objects, _ := e.Result.(map[string]any)["objects"].([]any)
	seen := testkit.Next(t, updates, 1)
	if len(objects) != 1 || objects[0] != seen[0].ID.Truncate(engram.LevelSnapshot) || seen[0].ID.Entity() != "toolbox" {
		t.Errorf("the result links to %v, seen was %v", objects, seen[0].ID)
	}

	ever := ask(t, s, nil)
	testkit.Next(t, updates, 4)
	commit(t, s, driver.Image(1))
	testkit.Next(t, updates, 4)
	answer, err := ever.Abort(testkit.Context(t), skill.ReasonOperator, "enough")
	if err != nil {
		t.Fatal(answer, err)
	}
	if e, err = ever.Wait(testkit.Context(t)); err != nil || e.Status == skill.Succeeded {
		t.Errorf("after an abort: %+v, %v", e, err)
	}
	commit(t, s, driver.Image(2))
	again := ask(t, s, map[string]any{"classes": []any{"train"}, "images": 1, "frame": ""})
	if e, err = again.Wait(testkit.Context(t)); err != nil || e.Status != skill.Succeeded {
		t.Errorf("%+v, %v", e, err)
	}
	// Of image 2 only the one that was asked for came: nobody looked in between.
	if u := testkit.Next(t, updates, 1); u[0].ID.Entity() != "train" {
		t.Errorf("after the abort came %v", u[0].ID)
	}

	wrong := ask(t, s, map[string]any{"classes": []any{"elephant"}})
	if e, err = wrong.Wait(testkit.Context(t)); err != nil || e.Status != skill.Failed {
		t.Errorf("%+v, %v", e, err)
	} else {
		t.Log(e.Err())
	}
}

// Who asks before the camera has committed anything is told what is waited for, and gets what
// was asked for.
func TestSkillWaitsForTheCamera(t *testing.T) {
	s := newServer(t)
	offered(t, s)
	driver := camera.New(engram.Time(1.7e18), 1)
	x := ask(t, s, map[string]any{"classes": []any{"toolbox"}, "images": 1})
	begun := false
	for e, err := range x.Watch(testkit.Context(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if !begun && e.Message == "waits for the first image of Vision/ImageRGB/Camera/head" {
			begun = true
			commit(t, s, driver.Setup())
			commit(t, s, driver.Image(0))
		}
		if e.Status.Ended() && (!begun || e.Status != skill.Succeeded) {
			t.Fatalf("%v: %v", e.Status, e.Err())
		}
	}
	if !begun {
		t.Error("it did not say what it waits for")
	}
}
