package api

import (
	"encoding/json"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

func jointMessages(all []answer.Joint) *engramv1.WorldJoints {
	return &engramv1.WorldJoints{Joints: messages(all, func(j *answer.Joint) *engramv1.WorldJoint {
		return &engramv1.WorldJoint{
			Name: j.Name, Moved: j.Moved, Joint: itemJointMessage(&j.ItemJoint), Reference: j.Reference, Pose: poses.PoseMessage(j.Pose),
			Direction: vectorMessage(j.Direction), SaidBy: j.SaidBy, Notes: j.Notes,
		}
	})}
}

func jointOf(m *engramv1.WorldJoint) answer.Joint {
	j := answer.Joint{
		Name: m.GetName(), Moved: m.GetMoved(), Reference: m.GetReference(), Pose: poses.PoseFromMessage(m.GetPose()),
		Direction: vectorOf(m.GetDirection()), SaidBy: m.GetSaidBy(), Notes: m.GetNotes(),
	}
	if of := itemJointOf(m.GetJoint()); of != nil {
		j.ItemJoint = *of
	}
	return j
}

func mapMessages(all []answer.Map) *engramv1.WorldMaps {
	return &engramv1.WorldMaps{Maps: messages(all, func(o *answer.Map) *engramv1.WorldMap {
		return &engramv1.WorldMap{
			Name: o.Name, Serves: o.Serves, Why: o.Why, Kind: o.Kind, Describes: o.Describes, Frame: o.Frame, Resolution: o.Resolution,
			Format: o.Format, Url: o.URL, Link: o.Link, Sha256: o.SHA256, Sensors: o.Sensors, Algorithms: o.Algorithms, Author: o.Author,
			Created: int64(o.Created), Quality: o.Quality, SaidBy: o.SaidBy, Time: int64(o.Time), Properties: messages(o.Properties, propertyMessage),
		}
	})}
}

func mapOf(m *engramv1.WorldMap) answer.Map {
	return answer.Map{
		Name: m.GetName(), Serves: m.GetServes(), Why: m.GetWhy(), Kind: m.GetKind(), Describes: m.GetDescribes(), Frame: m.GetFrame(),
		Resolution: m.GetResolution(), Format: m.GetFormat(), URL: m.GetUrl(), Link: m.GetLink(), SHA256: m.GetSha256(), Sensors: m.GetSensors(),
		Algorithms: m.GetAlgorithms(), Author: m.GetAuthor(), Created: engram.Time(m.GetCreated()), Quality: m.GetQuality(), SaidBy: m.GetSaidBy(),
		Time: engram.Time(m.GetTime()), Properties: things(m.GetProperties(), propertyOf),
	}
}

func componentMessages(all []answer.Component) *engramv1.WorldComponents {
	return &engramv1.WorldComponents{Components: messages(all, componentMessage)}
}

func componentMessage(c *answer.Component) *engramv1.WorldComponent {
	return &engramv1.WorldComponent{
		Name: c.Name, Kind: c.Kind, Robot: c.Robot, Running: c.Running, Item: c.Item, Frame: c.Frame, Inputs: c.Inputs, Outputs: c.Outputs,
		StartedBy: c.StartedBy, SaidBy: c.SaidBy,
	}
}

func componentOf(m *engramv1.WorldComponent) answer.Component {
	return answer.Component{
		Name: m.GetName(), Kind: m.GetKind(), Robot: m.GetRobot(), Running: m.GetRunning(), Item: m.GetItem(), Frame: m.GetFrame(),
		Inputs: m.GetInputs(), Outputs: m.GetOutputs(), StartedBy: m.GetStartedBy(), SaidBy: m.GetSaidBy(),
	}
}

func pipeMessages(all []answer.Pipe) *engramv1.WorldComponents {
	return &engramv1.WorldComponents{Pipes: messages(all, func(p *answer.Pipe) *engramv1.WorldPipe {
		return &engramv1.WorldPipe{From: p.From, Through: p.Through, To: p.To}
	})}
}

func pipeOf(m *engramv1.WorldPipe) answer.Pipe {
	return answer.Pipe{From: m.GetFrom(), Through: m.GetThrough(), To: m.GetTo()}
}

func coverMessages(all []answer.Cover) *engramv1.WorldCovers {
	return &engramv1.WorldCovers{Covers: messages(all, func(c *answer.Cover) *engramv1.WorldCover {
		return &engramv1.WorldCover{Component: componentMessage(&c.Component), Distance: c.Distance, Share: c.Share, Unknown: c.Unknown}
	})}
}

func coverOf(m *engramv1.WorldCover) answer.Cover {
	return answer.Cover{Component: componentOf(m.GetComponent()), Distance: m.GetDistance(), Share: m.GetShare(), Unknown: m.GetUnknown()}
}

func differenceMessages(all []answer.Difference) *engramv1.WorldDifferences {
	return &engramv1.WorldDifferences{Differences: messages(all, func(d *answer.Difference) *engramv1.WorldDifference {
		m := &engramv1.WorldDifference{
			Name: d.Name, Came: d.Came, Went: d.Went, Reason: d.Reason, By: d.By, Parent: exchangeMessage(d.Parent), Label: exchangeMessage(d.Label),
			Kinds: exchangeMessage(d.Kinds), PoseKnown: d.PoseKnown, PoseUnknown: d.PoseUnknown, Described: d.Described,
			States: messages(d.States, changeMessage), Linked: d.Linked, Unlinked: d.Unlinked,
		}
		if d.Moved != nil {
			m.Moved = &engramv1.WorldMovement{Trans: d.Moved.Trans, Rot: d.Moved.Rot}
		}
		return m
	})}
}

func differenceOf(m *engramv1.WorldDifference) answer.Difference {
	d := answer.Difference{
		Name: m.GetName(), Came: m.GetCame(), Went: m.GetWent(), Reason: m.GetReason(), By: m.GetBy(), Parent: exchangeOf(m.GetParent()),
		Label: exchangeOf(m.GetLabel()), Kinds: exchangeOf(m.GetKinds()), PoseKnown: m.GetPoseKnown(), PoseUnknown: m.GetPoseUnknown(),
		Described: m.GetDescribed(), States: things(m.GetStates(), changeOf), Linked: m.GetLinked(), Unlinked: m.GetUnlinked(),
	}
	if moved := m.GetMoved(); moved != nil {
		d.Moved = &answer.Movement{Trans: moved.GetTrans(), Rot: moved.GetRot()}
	}
	return d
}

func exchangeMessage(x *answer.Exchange) *engramv1.WorldExchange {
	if x == nil {
		return nil
	}
	return &engramv1.WorldExchange{From: x.From, To: x.To}
}

func exchangeOf(m *engramv1.WorldExchange) *answer.Exchange {
	if m == nil {
		return nil
	}
	return &answer.Exchange{From: m.GetFrom(), To: m.GetTo()}
}

func changeMessage(c *answer.StateChange) *engramv1.WorldStateChange {
	return &engramv1.WorldStateChange{Name: c.Name, FromJson: textOrNil(c.From), ToJson: textOrNil(c.To)}
}

func changeOf(m *engramv1.WorldStateChange) answer.StateChange {
	return answer.StateChange{Name: m.GetName(), From: jsonOrNil(m.FromJson), To: jsonOrNil(m.ToJson)}
}

func textOrNil(j json.RawMessage) *string {
	if j == nil {
		return nil
	}
	return new(string(j))
}

func jsonOrNil(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}
