package episode

import (
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// Other programs sort, compress, filter and merge MCAP files. Of an episode they keep
// channels with their metadata and messages as they are; places in the file, and often
// metadata records and attachments, are lost. What follows is for reading what is left.

// Identity is what a channel of an episode says of itself, in whatever file it stands.
type Identity struct {
	Entity  engram.ID
	Type    string // of the provider segment's payloads
	Plain   bool   // its messages are payloads; others cannot be read without the episode
	Segment string // [Channel.Segment]

	at string
}

// IdentityOf reads a channel's identity; ok is false if it is not of an episode.
func IdentityOf(topic string, metadata map[string]string) (id Identity, ok bool) {
	if metadata["id"] != topic || metadata["type"] == "" || metadata["codec"] == "" {
		return id, false
	}
	entity, err := engram.Parse(topic)
	if err != nil || entity.Level() != engram.LevelEntity {
		return id, false
	}
	return Identity{
		Entity: entity, Type: metadata["type"], Plain: metadata["codec"] == codec.Plain, Segment: metadata[keySegment], at: metadata[keyTime],
	}, true
}

// Time returns the time of a version, given the log time of its message.
func (i *Identity) Time(log engram.Time) engram.Time { return ownTime(i.at, uint64(log)) }

// IsFurtherInstance reports, given a message's sequence, whether it is of the same
// snapshot as the one before it in its channel.
func IsFurtherInstance(sequence uint32) bool { return sequence&furtherInstance != 0 }

// IsEnvelopes reports whether a channel is that of an episode's envelopes.
func IsEnvelopes(topic, typ string) bool {
	return topic == envelopeTopic && typ == "engram.ltm.v1.Envelope"
}

// ReadEnvelope returns the entity and the versions, without payloads, that an envelope
// tells of. The error is Corrupt.
func ReadEnvelope(b []byte) (entity engram.ID, versions []*engram.Snapshot, err error) {
	r, err := parseRun(b)
	if err != nil {
		return entity, nil, err
	}
	if entity, err = engram.Parse(r.entity); err != nil {
		return entity, nil, engram.Errorf(engram.Corrupt, r.entity, "an envelope is of no entity: %w", err)
	}
	return entity, r.versions, nil
}

// SourceOf returns how a type's definition was written, of a metadata record that tells
// it; ok is false if this one does not.
func SourceOf(name string, metadata map[string]string) (typ, source, format string, ok bool) {
	return metadata["name"], metadata["source"], metadata["format"], metadataKind(name) == metadataType
}

// IsOwn reports whether a metadata record or an attachment of that name is an episode's
// own, and not something that was recorded.
func IsOwn(name string) bool {
	return metadataKind(name) != "" || name == attachmentIndex || strings.HasPrefix(name, attachmentDictionary)
}

// ownTime returns the time of a version, given what its channel says of it and its log
// time.
func ownTime(told string, log uint64) engram.Time {
	if t, err := strconv.ParseInt(told, 10, 64); err == nil {
		return engram.Time(t)
	}
	return engram.Time(log)
}
