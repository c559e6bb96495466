package ingest

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/recording"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// correspondence says as which message of ROS a payload goes, by the rule that makes such
// payloads of such messages.
type correspondence struct {
	message string
	ros1    string // where ROS 1 has another
	topic   string // of all such messages; "" if each entity has its own
	rule    Rule
}

func to(m map[string]string) map[string]Target {
	out := map[string]Target{}
	for from, to := range m {
		out[from] = Target{To: to}
	}
	return out
}

// What the types of the memories correspond to.
var (
	transformed = map[string]Target{
		"header.frame_id": {To: "parent_frame_id"}, "transform.translation": {To: "translation"}, "transform.rotation": {To: "rotation"},
	}
	asTransform = correspondence{message: "tf2_msgs/TFMessage", topic: "/tf", rule: Rule{Split: "transforms", Members: transformed}}
	asStatic    = correspondence{message: "tf2_msgs/TFMessage", topic: "/tf_static", rule: Rule{Split: "transforms", Members: transformed}}
	asOdometry  = correspondence{message: "nav_msgs/Odometry", rule: Rule{Members: to(map[string]string{
		"header.frame_id": "parent_frame_id", "pose.pose.position": "translation", "pose.pose.orientation": "rotation", "pose.covariance": "pose_covariance",
		"twist.twist.linear": "linear_velocity", "twist.twist.angular": "angular_velocity", "twist.covariance": "twist_covariance",
	})}}
	asPose = correspondence{message: "geometry_msgs/PoseStamped", rule: Rule{Members: to(map[string]string{
		"header.frame_id": "parent_frame_id", "pose.position": "translation", "pose.orientation": "rotation",
	})}}
	asText = correspondence{message: "std_msgs/String", rule: Rule{Members: to(map[string]string{"data": "text"})}}
	asScan = correspondence{message: "sensor_msgs/LaserScan", rule: Rule{Members: to(map[string]string{"angle_min": "start_angle", "angle_max": "end_angle"})}}
	asGrid = correspondence{message: "nav_msgs/OccupancyGrid"}

	correspondences = map[string]correspondence{
		"engram.robot_state.Proprioception": {message: "sensor_msgs/JointState"},
		"foxglove.FrameTransform":           asTransform,
		"foxglove.PoseInFrame": {message: "geometry_msgs/PoseStamped", rule: Rule{Members: to(map[string]string{
			"pose.position": "pose.position", "pose.orientation": "pose.orientation",
		})}},
		"foxglove.RawImage":        {message: "sensor_msgs/Image"},
		"foxglove.CompressedImage": {message: "sensor_msgs/CompressedImage"},
		"foxglove.CameraCalibration": {message: "sensor_msgs/CameraInfo", rule: Rule{Members: to(map[string]string{
			"d": "D", "k": "K", "r": "R", "p": "P", "D": "D", "K": "K", "R": "R", "P": "P",
		})}},
		"foxglove.PointCloud": {message: "sensor_msgs/PointCloud2", rule: Rule{Members: map[string]Target{
			"point_step": {To: "point_stride"}, "fields.datatype": {To: "fields.type", Values: []uint32{0, 2, 1, 4, 3, 6, 5, 7, 8}},
		}}},
		"foxglove.LaserScan":      asScan,
		"engram.vision.LaserScan": asScan,
		"engram.speech.Text":      asText,
		"engram.speech.Command":   asText,
		"engram.speech.Answer":    asText,
		"foxglove.Grid":           asGrid,
		"foxglove.Log": {message: "rcl_interfaces/Log", ros1: "rosgraph_msgs/Log", rule: Rule{Members: map[string]Target{
			"stamp": {To: "timestamp"}, "msg": {To: "message"}, "level": {To: "level", Values: logLevels},
		}}},
	}
)

// logLevels are Foxglove's levels by those of ROS 2 and, below 10 and at 16, of ROS 1.
var logLevels = func() []uint32 {
	v := make([]uint32, 51)
	for i, l := range []uint32{1, 2, 3, 4, 5} { // debug to fatal
		v[10*(i+1)] = l
	}
	return v
}()

// ownKey names a topic of an entity, or of several.
type ownKey struct {
	entity   engram.ID
	instance int
	typ      string
	as       string
}

// perInstance are the types of which each instance of a snapshot is another sensor's.
var perInstance = map[string]bool{"foxglove.RawImage": true, "foxglove.CompressedImage": true, "foxglove.CameraCalibration": true}

// ownTopic is how payloads of an entity that no recording tells of are written.
type ownTopic struct {
	channel  *recording.Channel // nil if they cannot be written
	wire     rosmsg.Wire
	plan     *rosmsg.Plan
	make     func(payload []byte) ([]byte, error) // in place of the plan
	convert  *rosmsg.Converter                    // nil: as they are
	topic    *ROSTopic
	sequence uint32
}

// corresponding returns as what a payload goes; an edge of the transform tree that tells how
// it moves goes as odometry, too. What corresponds to nothing has one without a message.
func corresponding(typ string, payload []byte) []correspondence {
	if typ != "engram.robot_state.Localization" {
		return []correspondence{correspondences[typ]}
	}
	child, moving, static := false, false, false
	_ = eachField(payload, func(num protowire.Number, _ protowire.Type, _, value []byte) error {
		child = child || num == 3 && len(value) > 0
		moving = moving || num == 7 || num == 8
		static = static || num == 10
		return nil
	})
	var as []correspondence
	switch {
	case child && static:
		as = append(as, asStatic)
	case child:
		as = append(as, asTransform)
	case !moving:
		as = append(as, asPose)
	}
	if moving {
		as = append(as, asOdometry)
	}
	return as
}

// item writes a snapshot by its type, instance by instance.
func (x *rosExporter) item(entity engram.ID, item engram.Item, log engram.Time) error {
	for i := range item.Instances {
		in := &item.Instances[i]
		if isAside(in.Payload.Type) {
			if err := x.asideOf(in.Payload); err != nil {
				return err
			}
			continue
		}
		for _, as := range corresponding(in.Payload.Type, in.Payload.Bytes) {
			o, err := x.ownTopic(entity, i, in.Payload.Type, as)
			if err == nil {
				err = x.message(o, item.Time, log, in.Payload.Bytes)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// message writes a payload.
func (x *rosExporter) message(o *ownTopic, at, log engram.Time, payload []byte) (err error) {
	if o.channel == nil {
		o.topic.LeftOut++
		return nil
	}
	var data []byte
	if o.make != nil {
		data, err = o.make(payload)
	} else {
		data, err = x.enc.Encode(o.plan, rosmsg.Form{Wire: o.wire}, max(at, 0), payload)
	}
	if err == nil && o.convert != nil {
		data, err = o.convert.Convert(data)
	}
	if err != nil {
		o.topic.LeftOut++
		o.topic.note(err.Error())
		return nil
	}
	m := recording.Message{Channel: o.channel, LogTime: max(log, 0), PublishTime: max(log, 0), Sequence: o.sequence, Data: data}
	o.sequence++
	return x.put(o.topic, &m)
}

// asideOf writes an attachment or a record of metadata, which bags have no place for.
func (x *rosExporter) asideOf(p engram.Payload) error {
	if _, err := x.typeOf(p.Type); err != nil {
		return err
	}
	t, _ := x.types.Get(p.Type)
	a, content, err := decodeAside(t, p.Bytes)
	if err != nil {
		return err
	}
	if x.mcap == nil {
		note := x.topic(a.Name, "")
		note.LeftOut++
		note.note("a bag has no attachments and metadata")
		return nil
	}
	return x.mcap.Aside(&a, content)
}

// ownTopic returns how an entity's payloads of a type are written as a message. Images of one
// snapshot, such as those of a stereo pair, have a topic each.
func (x *rosExporter) ownTopic(entity engram.ID, instance int, typ string, as correspondence) (*ownTopic, error) {
	if !perInstance[typ] {
		instance = 0
	}
	key := ownKey{entity, instance, typ, as.message + as.topic}
	if o := x.entity[key]; o != nil {
		return o, nil
	}
	if _, err := x.typeOf(typ); err != nil {
		return nil, err
	}
	t, _ := x.types.Get(typ)
	o := &ownTopic{}
	x.entity[key] = o
	topic := as.topic
	if topic == "" {
		if topic = topicName(entity.Entity()); topic == "" || x.isTaken(topic, entity) {
			topic = topicName("/" + strings.Join(entity.Names(), "/"))
		}
		if instance > 0 {
			topic += "/n" + strconv.Itoa(instance)
		}
	}
	var err error
	switch d, mirrored := mirrorOf(t); {
	case t.Name() == engram.ValueType:
		o.topic = x.topic(entity.String(), "")
		o.topic.note("values of any type correspond to no message")
		return o, nil
	case mirrored:
		err = o.as(d, t, &Rule{}, topic, x.version)
	case as.message != "":
		name := as.message
		if x.version == rosmsg.ROS1 && as.ros1 != "" {
			name = as.ros1
		}
		d, known := rosmsg.Common(x.version, name)
		if !known {
			return nil, engram.Errorf(engram.Internal, name, "the definition is not built in")
		}
		var from map[string]string
		if as.topic == asStatic.topic {
			from = map[string]string{"latching": "1"}
		}
		o.channel = channelOf(topic, d, from)
		o.wire = wireOf(x.version)
		if as.message == asGrid.message {
			o.make, err = gridMaker(d, o.wire)
		} else {
			o.plan, err = planOf(d, t, &as.rule)
		}
	default:
		err = o.generated(t, topic, x.version)
		if err == nil {
			o.topic = x.topic(topic, o.channel.Type)
			o.topic.note("has no message in ROS; its definition is made of " + t.Name())
		}
	}
	if err != nil {
		o.channel = nil
		o.topic = x.topic(entity.String(), "")
		o.topic.note(err.Error())
		return o, nil
	}
	o.topic = x.topic(topic, o.channel.Type)
	return o, nil
}

func wireOf(v rosmsg.Version) rosmsg.Wire {
	if v == rosmsg.ROS1 {
		return rosmsg.WireROS1
	}
	return rosmsg.WireCDR
}

// as has payloads written as messages of a definition, which may be of the other generation.
func (o *ownTopic) as(d *rosmsg.Definition, t *idf.Type, rule *Rule, topic string, v rosmsg.Version) error {
	var err error
	if o.plan, err = planOf(d, t, rule); err != nil {
		return err
	}
	o.wire = wireOf(d.Version)
	return o.in(d, topic, v)
}

// in has messages of a definition written in a generation.
func (o *ownTopic) in(d *rosmsg.Definition, topic string, v rosmsg.Version) error {
	out, err := d.In(v)
	if err != nil {
		return err
	}
	o.channel = channelOf(topic, out, nil)
	if out != d {
		o.convert, err = rosmsg.NewConverter(d, out)
	}
	return err
}

// generated has payloads written as a message that is made of their type.
func (o *ownTopic) generated(t *idf.Type, topic string, v rosmsg.Version) error {
	name, schema, make := foxglove.NewROS2(t.Descriptor())
	d, err := rosmsg.Parse(rosmsg.ROS2, name, schema)
	if err != nil {
		return err
	}
	o.make = make
	return o.in(d, topic, v)
}

var hashed = regexp.MustCompile(`_[0-9a-f]{8}$`)

// mirrorOf returns the definition of a message that was kept as its own type.
func mirrorOf(t *idf.Type) (*rosmsg.Definition, bool) {
	def := t.Def()
	v := rosmsg.ROS1
	name, ok := strings.CutPrefix(def.Name, "ros1.")
	if !ok {
		v = rosmsg.ROS2
		name, ok = strings.CutPrefix(def.Name, "ros2.")
	}
	if !ok || def.Format != v.Format() {
		return nil, false
	}
	d, err := rosmsg.Parse(v, strings.ReplaceAll(hashed.ReplaceAllString(name, ""), ".", "/"), def.Source)
	return d, err == nil
}

var notInTopics = regexp.MustCompile(`[^A-Za-z0-9_/]+`)

// topicName returns a topic of ROS that is named so, with other characters than names have in
// ROS left out; "" where the name is none of a topic.
func topicName(name string) string {
	if !strings.HasPrefix(name, "/") {
		return ""
	}
	var b strings.Builder
	for part := range strings.SplitSeq(notInTopics.ReplaceAllString(name, "_"), "/") {
		if part = strings.Trim(part, "_"); part == "" {
			continue
		}
		b.WriteByte('/')
		if part[0] >= '0' && part[0] <= '9' {
			b.WriteByte('n') // no part of a name begins with a digit
		}
		for strings.Contains(part, "__") {
			part = strings.ReplaceAll(part, "__", "_")
		}
		b.WriteString(part)
	}
	return b.String()
}

// isTaken reports whether a topic is that of another entity, and gives it to this one if not.
func (x *rosExporter) isTaken(topic string, entity engram.ID) bool {
	if have, ok := x.named[topic]; ok {
		return have != entity
	}
	x.named[topic] = entity
	return false
}
