package mission

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/mission/hallway"
)

// say prints what somebody says or does, with the simulated time.
func (b *member) say(format string, args ...any) {
	b.m.print(fmt.Sprintf("[%6.1f s] %-8s %s", b.m.Clock.Passed().Seconds(), b.name, fmt.Sprintf(format, args...)))
}

// tell prints what nobody says.
func (m *Mission) tell(format string, args ...any) {
	m.print(fmt.Sprintf("[%6.1f s] %-8s %s", m.Clock.Passed().Seconds(), "", fmt.Sprintf(format, args...)))
}

// print prints a line, or several.
func (m *Mission) print(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config.Out != nil && !m.ended {
		fmt.Fprintln(m.config.Out, text)
	}
}

// told says what did not work. A robot goes on: what is away comes back.
func (b *member) told(what string, err error) {
	if err != nil && b.ctx.Err() == nil && engram.CodeOf(err) != engram.Canceled {
		b.say("! %s: %v", what, err)
	}
}

// picture draws the world of a member with letters.
func (b *body) picture(ctx context.Context) string {
	const wide = 100
	f, err := b.world.View(ctx)
	if err != nil {
		return ""
	}
	g := b.grid
	cell := float64(g.Width) * g.Resolution / wide
	high := int(float64(g.Height) * g.Resolution / (2 * cell))
	rows := make([][]byte, high)
	for y := range rows {
		rows[y] = []byte(strings.Repeat(" ", wide))
		for x := range rows[y] {
			p := hallway.Point{X: g.Origin.X + (float64(x)+0.5)*cell, Y: g.Origin.Y + (float64(y)+0.5)*2*cell}
			if g.Clear(p) < cell*0.8 {
				rows[y][x] = '#'
			}
		}
	}
	for name, letter := range map[string]byte{Worker: 'W', Scout1: '1', Scout2: '2', hallway.Garbage: 'g', hallway.Bin: 'B'} {
		at, err := f.Pose(hallwayItem, name)
		if err != nil {
			continue
		}
		x, y := int((at.Pose.T.X-g.Origin.X)/cell), int((at.Pose.T.Y-g.Origin.Y)/(2*cell))
		if y >= 0 && y < high && x >= 0 && x < wide {
			rows[y][x] = letter
		}
	}
	var s strings.Builder
	for y := high - 1; y >= 0; y-- {
		fmt.Fprintf(&s, "            %s\n", rows[y])
	}
	s.WriteString("            W worker, 1 and 2 scouts, g garbage, B bin")
	return s.String()
}
