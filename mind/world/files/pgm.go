package files

import (
	"bytes"
	"fmt"
	"strconv"
)

// decodePGM reads a PGM image, binary (P5) or as text (P2), of up to 16 bits a pixel. Of a
// file with several images the first counts.
func (g *Grid) decodePGM() error {
	p := &pgm{text: g.Data[2:]}
	width, height, most, err := p.header()
	if err != nil {
		return err
	}
	if err := g.size(width, height); err != nil {
		return err
	}
	if most <= 0 || most > 65535 {
		return fmt.Errorf("its greatest value is %d; it lies between 1 and 65535", most)
	}
	n := g.Width * g.Height
	shades := make([]uint16, 0, min(n, len(p.text)))
	g.most = most
	if g.Data[1] == '2' {
		for len(shades) < n {
			v, err := p.number()
			if err != nil {
				return fmt.Errorf("it is truncated: pixel %d of %d: %w", len(shades)+1, n, err)
			}
			if v > most {
				return fmt.Errorf("pixel %d is %d, above its greatest value %d", len(shades)+1, v, most)
			}
			shades = append(shades, uint16(v))
		}
	} else {
		width := 1
		if most > 255 {
			width = 2
		}
		if len(p.text) == 0 || !isBlank(p.text[0]) {
			return fmt.Errorf("its header does not end with a blank")
		}
		pixels := p.text[1:]
		if len(pixels) < n*width {
			return fmt.Errorf("it is truncated: %d x %d pixels take %d bytes, and there are %d", g.Width, g.Height, n*width, len(pixels))
		}
		for i := range n {
			v := int(pixels[i*width])
			if width == 2 {
				v = v<<8 | int(pixels[2*i+1])
			}
			if v > most {
				return fmt.Errorf("pixel %d is %d, above its greatest value %d", i+1, v, most)
			}
			shades = append(shades, uint16(v))
		}
	}
	g.shades = shades
	return nil
}

// pgm reads numbers between blanks and comments.
type pgm struct{ text []byte }

// header reads what stands before the pixels.
func (p *pgm) header() (width, height, most int, err error) {
	var header [3]int
	for i, what := range []string{"width", "height", "greatest value"} {
		if header[i], err = p.number(); err != nil {
			return 0, 0, 0, fmt.Errorf("its %s: %w", what, err)
		}
	}
	return header[0], header[1], header[2], nil
}

func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

func (p *pgm) number() (int, error) {
	for len(p.text) > 0 && (isBlank(p.text[0]) || p.text[0] == '#') {
		if p.text[0] == '#' {
			_, rest, _ := bytes.Cut(p.text, []byte("\n"))
			p.text = rest
			continue
		}
		p.text = p.text[1:]
	}
	end := 0
	for end < len(p.text) && '0' <= p.text[end] && p.text[end] <= '9' {
		end++
	}
	if end == 0 && len(p.text) == 0 {
		return 0, fmt.Errorf("the file ends before it")
	}
	v, err := strconv.Atoi(string(p.text[:end]))
	if err != nil || v > 1<<30 {
		return 0, fmt.Errorf("%q is no number", p.text[:min(max(end, 1), 20)])
	}
	p.text = p.text[end:]
	return v, nil
}
