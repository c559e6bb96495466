package episode

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
)

// formatVersion is the version of the layout that is written.
const formatVersion = 2

// upgrades brings what an episode of an older version says of itself to the next
// one: upgrades[v] from v to v+1.
var upgrades = map[int]func(map[string]string) error{
	// Format 1 has the messages of a run without others between them, which format 2
	// reads as it is, and does not tell what of its span was recorded: the directory says
	// what can be known ([summary.guessRecorded]).
	1: func(m map[string]string) error {
		m["recorded_start"], m["recorded_end"] = "0", "0"
		return nil
	},
}

// Names in the file; docs/formats/episode.md explains them.
const (
	library              = "engram"
	envelopeTopic        = "engram/envelope"
	envelopeChannel      = 1
	metadataEpisode      = "engram.episode" // of a sealed episode
	metadataBegin        = "engram.open"    // of one that is being written; the last one counts
	metadataType         = "engram.type"    // how a type's definition was written
	metadataSealed1      = "engram"         // metadataEpisode in format 1
	attachmentIndex      = "engram.index"
	attachmentDictionary = "engram.dictionary."
	indexMediaType       = "application/vnd.engram.index"

	keyCRC     = "crc32c"   // of the other metadata
	keyIndexAt = "index_at" // where in the file the index's attachment stands
	keyTime    = "time"     // of a channel: its version's own time, which is not its log time
	keySegment = "segment"  // of a channel: [Channel.Segment]
)

// furtherInstance is set in the sequence of a message that is not the first one of
// its snapshot, so that snapshots are told apart even without their envelope.
const furtherInstance = 1 << 31

// metadataName returns a name for a metadata record that no other of this or any other
// file has: tools that merge files refuse those that are equal.
func (w *coder) metadataName(kind string) string {
	w.named++
	return kind + "." + w.id + "." + strconv.Itoa(w.named)
}

// metadataKind returns of which kind a metadata record of that name is; "" if it is not
// an episode's.
func metadataKind(name string) string {
	if name == metadataSealed1 {
		return metadataEpisode
	}
	for _, kind := range []string{metadataEpisode, metadataBegin, metadataType} {
		if name == kind || strings.HasPrefix(name, kind+".") {
			return kind
		}
	}
	return ""
}

// markJSON is a mark in an episode's metadata.
type markJSON struct {
	Time   engram.Time `json:"time"`
	Label  string      `json:"label"`
	Before string      `json:"before,omitempty"`
	After  string      `json:"after,omitempty"`
}

// infoMetadata is what an episode says of itself, as metadata.
func infoMetadata(i *Info) map[string]string {
	m := map[string]string{
		"format":    strconv.Itoa(formatVersion),
		"robot":     i.Robot,
		"epoch":     strconv.FormatUint(i.Epoch, 10),
		"snapshots": strconv.FormatUint(i.Snapshots, 10),
		"messages":  strconv.FormatUint(i.Messages, 10),
		"in_force":  strconv.FormatUint(i.InForce, 10),
		"recovered": strconv.FormatBool(i.Recovered),
	}
	for key, iv := range map[string]engram.Interval{"time": i.Span, "recorded": i.Recorded, "arrived": i.Arrived} {
		m[key+"_start"] = strconv.FormatInt(int64(iv.Start), 10)
		m[key+"_end"] = strconv.FormatInt(int64(iv.End), 10)
	}
	if i.Supersedes != "" {
		m["supersedes"] = i.Supersedes
	}
	if i.First != "" {
		m["first"] = i.First
	}
	marks := make([]markJSON, len(i.Marks))
	for k, mark := range i.Marks {
		marks[k] = markJSON{Time: mark.Time, Label: mark.Label}
		if mark.Before != 0 {
			marks[k].Before = mark.Before.String()
		}
		if mark.After != 0 {
			marks[k].After = mark.After.String()
		}
	}
	for key, v := range map[string]struct {
		n int
		v any
	}{"marks": {len(marks), marks}, "losses": {len(i.Losses), i.Losses}, "labels": {len(i.Labels), i.Labels}} {
		if v.n > 0 {
			b, err := json.Marshal(v.v)
			if err != nil {
				panic(err) // strings and times can be written
			}
			m[key] = string(b)
		}
	}
	m[keyCRC] = metadataCRC(m)
	return m
}

// metadataCRC is the CRC32C of all other metadata, each key and value followed by NUL.
func metadataCRC(m map[string]string) string {
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if k != keyCRC {
			b = append(append(append(append(b, k...), 0), m[k]...), 0)
		}
	}
	return fmt.Sprintf("%08x", crc32c(b))
}

// parseInfo reads what an episode says of itself.
func parseInfo(m map[string]string) (Info, error) {
	var i Info
	if m[keyCRC] != metadataCRC(m) {
		return i, engram.Errorf(engram.Corrupt, "", "the CRC of the episode's metadata does not fit them")
	}
	version, err := strconv.Atoi(m["format"])
	if err != nil || version < 1 {
		return i, engram.Errorf(engram.Corrupt, "", "the episode's format %q is no version", m["format"])
	}
	if version > formatVersion {
		return i, engram.Errorf(engram.Unsupported, "", "the episode has format %d; this program reads up to %d: use a newer one", version, formatVersion)
	}
	m = maps.Clone(m)
	for v := version; v < formatVersion; v++ {
		if err := upgrades[v](m); err != nil {
			return i, err
		}
	}
	i.Version, i.Robot, i.Supersedes, i.First = version, m["robot"], m["supersedes"], m["first"]
	i.Recovered = m["recovered"] == "true"
	for key, n := range map[string]*uint64{"epoch": &i.Epoch, "snapshots": &i.Snapshots, "messages": &i.Messages, "in_force": &i.InForce} {
		if *n, err = strconv.ParseUint(m[key], 10, 64); err != nil {
			return i, engram.Errorf(engram.Corrupt, "", "the episode's %s are %q, which is no number", key, m[key])
		}
	}
	for key, t := range map[string]*engram.Time{
		"time_start": &i.Span.Start, "time_end": &i.Span.End, "recorded_start": &i.Recorded.Start, "recorded_end": &i.Recorded.End, "arrived_start": &i.Arrived.Start, "arrived_end": &i.Arrived.End,
	} {
		n, err := strconv.ParseInt(m[key], 10, 64)
		if err != nil {
			return i, engram.Errorf(engram.Corrupt, "", "the episode's %s is %q, which is no time", key, m[key])
		}
		*t = engram.Time(n)
	}
	var marks []markJSON
	for key, v := range map[string]any{"marks": &marks, "losses": &i.Losses, "labels": &i.Labels} {
		if m[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(m[key]), v); err != nil {
			return i, engram.Errorf(engram.Corrupt, "", "the episode's %s cannot be read: %w", key, err)
		}
	}
	for _, j := range marks {
		mark := Mark{Time: j.Time, Label: j.Label}
		for d, text := range map[*time.Duration]string{&mark.Before: j.Before, &mark.After: j.After} {
			if text == "" {
				continue
			}
			if *d, err = time.ParseDuration(text); err != nil {
				return i, engram.Errorf(engram.Corrupt, "", "a mark of the episode has the duration %q", text)
			}
		}
		i.Marks = append(i.Marks, mark)
	}
	return i, nil
}

// newEncoder and newDecoder make codecs; tests add some of their own.
var (
	newEncoder = codec.NewEncoder
	newDecoder = codec.NewDecoder
)
