package ltm

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// A dictionary for a type is made of so many payloads, or of so many bytes of them.
const (
	dictionarySamples = 256
	dictionaryBytes   = 512 << 10
)

// dictionaries are those of the open episode, by the type of payloads. Each is made of
// what this episode holds, so that what is forgotten is in no dictionary of another.
type dictionaries map[string]*dictionary

type dictionary struct {
	samples  [][]byte // nil once they were enough
	bytes    int
	made     []byte // nil if it is not made yet, or they are such that none can be
	channels map[*episode.Channel]*episode.Channel
}

// channel returns how a version is to be stored: with a dictionary, if there is one for
// its type by now.
func (d dictionaries) channel(ch *episode.Channel, s *engram.Snapshot) *episode.Channel {
	if ch.Codec.Codec != codec.Zstd {
		return ch
	}
	of := d[ch.Type.Name]
	if of == nil {
		of = &dictionary{samples: [][]byte{}, channels: map[*episode.Channel]*episode.Channel{}}
		d[ch.Type.Name] = of
	}
	of.learn(s)
	if of.made == nil {
		return ch
	}
	with := of.channels[ch]
	if with == nil {
		own := *ch
		own.Codec.Dictionary = of.made
		with = &own
		of.channels[ch] = with
	}
	return with
}

// learn takes samples of a version, as long as there are not enough, and then makes the
// dictionary.
func (d *dictionary) learn(s *engram.Snapshot) {
	if d.samples == nil {
		return
	}
	for i := range s.Instances {
		b := s.Instances[i].Payload.Bytes
		d.samples, d.bytes = append(d.samples, b), d.bytes+len(b)
	}
	if len(d.samples) < dictionarySamples && d.bytes < dictionaryBytes {
		return
	}
	if made, err := codec.TrainDictionary(d.samples); err == nil { // else there is nothing to learn
		d.made = made
	}
	d.samples = nil
}
