package spelling

import (
	"cmp"
	"regexp"
	"strings"
)

// topicText is an entity by the topic it was recorded from, as people type it, maybe behind its source.
var topicText = regexp.MustCompile(`^([^/\\:]*:)?(/.*)$`)

// IsTopic reports whether a text is SOURCE:/TOPIC or /TOPIC, or begins so.
func IsTopic(text string) bool { return topicText.MatchString(text) }

// TopicSource returns the source of SOURCE:/TOPIC with its colon; "" if it has none.
func TopicSource(text string) string {
	if m := topicText.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// Topic returns SOURCE:/TOPIC, or /TOPIC of any source, as the pattern of the entities that it names; a * in it stands for
// any text. Other texts stay as they are.
func Topic(text string) string {
	m := topicText.FindStringSubmatch(text)
	if m == nil || m[2] == "/" {
		return text
	}
	source, topic := cmp.Or(strings.TrimSuffix(m[1], ":"), "*"), m[2]
	if strings.Contains(topic, "*") {
		topic = "~" + strings.ReplaceAll(regexp.QuoteMeta(topic), `\*`, ".*")
	}
	return "*/*/" + source + "/" + strings.NewReplacer(`\`, `\\`, "/", `\/`).Replace(topic)
}
