package rosmsg

import "testing"

// The checksums that ROS 1's own tools have for its common messages.
func TestCommonMessagesHaveTheChecksumsOfROS1(t *testing.T) {
	for name, want := range map[string]string{
		"std_msgs/String":                         "992ce8a1687cec8c8bd883ec73ca41d1",
		"std_msgs/Header":                         "2176decaecbce78abc3b96ef049fabed",
		"geometry_msgs/PoseStamped":               "d3812c3cbc69362b77dc0b19b345f8f5",
		"geometry_msgs/PoseWithCovarianceStamped": "953b798c0f514ff060a53a3498ce6246",
		"geometry_msgs/TransformStamped":          "b5764a33bfeb3588febc2682852579b0",
		"tf2_msgs/TFMessage":                      "94810edda583a504dfda3829e70d7eec",
		"sensor_msgs/JointState":                  "3066dcd76a6cfaef579bd0f34173e9fd",
		"sensor_msgs/Imu":                         "6a62c6daae103f4ff57a132d6f95cec2",
		"sensor_msgs/Image":                       "060021388200f6f0f447d0fcd9c64743",
		"sensor_msgs/CompressedImage":             "8f7a12909da2c9d3332d540a0977563f",
		"sensor_msgs/CameraInfo":                  "c9a58c1b0b154e0e6da7578cb991d214",
		"sensor_msgs/LaserScan":                   "90c7ef2dc6895d81024acba2ac42f369",
		"sensor_msgs/PointCloud2":                 "1158d486dd51d683ce2f1be655c3c181",
		"nav_msgs/Odometry":                       "cd5e73d190d741a2f92e81eda573aca7",
		"nav_msgs/OccupancyGrid":                  "3381f2d731d4076ec5c71b0759edbe4e",
		"nav_msgs/Path":                           "6227e2b7e9cce15051f669a5e197bbf7",
		"diagnostic_msgs/DiagnosticArray":         "60810da900de1dd6ddd437c3503511da",
		"rosgraph_msgs/Log":                       "acffd30cd6b6de30f120938c17c593fb",
	} {
		d, ok := Common(ROS1, name)
		if !ok {
			t.Errorf("%s is not known", name)
		} else if got := MD5(d); got != want {
			t.Errorf("%s has the checksum %s, want %s; it is\n%s", name, got, want, d.Text)
		}
	}
}
