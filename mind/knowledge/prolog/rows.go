package prolog

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

func jsonText(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = ' ' <= s[i] && s[i] < 0x7f && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSuffix(b.String(), "\n")
}

// json writes a term: texts and IRIs as strings, numbers as numbers, lists as arrays,
// literals as objects, and other terms as {"functor": …, "args": […]}, lists with another end than [] or a variable among
// them.
func (h *heap) json(b *strings.Builder, t Term, depth int) error {
	if depth > 1000 {
		return errNesting
	}
	if err := h.charge(32); err != nil {
		return err
	}
	t = deref(t)
	size := 0
	switch t := t.(type) {
	case Atom:
		size = len(t)
	case String:
		size = len(t)
	case *big.Int:
		size = t.BitLen()
	}
	if size > 16 {
		if err := h.charge(2 * size); err != nil { // the text grows by more than it needs
			return err
		}
	}
	switch t := t.(type) {
	case *Var:
		b.WriteString("null")
	case Atom:
		if t == atomNil {
			b.WriteString("[]")
			return nil
		}
		b.WriteString(jsonText(string(t)))
	case String:
		b.WriteString(jsonText(string(t)))
	case Int:
		b.WriteString(formatInt(t))
	case *big.Int:
		b.WriteString(t.String())
	case Float:
		if math.IsInf(float64(t), 0) || math.IsNaN(float64(t)) {
			b.WriteString(jsonText(formatFloat(t)))
			return nil
		}
		s := strconv.FormatFloat(float64(t), 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		b.WriteString(s)
	case *Compound:
		return h.jsonCompound(b, t, depth)
	}
	return nil
}

// isArray reports whether a list ends with [] or a variable. Others, such as [1,2|3], are terms with the functor '[|]'.
func (h *heap) isArray(c *Compound) (bool, error) {
	for {
		if err := h.spend(1); err != nil {
			return false, err
		}
		switch rest := deref(c.args[1]).(type) {
		case *Var:
			return true, nil
		case *Compound:
			if rest.name != atomDot || len(rest.args) != 2 {
				return false, nil
			}
			c = rest
		default:
			return rest == Term(atomNil), nil
		}
	}
}

// jsonArray writes a list; a variable at its end is null.
func (h *heap) jsonArray(b *strings.Builder, c *Compound, depth int) error {
	b.WriteByte('[')
	for {
		if err := h.json(b, c.args[0], depth+1); err != nil {
			return err
		}
		rest := deref(c.args[1])
		if rest == Term(atomNil) {
			b.WriteByte(']')
			return nil
		}
		b.WriteByte(',')
		next, ok := rest.(*Compound)
		if !ok {
			err := h.json(b, rest, depth+1)
			b.WriteByte(']')
			return err
		}
		c = next
	}
}

func (h *heap) jsonCompound(b *strings.Builder, c *Compound, depth int) error {
	if c.name == atomDot && len(c.args) == 2 {
		array, err := h.isArray(c)
		if err != nil {
			return err
		}
		if array {
			return h.jsonArray(b, c, depth)
		}
	}
	key := "value"
	if c.name == "literal" && len(c.args) == 1 {
		key = "literal"
		if inner, ok := deref(c.args[0]).(*Compound); ok && len(inner.args) == 2 && (inner.name == "type" || inner.name == "lang") {
			c = inner
		} else {
			b.WriteString(`{"literal":`)
			err := h.json(b, c.args[0], depth+1)
			b.WriteByte('}')
			return err
		}
	}
	if (c.name == "type" || c.name == "lang") && len(c.args) == 2 {
		b.WriteString(`{"` + key + `":`)
		if err := h.json(b, c.args[1], depth+1); err != nil {
			return err
		}
		b.WriteString(`,"` + string(c.name) + `":`)
		err := h.json(b, c.args[0], depth+1)
		b.WriteByte('}')
		return err
	}
	b.WriteString(`{"functor":` + jsonText(string(c.name)) + `,"args":[`)
	for i, arg := range c.args {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := h.json(b, arg, depth+1); err != nil {
			return err
		}
	}
	b.WriteString("]}")
	return nil
}
