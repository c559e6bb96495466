package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// Where a type may be several things, the topic's name tells which one; the report says so, and how it is otherwise.
func TestTopicsTell(t *testing.T) {
	const (
		kept     = "GeneralPurpose/{type}"
		joints   = "RobotState/Proprioception"
		place    = "RobotState/Localization"
		words    = "Speech/Text"
		told     = "commanded, planned or guessed by the topic's name, and not measured"
		said     = "words by the topic's name"
		notWords = "not words by the topic's name"
	)
	for _, tt := range []struct{ typ, topic, to, chosen, otherwise string }{
		{"sensor_msgs/msg/JointState", "/joint_states", joints, "", ""},
		{"sensor_msgs/JointState", "/arm/joint_states", joints, "", ""},
		{"sensor_msgs/JointState", "joint_states", joints, "", ""},
		{"sensor_msgs/msg/JointState", "/joint_commands", kept, told, joints},
		{"sensor_msgs/JointState", "/arm/joint_cmd", kept, told, joints},
		{"sensor_msgs/JointState", "/desired_joint_states", kept, told, joints},
		{"sensor_msgs/JointState", "/move_group/fake_controller_joint_states", kept, told, joints},
		{"sensor_msgs/JointState", "action", kept, told, joints},
		{"geometry_msgs/msg/PoseStamped", "/slam/pose", place, "", ""},
		{"geometry_msgs/PoseStamped", "/move_base_simple/goal", kept, told, place},
		{"geometry_msgs/msg/PoseStamped", "/goal_pose", kept, told, place},
		{"geometry_msgs/msg/PoseWithCovarianceStamped", "/amcl_pose", place, "", ""},
		{"geometry_msgs/msg/PoseWithCovarianceStamped", "/initialpose", kept, told, place},
		{"nav_msgs/msg/Odometry", "/odom", place, "", ""},
		{"nav_msgs/msg/Odometry", "/odom_desired", kept, told, place},
		{"tf2_msgs/msg/TFMessage", "/tf", place, "", ""},
		{"foxglove.PoseInFrame", "/target_pose", kept, told, place},
		{"std_msgs/msg/String", "/speech", words, said, kept},
		{"std_msgs/String", "/robot/say", words, said, kept},
		{"std_msgs/String", "talk", words, said, kept},
		{"std_msgs/msg/String", "/voice_command", words, said, kept},
		{"std_msgs/msg/String", "/robot_description", kept, notWords, words},
		{"std_msgs/msg/String", "/state_machine/status", kept, notWords, words},
		{"std_msgs/msg/String", "/user/sentence", words, said, kept},
		{"std_msgs/msg/String", "/gps/nmea_sentence", kept, notWords, words},
		{"std_msgs/msg/String", "/heartbeat", kept, notWords, words},
		{"std_msgs/msg/Int32", "/speech", kept, "", ""},
		{"sensor_msgs/msg/Image", "/target_camera/image", "Vision/ImageRGB", "", ""},
	} {
		m := DefaultMapping()
		for i := range m.Rules {
			r := &m.Rules[i]
			if !r.fits(tt.typ, tt.topic) || len(r.When) > 0 {
				continue
			}
			otherwise := ""
			if r.Note != "" {
				otherwise = m.otherwise(r, tt.typ)
			}
			if r.To != tt.to || r.Note != tt.chosen || otherwise != tt.otherwise {
				t.Errorf("%s of %s goes to %s (%q, else %q)", tt.topic, tt.typ, r.To, r.Note, otherwise)
			}
			break
		}
	}
}

// What is chosen can be had otherwise, topic by topic.
func TestTopicsSentElsewhere(t *testing.T) {
	r := newRecorder(t)
	state := func(topic string) {
		r.write(topic, "sensor_msgs/msg/JointState", "cdr", "ros2msg", []byte("string[] name\nfloat64[] position"), cdr(uint32(1), "a", uint32(0)))
	}
	text := func(topic, words string) {
		r.write(topic, "std_msgs/msg/String", "cdr", "ros2msg", []byte("string data"), cdr(words))
	}
	state("/joint_states")
	state("/joint_commands")
	text("/say", "hello")
	text("/status", "idle")
	text("/debug/a", "a")
	path := r.file()
	const kept = `GeneralPurpose/std_msgs\/msg\/String`
	where := func(m *Mapping) (places string, chosen string) {
		t.Helper()
		rep := mustImport(t, newServer(t), path, Options{Mapping: m})
		if rep.Lossy() {
			t.Errorf("%+v", rep)
		}
		var ids, why []string
		for _, tr := range rep.Topics {
			ids = append(ids, fmt.Sprint(tr.Topic, tr.Targets))
			if tr.Chosen != "" {
				why = append(why, tr.Topic)
			}
		}
		return strings.Join(ids, " "), strings.Join(why, " ")
	}
	places, chosen := where(nil)
	if want := "/debug/a[" + kept + `] /joint_commands[GeneralPurpose/sensor_msgs\/msg\/JointState] /joint_states[RobotState/Proprioception] /say[Speech/Text] /status[` + kept + "]"; places != want || chosen != "/debug/a /joint_commands /say /status" {
		t.Errorf("by default %s, chosen %s", places, chosen)
	}
	m := DefaultMapping()
	for _, send := range [][2]string{{"/say", "GeneralPurpose/{type}"}, {"/joint_*", "RobotState/Proprioception"}, {"/debug/*", "Speech/Text"}, {"/status", "Speech/Text"}} {
		var err error
		if m, err = m.Send(send[0], send[1]); err != nil {
			t.Fatal(err)
		}
	}
	places, chosen = where(m)
	if want := "/debug/a[Speech/Text] /joint_commands[RobotState/Proprioception] /joint_states[RobotState/Proprioception] /say[" + kept + "] /status[Speech/Text]"; places != want || chosen != "" {
		t.Errorf("sent elsewhere %s, chosen %s", places, chosen)
	}
	for _, to := range []string{"", "Speech", "Speech/", "Speech/Text/more", "{type}/x"} {
		if _, err := DefaultMapping().Send("/a", to); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("to %q: %v", to, err)
		}
	}
	if _, err := DefaultMapping().Send("", "Speech/Text"); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("no topic: %v", err)
	}
	// Static transforms stay static where all transforms are sent to where they go anyway.
	m, err := DefaultMapping().Send("*tf*", "RobotState/Localization")
	if err != nil {
		t.Fatal(err)
	}
	for topic, static := range map[string]bool{"/tf": false, "/tf_static": true} {
		for i := range m.Rules {
			if r := &m.Rules[i]; r.fits("tf2_msgs/msg/TFMessage", topic) {
				if (r.Set["is_static"] == true) != static || r.Split != "transforms" {
					t.Errorf("%s: %+v", topic, r)
				}
				break
			}
		}
	}
}

// A topic that is sent elsewhere leaves all others where they were, however many are sent.
func TestTopicsSentLeaveOthers(t *testing.T) {
	m, err := ParseMapping("m", []byte("default: true\nrules: [{topic: /tf_static, skip: true}]"))
	if err != nil {
		t.Fatal(err)
	}
	places := func(m *Mapping) (list []string) {
		for _, tt := range [][2]string{{"tf2_msgs/msg/TFMessage", "/tf_static"}, {"tf2_msgs/msg/TFMessage", "/tf"}, {"std_msgs/msg/String", "/status"}, {"sensor_msgs/msg/JointState", "/joint_commands"}} {
			for i := range m.Rules {
				if r := &m.Rules[i]; r.fits(tt[0], tt[1]) {
					list = append(list, fmt.Sprint(r.To, r.Skip, r.Note, m.otherwise(r, tt[0])))
					break
				}
			}
		}
		return list
	}
	want, rules := places(m), len(m.Rules)
	const topics = 50
	for i := range topics {
		for _, to := range []string{"RobotState/Localization", "Speech/Text", "GeneralPurpose/{type}"} {
			if m, err = m.Send(fmt.Sprintf("/other%d", i), to); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := places(m); !slices.Equal(got, want) {
		t.Errorf("%q, without the others %q", got, want)
	}
	if len(m.Rules) > rules*topics {
		t.Errorf("of %d rules became %d", rules, len(m.Rules))
	}
	// A rule for topics of any type is no hint for one.
	if m, err = ParseMapping("m", []byte("default: true\nrules: [{topic: /mic, to: Speech/Text}]")); err != nil {
		t.Fatal(err)
	}
	if got, want := places(m)[3], places(DefaultMapping())[3]; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
