package sense_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/sense"
)

const eye = "Vision/ImageRGB/head/eye"

// give gives an image of 64 x 48 pixels, grey but for a block of 8 x 8 pixels, and reports whether it passed.
func (r *robot) give(a *sense.Attention, x, y int, block byte) bool {
	r.t.Helper()
	m := &foxglove.RawImage{Width: 64, Height: 48, Step: 64, Encoding: "mono8", Data: make([]byte, 64*48)}
	for i := range m.Data {
		m.Data[i] = 100
		if u, v := i%64-x, i/64-y; u >= 0 && v >= 0 && u < 8 && v < 8 {
			m.Data[i] = block
		}
	}
	b, err := proto.Marshal(m)
	if err != nil {
		r.t.Fatal(err)
	}
	in := engram.NewInstance(engram.Payload{Type: "foxglove.RawImage", Bytes: b})
	results, err := a.Commit(r.t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID(eye), Time: engram.Now(), Instances: []engram.Instance{in}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return results[0].Number > 0
}

// counts waits until a change at one place passes, and one at another does not.
func (r *robot) counts(a *sense.Attention, x, y, otherX, otherY int) {
	r.t.Helper()
	testkit.Until(r.t, func() (string, bool) {
		r.give(a, x, y, 100)
		here := r.give(a, x, y, 220)
		r.give(a, x, y, 100)
		r.give(a, otherX, otherY, 100)
		there := r.give(a, otherX, otherY, 220)
		return fmt.Sprintf("a change at %d, %d passes: %v; at %d, %d: %v", x, y, here, otherX, otherY, there), here && !there
	})
}

// Change counts within the region of a rule, in shares and in pixels.
func TestRegion(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("corner", `{"entities": "Vision/ImageRGB", "filter": {"similar.image": "10"}, "region": [0, 0, 0.25, 0.25]}`)
	r.counts(a, 2, 2, 40, 30)
	r.rule("corner", `{"entities": "Vision/ImageRGB", "filter": {"similar.image": "10"}, "region": [36, 26, 16, 16]}`)
	r.counts(a, 40, 30, 2, 2)
}

func TestRegionsThatAreNone(t *testing.T) {
	r := newRobot(t)
	const of = `{"entities": "Vision/ImageRGB", "filter": {"similar.image": "3"}, %s}`
	for rule, want := range map[string]string{
		fmt.Sprintf(of, `"region": [0, 0, 1]`):                                                     "region: 3 numbers",
		fmt.Sprintf(of, `"region": [0, 0, 0, 1]`):                                                  "region: ",
		fmt.Sprintf(of, `"region": [-1, 0, 1, 1]`):                                                 "region: ",
		fmt.Sprintf(of, `"region": [0.5, 0, 0.6, 1]`):                                              "beyond the image",
		fmt.Sprintf(of, `"camera": "Vision/Calibration/head/eye"`):                                 "camera: ",
		fmt.Sprintf(of, `"object": "Vision/ImageRGB/head/eye"`):                                    "no entity of Object/Instance",
		fmt.Sprintf(of, `"object": "Object/Instance/a/cup", "camera": "Vision/ImageRGB/head/eye"`): "no entity of Vision/Calibration",
		fmt.Sprintf(of, `"object": "Object/Instance/a/cup", "region": [0, 0, 1, 1]`):               "give one of them",
		`{"entities": "Vision/ImageRGB", "region": [0, 0, 1, 1]}`:                                  "similar.image",
		`{"entities": "Vision/ImageRGB", "object": "Object/Instance/a/cup"}`:                       "similar.image",
	} {
		err := r.put("SystemState/Attention/me/r", sense.RuleType, engram.Now(), rule)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}

// A rule about an object looks where it is expected in the image, and passes all while that is not known.
func TestObjectInTheImage(t *testing.T) {
	r := newRobot(t)
	a := r.attend(sense.Config{})
	r.rule("cup", `{"entities": "Vision/ImageRGB", "filter": {"similar.image": "10"}, "object": "Object/Instance/robot/cup"}`)
	problem := func(has string) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			if r.give(a, 0, 0, 100); has != "" && !r.give(a, 0, 0, 100) {
				return "what is the same does not pass", false
			}
			rules := r.newest("SystemState/Attention/me/cup")
			said, _ := rules[0]["problem"].(string)
			return said, strings.Contains(said, has) && (has != "" || said == "")
		})
	}
	problem("it is not known where Object/Instance/robot/cup is in the image")
	put := func(entity, typ, json string) {
		t.Helper()
		if err := r.put(entity, typ, engram.Now(), json); err != nil {
			t.Fatal(err)
		}
	}
	calibration, err := proto.Marshal(&foxglove.CameraCalibration{FrameId: "head/eye", Width: 64, Height: 48, K: []float64{50, 0, 32, 0, 50, 24, 0, 0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	results, err := r.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: engram.MustID("Vision/Calibration/head/eye"), Time: engram.Now() - second,
		Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: "foxglove.CameraCalibration", Bytes: calibration})}}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
	put("RobotState/Localization/head/eye", "engram.robot_state.Localization", `{"parent_frame_id": "world", "child_frame_id": "eye", "rotation": {"w": 1}, "is_static": true}`)
	place := func(x float64) {
		t.Helper()
		put("Object/Instance/robot/cup", "engram.object.Instance", fmt.Sprintf(`{"frame_id": "head/world", "is_static": true,
			"pose": {"position": {"x": %g, "z": 2}, "orientation": {"w": 1}}}`, x))
	}
	place(0)
	r.counts(a, 28, 20, 2, 2)
	problem("")
	place(-1) // at the left of the image
	r.counts(a, 4, 20, 50, 20)
	place(9) // out of it: nothing that is seen is of interest
	testkit.Until(t, func() (string, bool) {
		r.give(a, 28, 20, 100)
		return "a change passes though the object is not seen", !r.give(a, 28, 20, 220) && !r.give(a, 4, 20, 220)
	})
}
