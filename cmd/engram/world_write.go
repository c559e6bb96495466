package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// worldWriter states something in the world for a command.
type worldWriter struct {
	answer.Service
	cmd    *cobra.Command
	client *client.Client
	by     answer.Provider
}

// writeWorld calls f with who states something in the world, as the command's flags say, from a source.
func writeWorld(cmd *cobra.Command, source world.Source, f func(*worldWriter) error) error {
	robots, _ := cmd.Flags().GetStringArray("robots")
	return answering(cmd, robots, func(m *client.Client, s answer.Service) error {
		opening := &openingBar{cmd: cmd}
		defer opening.end()
		by := answer.Provider{Name: worldProvider(cmd), Source: answer.Source(source), Robots: robots, Now: new(engram.Now()), Opening: opening.set}
		return f(&worldWriter{s, cmd, m, by})
	})
}

// codec returns how things are written for the world.
func (w *worldWriter) codec() (*world.Codec, error) { return world.NewCodec(w.cmd.Context(), w.client) }

// known is what there is under a name.
type known struct {
	item    *world.Item // nil if there is none
	own     world.Item
	joint   *world.Articulation // nil if there is none
	missing string              // why there is no such item
	robot   bool                // somebody says that it is one
}

// known returns what there is under names already.
func (w *worldWriter) known(c *world.Codec, names ...string) ([]known, error) {
	found, err := w.Known(w.cmd.Context(), w.by, names)
	if err != nil {
		return nil, err
	}
	all := make([]known, len(found))
	for i, k := range found {
		own, err := decoded[world.Item](c, k.Own)
		if err != nil {
			return nil, err
		}
		if own != nil {
			all[i].own = *own
		}
		if all[i].item, err = decoded[world.Item](c, k.Item); err != nil {
			return nil, err
		}
		if all[i].joint, err = decoded[world.Articulation](c, k.Joint); err != nil {
			return nil, err
		}
		all[i].missing, all[i].robot = k.Missing, k.Robot
	}
	return all, nil
}

// decoded reads a payload; nil if it is none.
func decoded[T any](c *world.Codec, p engram.Payload) (*T, error) {
	if p.Type == "" {
		return nil, nil
	}
	v, err := c.Decode(p)
	if err != nil {
		return nil, err
	}
	t, is := v.(T)
	if !is {
		return nil, engram.Errorf(engram.Corrupt, p.Type, "the server's answer cannot be understood: it is no %T", t)
	}
	return &t, nil
}

// state states things as a whole, and returns the errors of each, if there are any.
func (w *worldWriter) state(c *world.Codec, all ...world.Stated) ([]error, world.Mark, error) {
	things := make([]answer.Thing, len(all))
	for i := range all {
		var err error
		if things[i], err = view.Thing(c, all[i]); err != nil {
			return nil, world.Mark{}, err
		}
	}
	o, err := w.State(w.cmd.Context(), w.by, answer.Stating{Things: things})
	return o.Failed, world.Mark(o.Mark), err
}

// writeMark writes as an operator with write, and prints the mark.
func writeMark(cmd *cobra.Command, name string, write func(*worldWriter) (answer.Mark, error)) error {
	format, err := outputFormat(cmd)
	if err != nil {
		return err
	}
	return writeWorld(cmd, world.Operator, func(w *worldWriter) error {
		mark, err := write(w)
		if err != nil {
			return err
		}
		return printMark(cmd, format, name, world.Mark(mark))
	})
}
