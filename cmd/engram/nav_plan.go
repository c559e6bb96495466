package main

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill/navigation"
	"github.com/seed-301d4374/engram/world/files"
)

func newNavPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --map FILE.yaml --from X,Y --to X,Y",
		Short: "Plan a way on the file of a map; no server takes part",
		Long: `Plans the shortest way over the free cells of an occupancy grid as ROS's map_server has
it, from cell to cell or to a neighbour across a corner, if both cells beside it can be entered. A cell
can be entered if no centre of a cell that is not free lies nearer than the radius. A robot with a
--footprint may come nearer where that fits, as it drives and as it turns. Then the way is
made shorter by straight lines. Coordinates are metres in the frame of the map.

A goal to which nothing leads is an answer. A start or goal that lies in an obstacle, too near to one
or outside the map is an error.`,
		Example: `  engram nav plan --map depot.yaml --radius 0.25 --from 4.5,-0.6 --to -1.2,0
  engram nav plan --map depot.yaml --radius 0.25 --from 4.5,-0.6 --to -1.2,0 --no-smoothing -o json`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.String("map", "", "the YAML file of an occupancy grid")
	f.Float64("radius", 0.3, "how near the robot's centre may come to what is not free, metres")
	f.String("footprint", "", "the robot is a rectangle about its centre: LENGTH,WIDTH in metres; the radius is its outer circle's if none is given")
	f.String("from", "", "start: X,Y in metres")
	f.String("to", "", "goal: X,Y in metres")
	f.Float64("unknown-cost", 0, "what a metre through unknown space costs, 1 or more (default: it is not entered)")
	f.Bool("no-smoothing", false, "the way over the centres of cells as it was found")
	_ = cmd.MarkFlagFilename("map", "yaml", "yml")
	printing(cmd, planWay)
	return cmd
}

// planJSON is a way; without one, why there is none.
type planJSON struct {
	Reachable bool         `json:"reachable"`
	Length    *float64     `json:"length"` // metres
	Points    [][2]float64 `json:"points"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
}

func planWay(cmd *cobra.Command, _ []string, format string) error {
	f := cmd.Flags()
	file, _ := f.GetString("map")
	if file == "" {
		return usagef("--map is missing: the YAML file of an occupancy grid")
	}
	start, err := pointFlag(cmd, "from", "X,Y")
	if err != nil {
		return err
	}
	goal, err := pointFlag(cmd, "to", "X,Y")
	if err != nil {
		return err
	}
	var i navigation.Inflation
	i.Radius, _ = f.GetFloat64("radius")
	if f.Changed("footprint") {
		size, err := pointFlag(cmd, "footprint", "LENGTH,WIDTH")
		if err != nil {
			return err
		}
		if !(size.X > 0 && size.Y > 0) {
			return usagef("--footprint %g,%g: length and width are above 0", size.X, size.Y)
		}
		i.Footprint = navigation.Rectangle(size.X, size.Y)
		if !f.Changed("radius") {
			i.Radius = i.Footprint.Radius()
		}
	}
	i.UnknownCost, _ = f.GetFloat64("unknown-cost")
	if err := i.Check(); err != nil {
		return &usageError{err}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	g, err := files.ReadGrid(text, file, os.ReadFile)
	if err != nil {
		return err
	}
	c, err := navigation.NewCostmap(navigation.GridOf(g), i)
	if err != nil {
		return err
	}
	planner := &navigation.GridPlanner{}
	planner.NoSmoothing, _ = f.GetBool("no-smoothing")
	path, err := planner.Plan(cmd.Context(), c, start, goal)
	failure, none := errors.AsType[*navigation.Failure](err)
	if err != nil && !none {
		return err
	}
	o := planJSON{Reachable: !none, Points: [][2]float64{}}
	t := &table{header: []string{"X", "Y", "LENGTH"}, right: []bool{true, true, true}}
	if none {
		o.Reason, o.Message = string(failure.Reason), failure.Error()
	} else {
		o.Length = new(path.Length())
	}
	sum := 0.0
	for i, p := range path {
		if i > 0 {
			sum += path[i-1].Distance(p)
		}
		o.Points = append(o.Points, [2]float64{p.X, p.Y})
		t.add(formatMetres(p.X), formatMetres(p.Y), formatMetres(sum))
	}
	if !tabular(format) {
		if err := printObject(cmd.OutOrStdout(), format, o); err != nil {
			return err
		}
	}
	switch {
	case none && failure.Reason != navigation.Unreachable:
		return engram.Errorf(engram.CodeOf(err), file, "%w", err)
	case none && tabular(format):
		cmd.Printf("not reachable: %s\n", failure)
	case format == "table":
		cmd.Printf("%s m\n\n", formatMetres(sum))
		return t.write(cmd.OutOrStdout())
	case format == "csv":
		return t.writeCSV(cmd.OutOrStdout())
	}
	return nil
}

// pointFlag reads two numbers, metres; what says of them what they are.
func pointFlag(cmd *cobra.Command, name, what string) (p navigation.Point, err error) {
	text, _ := cmd.Flags().GetString(name)
	if text == "" {
		return p, usagef("--%s is missing: %s in metres", name, what)
	}
	x, y, ok := strings.Cut(text, ",")
	var wrong, wrong2 error
	p.X, wrong = strconv.ParseFloat(strings.TrimSpace(x), 64)
	p.Y, wrong2 = strconv.ParseFloat(strings.TrimSpace(y), 64)
	if !ok || wrong != nil || wrong2 != nil || math.IsNaN(p.X+p.Y) || math.IsInf(p.X, 0) || math.IsInf(p.Y, 0) {
		return p, usagef("--%s %q: say %s in metres, such as 1.5,0.2", name, text, what)
	}
	return p, nil
}
