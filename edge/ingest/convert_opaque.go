package ingest

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// opaqueConverter keeps messages that are not understood as a dict of what is
// known of them and their bytes. The first of a channel has the definition, too.
type opaqueConverter struct {
	channel *recording.Channel
	defined bool
	outputs [1]output
}

// maxSchema is the longest definition that is kept with a message, in bytes.
const maxSchema = 4 << 20

func (c *opaqueConverter) convert(data []byte) ([]output, error) {
	dict := map[string]any{
		"encoding": c.channel.Encoding,
		"type":     c.channel.Type,
		"data":     data,
	}
	if c.channel.SchemaEncoding != "" {
		dict["schema_encoding"] = c.channel.SchemaEncoding
	}
	if s := c.channel.Schema; !c.defined && len(s) > 0 && len(s) <= maxSchema {
		dict["schema"] = s
	}
	c.defined = true
	b, err := idf.EncodeValue(dict)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), "", "the message cannot be kept as bytes: %w", err)
	}
	c.outputs[0] = output{bytes: b, owned: true}
	return c.outputs[:], nil
}
