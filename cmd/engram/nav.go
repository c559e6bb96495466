package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/navigation/grid"
	"github.com/seed-301d4374/engram/mind/navigation/plan"
)

func newNav() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nav",
		Short: "Plan ways over maps",
	}
	cmd.AddCommand(newNavPlan())
	return cmd
}

// navDecay is how fast costs fall with the distance from obstacles, per metre, as nav2's own
// configuration has it.
const navDecay = 3

func newNavPlan() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan --map FILE --radius METRES --from X,Y --to X,Y",
		Short: "Plan a way over an occupancy grid, without a server",
		Long: `Plans the shortest way of a round robot between two positions in the frame of a map, which is a
YAML file of ROS's map_server with its image, and straightens it. The robot's centre stays at least
the radius away from the centres of all cells that are not free.

That there is no way is an answer, and the exit code 0. A start or a goal outside of the map, in a
wall or too near to one is an error.`,
		Example: `  engram nav plan --map depot.yaml --radius 0.25 --from 4.5,-0.6 --to -1.2,0 -o json
  engram nav plan --map depot.yaml --radius 0.25 --from 4.5,-0.6 --to -1.2,0 --weight 5`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.String("map", "", "the YAML file of the map")
	f.Float64("radius", 0, "of the robot, metres")
	f.String("from", "", "where it starts: X,Y in metres")
	f.String("to", "", "where it is to go: X,Y in metres")
	f.Bool("no-smoothing", false, "leave the path as it goes from cell to cell, to eight neighbours")
	f.Float64("weight", 0, "keep away from walls: a metre beside one counts as so many more (default: the shortest way)")
	f.Float64("inflation", 0.55, "with --weight: how far from walls that has an effect, metres")
	f.Float64("unknown", 0, "enter unknown space, where a metre counts as so many, 1 or more (default: it is not entered)")
	_ = cmd.MarkFlagFilename("map", "yaml", "yml")
	printing(cmd, planWay)
	return cmd
}

// navQuestion is what is to be planned.
type navQuestion struct {
	file     string
	from, to grid.Point
	config   grid.Config
	options  plan.Options
}

// readNavQuestion reads the flags.
func readNavQuestion(cmd *cobra.Command) (q navQuestion, err error) {
	f := cmd.Flags()
	for _, name := range []string{"map", "radius", "from", "to"} {
		if !f.Changed(name) {
			return q, usagef("--%s is missing: %s", name, cmd.UseLine())
		}
	}
	q.file, _ = f.GetString("map")
	if q.from, err = positionFlag(cmd, "from"); err != nil {
		return q, err
	}
	if q.to, err = positionFlag(cmd, "to"); err != nil {
		return q, err
	}
	q.config.Footprint.Radius, _ = f.GetFloat64("radius")
	q.config.Unknown, _ = f.GetFloat64("unknown")
	q.options.NoSmoothing, _ = f.GetBool("no-smoothing")
	if q.options.Weight, _ = f.GetFloat64("weight"); q.options.Weight != 0 {
		q.config.Inflation, _ = f.GetFloat64("inflation")
		q.config.Decay = navDecay
	} else if f.Changed("inflation") {
		return q, usagef("--inflation has no effect without --weight")
	}
	return q, nil
}

// positionFlag reads a flag that is a position on a map.
func positionFlag(cmd *cobra.Command, name string) (grid.Point, error) {
	text, _ := cmd.Flags().GetString(name)
	numbers, err := parseNumbers("--"+name, text, "X,Y in metres", 2)
	if err != nil {
		return grid.Point{}, err
	}
	return grid.Point{X: numbers[0], Y: numbers[1]}, nil
}

// navPlan is a plan as it is printed. Without a way it has no length and no points.
type navPlan struct {
	Reachable bool         `json:"reachable"`
	Length    *float64     `json:"length"`
	Points    [][2]float64 `json:"points"`
	Why       string       `json:"why,omitempty"`
	Seconds   float64      `json:"seconds"`
}

func planWay(cmd *cobra.Command, _ []string, format string) error {
	q, err := readNavQuestion(cmd)
	if err != nil {
		return err
	}
	file, err := readGridFile(q.file)
	if err != nil {
		return err
	}
	start := time.Now()
	m, err := grid.New(grid.FromFile(file), q.config)
	if err != nil {
		return err
	}
	path, err := plan.Find(cmd.Context(), m, q.from, q.to, q.options)
	took := time.Since(start)
	switch {
	case err != nil && !errors.Is(err, plan.ErrUnreachable):
		return err
	case !tabular(format):
		return printObject(cmd.OutOrStdout(), format, navObject(path, err, took))
	case err != nil:
		return printUnreachable(cmd, format, err)
	case format == "csv":
		return pathTable(path).writeCSV(cmd.OutOrStdout())
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s m, %s, planned in %s\n", formatRounded(path.Length, 3), countOf(uint64(len(path.Points)), "point"), shortDuration(took))
	return pathTable(path).write(cmd.OutOrStdout())
}

// printUnreachable says why there is no way.
func printUnreachable(cmd *cobra.Command, format string, why error) error {
	text := strings.TrimPrefix(visible(why.Error()), "path: ")
	if format == "csv" {
		cmd.PrintErrln("engram: " + text)
		return pathTable(&plan.Path{}).writeCSV(cmd.OutOrStdout())
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "unreachable: "+text)
	return err
}

// navObject returns a plan, or that there is none, as it is printed.
func navObject(path *plan.Path, unreachable error, took time.Duration) navPlan {
	o := navPlan{Points: [][2]float64{}, Seconds: took.Seconds()}
	if unreachable != nil {
		o.Why = unreachable.Error()
		return o
	}
	o.Reachable, o.Length = true, &path.Length
	for _, p := range path.Points {
		o.Points = append(o.Points, [2]float64{nano(p.X), nano(p.Y)})
	}
	return o
}

// nano rounds metres to nanometres, so that 5.95 is not printed as 5.950000000000001.
func nano(metres float64) float64 { return math.Round(metres*1e9)/1e9 + 0 }

// pathTable returns the points of a path, and how far along it each is.
func pathTable(path *plan.Path) *table {
	t := &table{header: []string{"POINT", "X", "Y", "ALONG"}, right: []bool{true, true, true, true}}
	along := 0.0
	for i, p := range path.Points {
		if i > 0 {
			along += p.Distance(path.Points[i-1])
		}
		t.add(i+1, metres(p.X), metres(p.Y), metres(along))
	}
	return t
}

// metres is the cell of a length or a coordinate.
func metres(v float64) cell {
	return cellOf(formatRounded(v, 3)+" m", strconv.FormatFloat(nano(v), 'g', -1, 64))
}
