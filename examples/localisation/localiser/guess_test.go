package localiser

import (
	"math"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/examples/localisation/boxes"
	"github.com/seed-301d4374/engram/examples/localisation/camera"
	"github.com/seed-301d4374/engram/examples/localisation/marker"
	"github.com/seed-301d4374/engram/pose"
)

// A small marker far away looks alike at two poses. The prediction says which one it is; without
// one the covariance says that it may be the other.
func TestPredictionDecides(t *testing.T) {
	c := &class{id: engram.MustID("Object/Class/p/cup"), name: "cup"}
	a := pose.Pose{T: pose.Vec3{Z: 2}, R: pose.AxisAngle(pose.Vec3{X: 1}, math.Pi-0.3)}
	b := pose.Pose{T: pose.Vec3{Z: 2}, R: pose.AxisAngle(pose.Vec3{X: 1}, math.Pi+0.3)}
	cov := pose.DiagonalCov(0.005, 0.03)
	d := &marker.Detection{Pose: a, Covariance: cov, Other: b, OtherCovariance: cov, OtherProbability: 0.4}
	on := tag{class: c, size: 0.05, pose: pose.Translation(0, 0, 0.1)}
	object := func(p pose.Pose) pose.Pose { return p.Mul(on.pose.Inverse()) }
	for name, expected := range map[string]pose.Pose{"the better": a, "the other": b} {
		p, got := choose(d, on, []guess{{pose: object(expected), cov: pose.DiagonalCov(0.05, 0.2)}})
		if far, turned := p.Distance(object(expected)); far > 1e-9 || turned > 1e-9 {
			t.Errorf("%s is predicted, and the object is %.3f m and %.3f rad from there", name, far, turned)
		}
		if got.SigmaRot() > 0.2 {
			t.Errorf("%s is predicted, and the object's turn still is uncertain by %.3f rad", name, got.SigmaRot())
		}
	}
	p, got := choose(d, on, nil)
	if _, turned := p.Distance(object(a)); turned > 1e-9 || got.SigmaRot() < 0.25 {
		t.Errorf("without a prediction: %.3f rad from the better one, uncertain by %.3f rad", turned, got.SigmaRot())
	}
	d.OtherProbability = 0.001
	if _, got := choose(d, on, nil); math.Abs(got.SigmaRot()-cov.SigmaRot()) > 1e-9 {
		t.Errorf("the image is clear, and the turn uncertain by %.3f rad", got.SigmaRot())
	}
}

// Objects of one class keep their names from image to image.
func TestNames(t *testing.T) {
	c := &class{id: engram.MustID("Object/Class/p/cup"), name: "cup"}
	at := func(x float64) pose.Pose { return pose.Translation(x, 0, 1) }
	guesses := map[engram.ID][]guess{c.id: {{entity: "cup", pose: at(0)}, {entity: "cup/2", pose: at(1)}}}
	all := []found{{class: c, pose: at(1.1)}, {class: c, pose: at(0.1)}, {class: c, pose: at(3)}}
	name(all, guesses)
	for i, want := range []string{"cup/2", "cup", "cup/3"} {
		if all[i].entity != want {
			t.Errorf("at %v is %s, want %s", all[i].pose.T.X, all[i].entity, want)
		}
	}
}

// Two markers of an object say where it is better than one.
func TestTogether(t *testing.T) {
	a := found{pose: pose.Translation(0, 0, 1), cov: pose.DiagonalCov(0.01, 0.1)}
	b := found{pose: pose.Pose{T: pose.Vec3{Z: 1.02}, R: pose.AxisAngle(pose.Vec3{Z: 1}, 0.1)}, cov: pose.DiagonalCov(0.01, 0.1)}
	p, cov := together(&a, &b)
	if math.Abs(p.T.Z-1.01) > 1e-9 || math.Abs(p.R.Angle()-0.05) > 1e-9 || math.Abs(cov.SigmaTrans()/a.cov.SigmaTrans()-math.Sqrt(0.5)) > 1e-9 {
		t.Errorf("%v, uncertain by %.4f m", p, cov.SigmaTrans())
	}
}

// Of two kinds of boxes of the same size it is the one that is expected there, or neither.
func TestLikelyPlaceDecides(t *testing.T) {
	d := camera.New(engram.Time(1.7e18), 1)
	seen := marker.Camera{Width: camera.Width, Height: camera.Height, FX: camera.Focal, FY: camera.Focal, CX: (camera.Width - 1) / 2.0, CY: (camera.Height - 1) / 2.0}
	f := &frame{camera: seen, depth: &boxes.Image{Camera: seen, Depth: d.Picture(0).Depth}}
	k := &knowledge{}
	for _, name := range []string{"cereals", "muesli"} {
		c := &class{id: engram.MustID("Object/Class/p/" + name), name: name, box: pose.Identity()}
		k.boxed = append(k.boxed, c)
		k.kinds = append(k.kinds, boxes.Kind{Name: name, Sizes: []pose.Vec3{{X: 0.06, Y: 0.19, Z: 0.28}}})
	}
	nowhere := func(*class) []pose.Vec3 { return nil }
	at := func(which string) func(*class) []pose.Vec3 {
		return func(c *class) []pose.Vec3 {
			if c.name == which {
				return []pose.Vec3{{Z: 1.5}}
			}
			return []pose.Vec3{{Z: 20}}
		}
	}
	for want, likely := range map[string]func(*class) []pose.Vec3{"": nowhere, "cereals": at("cereals"), "muesli": at("muesli")} {
		got := ""
		for _, o := range k.byBoxes(f, nil, likely, pose.Vec3{}) {
			got += o.class.name
		}
		if got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	guesses := map[engram.ID][]guess{}
	for _, o := range k.byBoxes(f, nil, at("muesli"), pose.Vec3{}) {
		guesses[k.boxed[0].id] = []guess{{entity: "cereals", pose: o.pose}}
	}
	if all := k.byBoxes(f, guesses, at("muesli"), pose.Vec3{}); len(all) != 1 || all[0].class != k.boxed[0] {
		t.Errorf("where cereals are predicted, found %+v", all)
	}
}
