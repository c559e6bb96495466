// Package parquetfile writes tables as Parquet files: columns of one kind each, in the order in which
// they are declared, row by row and in a bounded amount of memory. It knows nothing of what the
// columns mean, and reads nothing.
package parquetfile

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/seed-301d4374/engram"
)

// Kind is what the values of a column are.
type Kind uint8

// The kinds, with the Go types of their values.
const (
	String  Kind = iota // string
	Bool                // bool
	Int64               // int64
	Float32             // float32
	Float64             // float64
	Time                // engram.Time; timestamp[ns, UTC] in the file
)

// Column declares a column.
type Column struct {
	Name  string
	Kind  Kind
	Lists int // how many lists deep the values stand: 0 for plain values, 1 for []float32, []float64 or []string, more for []any of these
}

// rowsPerGroup bounds what a writer holds of the file in memory.
const rowsPerGroup = 1 << 16

// Writer writes a file. It is used by one goroutine.
type Writer struct {
	columns []Column
	w       *parquet.GenericWriter[any]
	row     parquet.Row
	rows    int // of the group
}

// New begins a file with these columns, compressed by snappy. meta goes into its metadata.
// Two columns of one name give Invalid.
func New(w io.Writer, columns []Column, meta map[string]string) (*Writer, error) {
	root := group{parquet.Group{}, columns}
	for _, c := range columns {
		if _, ok := root.Group[c.Name]; ok {
			return nil, engram.Errorf(engram.Invalid, c.Name, "two columns of a table have this name")
		}
		root.Group[c.Name] = c.node()
	}
	o := []parquet.WriterOption{parquet.NewSchema("schema", root), parquet.Compression(&parquet.Snappy), parquet.CreatedBy("engram", "", "")}
	for k, v := range meta {
		o = append(o, parquet.KeyValueMetadata(k, v))
	}
	return &Writer{columns: columns, w: parquet.NewGenericWriter[any](w, o...)}, nil
}

// group is a schema that keeps the order of its columns.
type group struct {
	parquet.Group
	columns []Column
}

// Fields returns the columns in their order.
func (g group) Fields() []parquet.Field {
	fields := make([]parquet.Field, len(g.columns))
	for _, f := range g.Group.Fields() {
		fields[slices.IndexFunc(g.columns, func(c Column) bool { return c.Name == f.Name() })] = f
	}
	return fields
}

// node is the column in a schema. Every value may be absent.
func (c Column) node() parquet.Node {
	var n parquet.Node
	switch c.Kind {
	case Bool:
		n = parquet.Leaf(parquet.BooleanType)
	case Int64:
		n = parquet.Leaf(parquet.Int64Type)
	case Float32:
		n = parquet.Leaf(parquet.FloatType)
	case Float64:
		n = parquet.Leaf(parquet.DoubleType)
	case Time:
		n = parquet.TimestampAdjusted(parquet.Nanosecond, true)
	default:
		n = parquet.String()
	}
	n = parquet.Optional(n)
	for range c.Lists {
		n = parquet.Optional(parquet.List(n))
	}
	return n
}

// Add adds a row, a value for each column; nil is none. The error is Internal for a value of another
// kind than its column's, and Unavailable if the file cannot be written.
func (w *Writer) Add(values ...any) error {
	if len(values) != len(w.columns) {
		return engram.Errorf(engram.Internal, "", "a row has %d values for %d columns", len(values), len(w.columns))
	}
	w.row = w.row[:0]
	for i, v := range values {
		if err := w.put(i, v, w.columns[i].Lists, 0, 0, 0); err != nil {
			return err
		}
	}
	if _, err := w.w.WriteRows([]parquet.Row{w.row}); err != nil {
		return failed(err)
	}
	if w.rows++; w.rows >= rowsPerGroup {
		return w.EndGroup()
	}
	return nil
}

// put adds a value that stands lists deep. repeated and defined are its levels, depth counts the lists
// that it stands in.
func (w *Writer) put(column int, v any, lists, repeated, defined, depth int) error {
	if v == nil {
		w.row = append(w.row, parquet.NullValue().Level(repeated, defined, column))
		return nil
	}
	if lists > 0 {
		elements, err := elementsOf(v)
		if err != nil {
			return engram.Errorf(engram.Internal, w.columns[column].Name, "%w", err)
		}
		if len(elements) == 0 {
			w.row = append(w.row, parquet.NullValue().Level(repeated, defined+1, column))
		}
		for i, e := range elements {
			if i == 1 {
				repeated = depth + 1
			}
			if err := w.put(column, e, lists-1, repeated, defined+2, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	p, kind, ok := valueOf(v)
	if !ok || kind != w.columns[column].Kind {
		return engram.Errorf(engram.Internal, w.columns[column].Name, "a value of the column is a %T", v)
	}
	w.row = append(w.row, p.Level(repeated, defined+1, column))
	return nil
}

// valueOf returns a value for the file, and the kind of columns that it is for, if there is one.
func valueOf(v any) (parquet.Value, Kind, bool) {
	switch v := v.(type) {
	case string:
		return parquet.ByteArrayValue([]byte(v)), String, true
	case bool:
		return parquet.BooleanValue(v), Bool, true
	case int64:
		return parquet.Int64Value(v), Int64, true
	case float32:
		return parquet.FloatValue(v), Float32, true
	case float64:
		return parquet.DoubleValue(v), Float64, true
	case engram.Time:
		return parquet.Int64Value(int64(v)), Time, true
	}
	return parquet.Value{}, 0, false
}

func elementsOf(list any) ([]any, error) {
	switch l := list.(type) {
	case []any:
		return l, nil
	case []float32:
		return anyOf(l), nil
	case []float64:
		return anyOf(l), nil
	case []string:
		return anyOf(l), nil
	}
	return nil, fmt.Errorf("a list of the column is a %T", list)
}

func anyOf[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// EndGroup ends a row group, which readers fetch as a whole.
func (w *Writer) EndGroup() error {
	if w.rows == 0 {
		return nil
	}
	w.rows = 0
	return failed(w.w.Flush())
}

// Size is how many bytes were written, without what is still held.
func (w *Writer) Size() int64 { return w.w.Size() }

// Close ends the file. It does not close what the file was written to.
func (w *Writer) Close() error { return failed(w.w.Close()) }

func failed(err error) error {
	if err == nil {
		return nil
	}
	return engram.Errorf(engram.Unavailable, "", "a Parquet file cannot be written: %w", err)
}
