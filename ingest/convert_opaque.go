package ingest

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ingest/recording"
)

// opaqueConverter keeps messages that are not understood as a dict of what is
// known of them and their bytes.
type opaqueConverter struct {
	channel *recording.Channel
	outputs [1]output
}

func (c *opaqueConverter) convert(data []byte) ([]output, error) {
	dict := map[string]any{
		"encoding": c.channel.Encoding,
		"type":     c.channel.Type,
		"data":     data,
	}
	if c.channel.SchemaEncoding != "" {
		dict["schema_encoding"] = c.channel.SchemaEncoding
	}
	b, err := idf.EncodeValue(dict)
	if err != nil {
		return nil, engram.Errorf(engram.CodeOf(err), "", "the message cannot be kept as bytes: %w", err)
	}
	c.outputs[0] = output{bytes: b, owned: true}
	return c.outputs[:], nil
}

// opaqueData returns the bytes of a message that was kept so; nil of another payload.
func opaqueData(payload []byte) []byte {
	v, err := idf.DecodeValue(payload)
	if dict, ok := v.(map[string]any); ok && err == nil {
		data, _ := dict["data"].([]byte)
		return data
	}
	return nil
}
