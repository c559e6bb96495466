package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/skill/navigation"
)

func newNavShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [MAP]",
		Short: "Draw the cost map of a map, with the last way that each robot planned on it",
		Long: `Draws where a robot can be: █ obstacles, ▒ nearer to one than the robot may come, ░ where it fits in some
directions only, · unknown; and the last plan of each navigator: S its start, * the way, G its goal. Without MAP it is
the only map that has a cost map.`,
		Example: "  engram nav show depot",
		Args:    positional(cobra.MaximumNArgs(1)),
	}
	cmd.Flags().String("memory", "Navigation", "where the cost maps are; robot1:Navigation is another robot's")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		return showNav(cmd, m, append(args, "*")[0], format)
	})
	return cmd
}

// planShown is a plan as it is printed.
type planShown struct {
	ID      engram.ID `json:"id"`
	Length  float64   `json:"length"` // metres
	Goal    string    `json:"goal,omitempty"`
	Costmap engram.ID `json:"costmap"` // the newest of the map
	path    navigation.Path
}

func showNav(cmd *cobra.Command, m *client.Client, name, format string) error {
	memory, _ := cmd.Flags().GetString("memory")
	maps, err := newest(cmd, m, memory+"/Costmap/*/"+name)
	if err != nil {
		return err
	}
	switch len(maps) {
	case 0:
		return engram.Errorf(engram.NotFound, strings.TrimPrefix(name, "*"), "there is no cost map; the world needs an occupancy grid ('engram world import --map FILE.yaml')")
	case 1:
	default:
		return usagef("there are several cost maps, such as %s and %s; name one", maps[0].ID.Entity(), maps[1].ID.Entity())
	}
	var grid foxglove.Grid
	if err := proto.Unmarshal(maps[0].Instances[0].Payload.Bytes, &grid); err != nil {
		return engram.Errorf(engram.Corrupt, maps[0].ID.String(), "%w", err)
	}
	plans, err := newest(cmd, m, memory+"/Plan")
	if err != nil {
		return err
	}
	typ, _ := memories.Type("engram.navigation.Plan")
	shown := []planShown{}
	t := &table{header: []string{"NAVIGATOR", "LENGTH", "GOAL", "PLANNED"}, right: []bool{false, true}}
	for _, p := range plans {
		decoded, err := typ.Decode(p.Instances[0].Payload.Bytes)
		v, _ := decoded.(map[string]any)
		if err != nil || v["frame_id"] != grid.FrameId {
			continue
		}
		s := planShown{ID: p.ID, Costmap: maps[0].ID}
		s.Length, _ = v["length"].(float64)
		if goal, ok := v["goal"].(engram.ID); ok {
			s.Goal = goal.String()
		}
		way, _ := v["path"].([]any)
		for _, at := range way {
			if p, ok := posevalue.Of(at); ok {
				s.path = append(s.path, navigation.Point{X: p.T.X, Y: p.T.Y})
			}
		}
		shown = append(shown, s)
		at, _ := p.ID.Time()
		t.add(p.ID.Entity(), formatMetres(s.Length), s.Goal, at.String())
	}
	if format == "table" {
		if err := drawCosts(cmd.OutOrStdout(), &grid, shown, terminalWidth(cmd.OutOrStdout())); err != nil || len(shown) == 0 {
			return err
		}
	}
	return print(cmd.OutOrStdout(), format, t, shown)
}

// newest returns the newest snapshot of each entity that matches.
func newest(cmd *cobra.Command, m *client.Client, pattern string) ([]engram.Item, error) {
	p, err := engram.ParsePattern(pattern)
	if err != nil {
		return nil, &usageError{err}
	}
	r, err := m.Query(cmd.Context(), p.Select(engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	return r.Items(), nil
}

// drawCosts draws what is known of a cost map, with ways on it, in so many columns; 0 is 80.
func drawCosts(w io.Writer, g *foxglove.Grid, plans []planShown, columns int) error {
	if columns <= 0 {
		columns = 80
	}
	o := navigation.Grid{Width: int(g.ColumnCount), Resolution: g.CellSize.GetX()}
	if o.Width == 0 || len(g.Data)%o.Width != 0 || int(g.RowStride) != o.Width || !(o.Resolution > 0) {
		return engram.Errorf(engram.Corrupt, "", "a cost map of %d cells in rows of %d, of %g m", len(g.Data), o.Width, o.Resolution)
	}
	o.Height = len(g.Data) / o.Width
	q := g.Pose.GetOrientation()
	_, _, o.Origin.Yaw = pose.Quat{W: q.GetW(), X: q.GetX(), Y: q.GetY(), Z: q.GetZ()}.EulerZYX()
	o.Origin.Point = navigation.Point{X: g.Pose.GetPosition().GetX(), Y: g.Pose.GetPosition().GetY()}
	low, high := [2]int{o.Width, o.Height}, [2]int{}
	for i, c := range g.Data {
		if x, y := i%o.Width, i/o.Width; c != 255 {
			low, high = [2]int{min(low[0], x), min(low[1], y)}, [2]int{max(high[0], x), max(high[1], y)}
		}
	}
	if low[0] > high[0] {
		_, err := io.WriteString(w, "all of it is unknown\n")
		return err
	}
	wide := (high[0]-low[0])/columns + 1 // cells per character; twice as many in height
	across, down := (high[0]-low[0])/wide+1, (high[1]-low[1])/(2*wide)+1
	// A character shows the last of these that is true of one of its cells.
	const looks = "· ░▒█*SG"
	drawn := make([]int, across*down)
	mark := func(x, y, look int) {
		if x >= low[0] && y >= low[1] && x <= high[0] && y <= high[1] {
			at := (down-1-(y-low[1])/(2*wide))*across + (x-low[0])/wide
			drawn[at] = max(drawn[at], look)
		}
	}
	for i, c := range g.Data {
		look := 0
		switch {
		case c == 0:
			look = 1
		case c < 253:
			look = 2
		case c < 255:
			look = int(c) - 250
		}
		mark(i%o.Width, i/o.Width, look)
	}
	for _, p := range plans {
		for i, to := range p.path {
			from := p.path[max(i-1, 0)]
			n := int(from.Distance(to)/o.Resolution) + 1
			for k := range n + 1 {
				t := float64(k) / float64(n)
				if x, y, ok := o.Cell(navigation.Point{X: from.X + t*(to.X-from.X), Y: from.Y + t*(to.Y-from.Y)}); ok {
					mark(x, y, 5)
				}
			}
			if x, y, ok := o.Cell(to); ok && (i == 0 || i == len(p.path)-1) {
				mark(x, y, 6+min(i, 1))
			}
		}
	}
	var text strings.Builder
	for y := range down {
		row := make([]rune, across)
		for x := range row {
			row[x] = []rune(looks)[drawn[y*across+x]]
		}
		text.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}
