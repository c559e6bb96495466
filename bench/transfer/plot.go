package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// figure is a row of panels with logarithmic axes, one for each kind of object:
// microseconds over the size of the batch.
type figure struct {
	name, title string
	panels      []panel
	styles      map[string]style // by the name of a series
	legend      []string         // names of series, in order
}

type panel struct {
	title  string
	series []series
}

type series struct {
	name   string
	points []point
}

type point struct {
	batch int
	us    spread
}

type style struct {
	colour string
	dashed bool
	bold   bool
}

const (
	panelWidth, panelHeight = 300.0, 270.0
	leftMargin, topMargin   = 92.0, 62.0
	panelGap                = 24.0
	legendRow               = 20.0
	legendColumns           = 3
)

// write writes the figure as SVG.
func (f figure) write(w io.Writer) error {
	lowest, highest := math.Inf(1), math.Inf(-1)
	batches := map[int]bool{}
	for _, p := range f.panels {
		for _, s := range p.series {
			for _, pt := range s.points {
				lowest, highest = min(lowest, pt.us.min), max(highest, pt.us.max)
				batches[pt.batch] = true
			}
		}
	}
	if len(batches) == 0 {
		return fmt.Errorf("the figure %s has no points", f.name)
	}
	lowest = max(lowest, 1e-3) // a clock may not tick within a sample
	// Whole decades.
	low, high := math.Floor(math.Log10(lowest)), math.Ceil(math.Log10(max(highest, lowest)))
	high = max(high, low+1)
	ticks := sorted(batches)
	spanX := max(math.Log10(float64(ticks[len(ticks)-1]))-math.Log10(float64(ticks[0])), 1e-9)
	const pad = 14 // so that markers do not stand on the frame
	x := func(batch int) float64 {
		return pad + (panelWidth-2*pad)*(math.Log10(float64(batch))-math.Log10(float64(ticks[0])))/spanX
	}
	y := func(us float64) float64 {
		return panelHeight * (high - max(math.Log10(us), low)) / (high - low)
	}
	width := leftMargin + float64(len(f.panels))*(panelWidth+panelGap)
	rows := (len(f.legend) + legendColumns - 1) / legendColumns
	height := topMargin + panelHeight + 52 + float64(rows)*legendRow + 8

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	fmt.Fprintf(&b, `<text x="%.0f" y="24" font-size="15" font-weight="bold">%s</text>`+"\n", leftMargin, html.EscapeString(f.title))
	fmt.Fprintf(&b, `<text transform="translate(16 %.0f) rotate(-90)" text-anchor="middle">µs (median)</text>`+"\n", topMargin+panelHeight/2)
	for i, p := range f.panels {
		fmt.Fprintf(&b, `<g transform="translate(%.1f %.1f)">`+"\n", leftMargin+float64(i)*(panelWidth+panelGap), topMargin)
		fmt.Fprintf(&b, `<text x="%.1f" y="-10" text-anchor="middle" font-weight="bold">%s</text>`+"\n", panelWidth/2, html.EscapeString(p.title))
		for d := low; d <= high; d++ {
			at := y(math.Pow(10, d))
			fmt.Fprintf(&b, `<path d="M0 %.1fH%.1f" stroke="#ccc"/>`+"\n", at, panelWidth)
			if i == 0 {
				fmt.Fprintf(&b, `<text x="-8" y="%.1f" text-anchor="end">%s</text>`+"\n", at+4, decade(d))
			}
			for m := 2.0; m < 10 && d < high; m++ {
				fmt.Fprintf(&b, `<path d="M0 %.1fH%.1f" stroke="#eee"/>`+"\n", y(m*math.Pow(10, d)), panelWidth)
			}
		}
		for _, t := range ticks {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fv5" stroke="#222"/><text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x(t), panelHeight, x(t), panelHeight+18, t)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">objects in a batch</text>`+"\n", panelWidth/2, panelHeight+36)
		for _, s := range p.series {
			f.styles[s.name].line(&b, s.points, x, y)
		}
		fmt.Fprintf(&b, `<rect width="%.1f" height="%.1f" fill="none" stroke="#222"/></g>`+"\n", panelWidth, panelHeight)
	}
	for i, name := range f.legend {
		column := (width - leftMargin) / legendColumns
		lx := leftMargin + column*float64(i%legendColumns)
		ly := topMargin + panelHeight + 62 + legendRow*float64(i/legendColumns)
		s := f.styles[name]
		fmt.Fprintf(&b, `<path d="M%.1f %.1fh30" %s/><circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>`, lx, ly-4, s.stroke(), lx+15, ly-4, s.colour)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f">%s</text>`+"\n", lx+38, ly, html.EscapeString(name))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// line draws a series: medians joined by a line, with the range over the rounds.
func (s style) line(b *strings.Builder, points []point, x func(int) float64, y func(float64) float64) {
	b.WriteString(`<polyline points="`)
	for _, pt := range points {
		fmt.Fprintf(b, "%.1f,%.1f ", x(pt.batch), y(pt.us.median))
	}
	fmt.Fprintf(b, `" fill="none" stroke-linejoin="round" %s/>`+"\n", s.stroke())
	for _, pt := range points {
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x(pt.batch), y(pt.us.min), y(pt.us.max), s.colour)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>`+"\n", x(pt.batch), y(pt.us.median), s.colour)
	}
}

func (s style) stroke() string {
	width, dash := 1.6, ""
	if s.bold {
		width = 3
	}
	if s.dashed {
		dash = ` stroke-dasharray="5 4"`
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="%.1f"%s`, s.colour, width, dash)
}

// decade returns a power of ten as a number of microseconds is written.
func decade(exponent float64) string {
	if exponent < 0 {
		return fmt.Sprintf("%.*f", int(-exponent), math.Pow(10, exponent))
	}
	return thousands(int(math.Pow(10, exponent)))
}

// thousands returns n with its digits in groups of three.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
