package wire

import (
	"time"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// SegmentMessage returns the message of a core or provider segment.
func SegmentMessage(d engram.Description) *engramv1.Segment {
	return &engramv1.Segment{
		Id: d.ID.String(), Type: d.Type, Durability: engramv1.Durability(d.Durability), FixedProviders: d.FixedProviders,
		MaxAheadNanos: int64(d.MaxAhead),
		History:       BoundsMessage(d.History),
	}
}

// BoundsMessage returns the message of bounds.
func BoundsMessage(b engram.Bounds) *engramv1.Bounds {
	return &engramv1.Bounds{MaxCount: int64(b.MaxCount), MaxAgeNanos: int64(b.MaxAge), MaxBytes: b.MaxBytes}
}

// BoundsFromMessage is the inverse of BoundsMessage.
func BoundsFromMessage(m *engramv1.Bounds) engram.Bounds {
	return engram.Bounds{MaxCount: int(m.GetMaxCount()), MaxAge: time.Duration(m.GetMaxAgeNanos()), MaxBytes: m.GetMaxBytes()}
}

// SegmentFromMessage is the inverse of SegmentMessage. The error is Invalid.
func SegmentFromMessage(m *engramv1.Segment) (engram.Description, error) {
	id, err := engram.Parse(m.GetId())
	if err != nil {
		return engram.Description{}, err
	}
	if m.GetDurability() < 0 || m.GetDurability() > engramv1.Durability_DURABILITY_SYNCED {
		return engram.Description{}, engram.Errorf(engram.Invalid, id.String(), "unknown durability %d", m.GetDurability())
	}
	return engram.Description{
		ID: id, Type: m.GetType(), Durability: engram.Durability(m.GetDurability()), FixedProviders: m.GetFixedProviders(),
		MaxAhead: time.Duration(m.GetMaxAheadNanos()),
		History:  BoundsFromMessage(m.GetHistory()),
	}, nil
}

// TypeMessage returns the message of a type.
func TypeMessage(t engram.TypeDef) *engramv1.TypeDef {
	return &engramv1.TypeDef{Name: t.Name, Descriptors: t.Descriptors, Source: t.Source, Format: t.Format}
}

// TypeFromMessage is the inverse of TypeMessage.
func TypeFromMessage(m *engramv1.TypeDef) engram.TypeDef {
	return engram.TypeDef{Name: m.GetName(), Descriptors: m.GetDescriptors(), Source: m.GetSource(), Format: m.GetFormat()}
}
