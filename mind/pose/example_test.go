package pose_test

import (
	"fmt"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// A rover drives, its camera takes a picture, and later SLAM finds out that the
// rover had drifted.
func Example() {
	s := pose.New(pose.Config{})
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	must(s.Anchor("site", "rover1/odom"))
	odom, err := s.Free("rover1/odom", "rover1/base")
	must(err)
	must(s.Fixed("rover1/base", "rover1/cam", pose.Translation(0.3, 0, 1), pose.ExactCov()))

	second := engram.Time(1e9)
	for i := range engram.Time(11) {
		must(odom.Set(i*second, pose.Translation(float64(i), 0, 0)))
	}
	start := s.Begin("operator")
	start.Key("site", "rover1/odom", 0, pose.Identity(), pose.Cov{})
	_, err = start.Commit()
	must(err)

	picture, err := s.Acquire("rover1/cam", 7_500_000_000)
	must(err)
	fmt.Println("camera in base:", picture.Pose.T)

	path, err := s.Path("site", "rover1/cam")
	must(err)
	before, info, fail := path.At(picture.Time)
	must(fail.Err())
	fmt.Println("camera in site:", before.T, info.Flags)

	// At 10 s the rover was really half a metre to the left, turned by 0.1 rad.
	slam := s.Begin("slam")
	slam.Localize("site", "rover1/base", 10*second,
		pose.Pose{T: pose.Vec3{X: 10, Y: 0.5}, R: pose.RPY(0, 0, 0.1)}, pose.DiagonalCov(0.05, 0.01))
	rev, err := slam.Commit()
	must(err)

	changes, err := s.Diff("site", "rover1/cam", rev-1, rev, pose.DefaultThreshold())
	must(err)
	fmt.Printf("largest move in revision %d: %.2f m at %v\n", rev, changes[0].Trans, changes[0].TransAt)

	_, _, fail = path.At(20 * second)
	fmt.Println(fail.Err())
	// Output:
	// camera in base: {0.3 0 1}
	// camera in site: {7.8 0 1} interpolated
	// largest move in revision 2: 0.53 m at 1970-01-01 00:00:10.000000
	// edge rover1/odom ← rover1/base: 1970-01-01 00:00:20.000000 is 10s after its last sample 1970-01-01 00:00:10.000000 (the first is 1970-01-01 00:00:00.000000)
}
