package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/parquetfile"
)

// asParquet is the format of -o for tables in Parquet files; -o FILE.parquet writes one.
const asParquet = "parquet"

// isFlat reports whether a format has a column for each member, named as in the payload.
func isFlat(format string) bool { return format == "csv" || format == asParquet }

// newFile is a file that is made when something is written to it.
type newFile struct {
	path string
	f    *os.File
}

// Write writes to the file.
func (n *newFile) Write(p []byte) (int, error) {
	if n.f == nil {
		f, err := os.OpenFile(n.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return 0, err
		}
		n.f = f
	}
	return n.f.Write(p)
}

// Close ends the file.
func (n *newFile) Close() error {
	if n.f == nil {
		return nil
	}
	return n.f.Close()
}

// writeParquet writes the columns of CSV, each of the kind that its cells have.
func (t *table) writeParquet(w io.Writer) error {
	columns := make([]parquetfile.Column, len(t.header))
	for i, h := range t.header {
		if !t.verbatim {
			h = strings.ToLower(h)
		}
		columns[i] = parquetfile.Column{Name: h, Kind: t.kindOf(i)}
	}
	p, err := parquetfile.New(w, columns, nil)
	if err != nil {
		return err
	}
	row := make([]any, len(columns))
	for _, cells := range t.rows {
		for i, c := range cells {
			row[i] = c.value
			if row[i] != nil && columns[i].Kind == parquetfile.String || row[i] == nil && c.raw != "" {
				row[i] = c.raw
			}
		}
		if err := p.Add(row...); err != nil {
			return err
		}
	}
	err = p.Close()
	if f, ok := w.(*newFile); ok {
		err = errors.Join(err, f.Close())
	}
	return err
}

// kindOf returns the kind of the cells of a column: texts where they are of several.
func (t *table) kindOf(column int) parquetfile.Kind {
	kind, any := parquetfile.String, false
	for _, row := range t.rows {
		c := row[column]
		of := parquetfile.String
		switch c.value.(type) {
		case bool:
			of = parquetfile.Bool
		case int64:
			of = parquetfile.Int64
		case float64:
			of = parquetfile.Float64
		case engram.Time:
			of = parquetfile.Time
		case nil:
			if c.raw == "" {
				continue
			}
		}
		if any && of != kind {
			return parquetfile.String
		}
		kind, any = of, true
	}
	return kind
}
