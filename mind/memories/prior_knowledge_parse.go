package memories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/seed-301d4374/engram/mind/internal/yamldoc"
)

const (
	// maxKnowledgeNodes bounds what a file grows to when its aliases are followed.
	maxKnowledgeNodes = 4_000_000
	// maxYAML bounds a YAML file, in bytes; large content is referred to.
	maxYAML = 4 * mib
)

// parseKnowledge returns a file's content as nil, bool, json.Number, string, []any
// and map[string]any. The format is told by the file's ending.
func parseKnowledge(file string, b []byte) (any, error) {
	if path.Ext(file) == ".json" {
		return parseJSON(b)
	}
	return parseYAML(b)
}

func parseJSON(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("something follows the JSON value")
		} else if errors.Is(err, io.EOF) {
			return v, nil
		}
	}
	offset := d.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	line := 1 + bytes.Count(b[:min(int(offset), len(b))], []byte("\n"))
	return nil, fmt.Errorf("line %d: %w", line, err)
}

func parseYAML(b []byte) (any, error) {
	if len(b) > maxYAML {
		return nil, fmt.Errorf("a YAML file may have %d bytes; write JSON, or refer to files with $text and $bytes", maxYAML)
	}
	body, err := yamldoc.Parse(b)
	if err != nil {
		return nil, err
	}
	return yamldoc.NewValues(maxKnowledgeNodes).Of(body)
}
