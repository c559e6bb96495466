package web_test

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/memories"
)

// One sees what attention passed on and why, what came as a surprise, and how good predictions are.
func TestAttention(t *testing.T) {
	testkit.Node(t, "app", "playwright-core")
	srv := serving.New(t, memories.All()...)
	url, _ := serve(t, srv, serving.AnyPort)
	browser(t, "attention.mjs", url, map[string]func() string{"attend": func() string {
		now := engram.Now()
		camera, joints := engram.MustID("Vision/ImageRGB/Simulation/head_camera"), engram.MustID("RobotState/Proprioception/Simulation/humanoid")
		rule := engram.MustID("SystemState/Attention/me/grasp")
		putValues(t, srv, rule.String(), "engram.system_state.Attention", now, map[string]any{
			"timestamp": now, "entities": "Vision/ImageRGB", "while": []any{`Skill/Execution where status == "Running"`}, "before": 2 * time.Second, "after": time.Second,
		})
		putValues(t, srv, "SystemState/Sensor/Simulation/head_camera", "engram.system_state.Sensor", now, map[string]any{
			"timestamp": now, "sensor": camera, "rules": []any{rule}, "given": int64(1200), "passed": int64(120), "recalled": int64(40), "left_out": int64(1040),
		})
		putValues(t, srv, "SystemState/Incident/Simulation/grasp-1", "engram.system_state.Incident", now, map[string]any{
			"timestamp": now, "rule": rule, "cause": engram.MustID("Skill/Execution/Simulation/GraspObject-1.3").At(now),
			"window_start": now.Add(-2 * time.Second), "window_end": now.Add(2 * time.Second), "closed": true,
			"sensors": []any{map[string]any{"sensor": camera, "seen": int64(80), "kept": int64(80)}},
		})
		putValues(t, srv, "Prediction/Surprise/Server/humanoid", "engram.prediction.Surprise", now, map[string]any{
			"timestamp": now, "entity": joints, "sigma": 7.5, "surprising": true, "member": "position[3]", "expected": 0.4, "observed": 0.9, "since": now, "snapshot": joints.At(now),
		})
		putValues(t, srv, "Prediction/Score/answer/humanoid", "engram.prediction.Score", now, map[string]any{
			"timestamp": now, "entity": joints, "horizon": time.Second, "model": "answer", "skill": 0.62, "band": 0.91, "samples": int64(400),
		})
		return "there"
	}, "withdraw": func() string {
		now := engram.Now()
		image := engram.MustID("Vision/ImageRGB/Simulation/doubt_camera").At(now)
		putValues(t, srv, "Vision/ImageRGB/Simulation/doubt_camera", "engram.vision.Image", now, map[string]any{"timestamp": now})
		putValues(t, srv, "Object/Instance/Simulation/glass", "engram.object.Instance", now, map[string]any{"timestamp": now, "source_image": image})
		putValues(t, srv, "SystemState/Withdrawal/me/w", "engram.system_state.Withdrawal", now, map[string]any{
			"timestamp": now, "entities": "Vision/ImageRGB/Simulation/doubt_camera", "reason": "it was mis-calibrated",
		})
		// Of a cup only the first of what rests on a marker.
		const marker = "Object/Instance/Simulation/marker"
		for i := range 3 {
			at := now.Add(time.Duration(i-3) * time.Second)
			putValues(t, srv, marker, "engram.object.Instance", at, map[string]any{"timestamp": at})
			putValues(t, srv, "Object/Instance/Simulation/cup", "engram.object.Instance", at.Add(time.Millisecond), map[string]any{"timestamp": at, "attachment": engram.MustID(marker)})
		}
		putValues(t, srv, "SystemState/Withdrawal/me/half", "engram.system_state.Withdrawal", now, map[string]any{
			"timestamp": now, "entities": marker, "end": now.Add(-2500 * time.Millisecond), "reason": "it was dark",
		})
		return "there"
	}})
}
