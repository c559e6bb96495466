package access

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/seed-301d4374/engram"
)

// This file changes files of rules for 'engram auth' and keeps all else in them as it
// is, comments above all.

// AddRule returns the text of a file of rules with another rule at its end.
func AddRule(text []byte, r Rule) ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	lines := []string{r.Effect() + ": " + flow(strings.Split(r.Actions.String(), ", ")), "to: " + flow(r.To)}
	if on := r.Patterns(); len(on) > 0 {
		lines = append(lines, "on: "+flow(on))
	}
	return add(text, "rules", lines, func(p *Policy) { p.Rules = append(p.Rules, r) })
}

// AddRevocation returns the text of a file of rules with another revocation.
func AddRevocation(text []byte, r Revocation) ([]byte, error) {
	lines := []string{"identity: " + quoted(string(r.Identity))}
	if r.Serial != "" {
		lines = []string{"serial: " + quoted(r.Serial)}
	}
	if r.At != "" {
		lines = append(lines, "at: "+quoted(r.At))
	}
	if r.Why != "" {
		lines = append(lines, "why: "+quoted(r.Why))
	}
	return add(text, "revoked", lines, func(p *Policy) { p.Revoked = append(p.Revoked, r) })
}

// RemoveRule returns the text of a file of rules without the rule that begins at a
// line, or NotFound.
func RemoveRule(text []byte, line int) ([]byte, error) {
	before, err := Parse(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(before.Rules, func(r Rule) bool { return r.Line == line })
	if i < 0 {
		return nil, engram.Errorf(engram.NotFound, fmt.Sprintf("line %d", line), "no rule begins there")
	}
	s, lines, err := find(text, "rules")
	if err != nil {
		return nil, err
	}
	if s.flow {
		return nil, value{line: s.line}.errorf("the rules are in brackets; write them as lines that begin with \"- \", or remove the rule by hand")
	}
	first := line - 1
	for first > s.line && !strings.HasPrefix(strings.TrimSpace(lines[first]), "-") {
		first--
	}
	last := s.end
	if i+1 < len(s.items) {
		last = s.items[i+1] - 1
	}
	for last > first+1 && isFiller(lines[last-1]) {
		last--
	}
	lines = slices.Delete(lines, first, last)
	out := []byte(strings.Join(lines, "\n"))
	expected := before
	expected.Rules = slices.Delete(slices.Clone(before.Rules), i, i+1)
	return checked(out, expected)
}

// section is where a part of the file lies; lines are counted from 1.
type section struct {
	line  int   // of its key; 0 if there is none
	items []int // their first lines
	end   int   // its last line
	flow  bool  // in brackets, and not empty
}

func find(text []byte, key string) (section, []string, error) {
	lines := strings.Split(string(text), "\n")
	doc, err := parseYAML(text)
	if err != nil {
		return section{}, nil, err
	}
	entries, err := doc.mapping()
	if err != nil {
		return section{}, nil, err
	}
	var s section
	for i, e := range entries {
		if e.key != key {
			continue
		}
		s.line, s.end = e.line, len(lines)
		if i+1 < len(entries) {
			s.end = entries[i+1].line - 1
		}
		items, err := e.value.sequence()
		if err != nil {
			return section{}, nil, err
		}
		for _, item := range items {
			s.items = append(s.items, item.line)
		}
		if n, ok := e.value.node.(*ast.SequenceNode); ok {
			s.flow = n.IsFlowStyle && len(items) > 0
		}
	}
	for s.end > s.line && isFiller(lines[s.end-1]) {
		s.end--
	}
	return s, lines, nil
}

func isFiller(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// add puts an item at the end of a section.
func add(text []byte, key string, item []string, change func(*Policy)) ([]byte, error) {
	expected, err := Parse(text)
	if err != nil {
		return nil, err
	}
	change(&expected)
	s, lines, err := find(text, key)
	if err != nil {
		return nil, err
	}
	if s.flow {
		return nil, value{line: s.line}.errorf("%q is in brackets; write it as lines that begin with \"- \", or add to it by hand", key)
	}
	indent := "  "
	if len(s.items) > 0 {
		first := lines[s.items[0]-1]
		indent = first[:len(first)-len(strings.TrimLeft(first, " "))]
	}
	var added []string
	for i, l := range item {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		added = append(added, indent+lead+l)
	}
	switch {
	case s.line == 0:
		for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
			lines = lines[:len(lines)-1]
		}
		lines = append(append(append(lines, key+":"), added...), "")
	case len(s.items) == 0:
		lines[s.line-1] = key + ":"
		lines = slices.Insert(lines, s.line, added...)
	default:
		lines = slices.Insert(lines, s.end, added...)
	}
	out := strings.Join(lines, "\n")
	if !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return checked([]byte(out), expected)
}

// checked makes sure that an edited file says what is expected.
func checked(text []byte, expected Policy) ([]byte, error) {
	got, err := Parse(text)
	same := err == nil && slices.EqualFunc(got.Rules, expected.Rules, func(a, b Rule) bool { return a.String() == b.String() }) &&
		slices.EqualFunc(got.Revoked, expected.Revoked, func(a, b Revocation) bool {
			a.Line, b.Line = 0, 0
			return a == b
		})
	if !same {
		return nil, engram.Errorf(engram.Unsupported, "", "the file is written in a way that cannot be changed by a program; change it by hand")
	}
	return text, nil
}

// flow writes texts as a value, in brackets if there are several.
func flow(texts []string) string {
	if len(texts) == 1 {
		return quoted(texts[0])
	}
	var out []string
	for _, t := range texts {
		out = append(out, quoted(t))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// quoted writes a text as a YAML scalar: plain where nobody can misread it.
func quoted(text string) string {
	plain := text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/.") == "" &&
		strings.ContainsAny(text[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf":
		plain = false
	}
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// WriteFile puts a text in the place of a file in one step, for its owner only.
func WriteFile(file string, text []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return engram.Errorf(engram.Unavailable, file, "cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = engram.Errorf(engram.Unavailable, file, "cannot be written: %w", err)
		}
	}()
	if _, err = f.Write(text); err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), file) // os.CreateTemp makes files of mode 0600
	}
	return err
}

// ReadFile returns the text of a file of rules; that of one that is not there is empty
// if missing says so.
func ReadFile(file string, missing bool) ([]byte, error) {
	text, err := readFile(file)
	if missing && engram.CodeOf(err) == engram.NotFound {
		return bytes.Clone(emptyFile), nil
	}
	return text, err
}

var emptyFile = []byte("# Who may do what; docs/security.md explains it. Servers read changes at once.\n")
