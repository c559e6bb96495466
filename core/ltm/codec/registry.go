package codec

import (
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// maker makes the two sides of one codec.
type maker struct {
	// encoder returns, beside the encoder, what is to stand in Config.Params for the
	// decoder; nil if the decoder needs nothing.
	encoder func(Config) (Encoder, []byte, error)
	decoder func(Config) (Decoder, error)
}

// codecs are the known ones by name.
var codecs = map[string]maker{
	Plain: {
		encoder: func(Config) (Encoder, []byte, error) { return &plainEncoder{}, nil, nil },
		decoder: func(Config) (Decoder, error) { return &plainDecoder{}, nil },
	},
}

// NewEncoder returns an encoder, and the configuration that its decoder needs: c
// with the codec's name and Params filled in. Invalid if there is no such codec.
func NewEncoder(c Config) (Encoder, Config, error) {
	m, err := c.maker()
	if err != nil {
		return nil, Config{}, err
	}
	e, params, err := m.encoder(c)
	if err != nil {
		return nil, Config{}, err
	}
	if c.Codec == "" {
		c.Codec = Plain
	}
	c.Params = params
	return e, c, nil
}

// NewDecoder returns a decoder for what an encoder with the same configuration
// wrote. Unsupported if there is no such codec: a newer version may have written it.
func NewDecoder(c Config) (Decoder, error) {
	m, err := c.maker()
	if err != nil {
		return nil, engram.Errorf(engram.Unsupported, c.Codec, "cannot be decoded: %w", err)
	}
	return m.decoder(c)
}

func (c *Config) maker() (maker, error) {
	name := c.Codec
	if name == "" {
		name = Plain
	}
	m, ok := codecs[name]
	if !ok {
		return maker{}, engram.Errorf(engram.Invalid, name, "is not a codec; there are %s", strings.Join(names.All(), ", "))
	}
	return m, nil
}
