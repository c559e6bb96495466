package main

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/seed-301d4374/engram"
)

// Columns have the kind of their cells; a cell that is empty is none, and a column of several kinds has texts.
func TestParquetOfATable(t *testing.T) {
	tb := &table{header: []string{"ID", "TIME", "N", "position.elbow", "mixed"}, verbatim: true}
	tb.add("a", fullTime(engram.Time(1767225600000000001)), 3, cell{"0.5", "0.5", 0.5}, cell{"1", "1", 1.0})
	tb.add("b", fullTime(engram.Time(1767225600000000002)), 4, cell{}, "x")
	var b bytes.Buffer
	if err := tb.writeParquet(&b); err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID    *string  `parquet:"ID"`
		Time  *int64   `parquet:"TIME,timestamp(nanosecond)"`
		N     *int64   `parquet:"N"`
		Elbow *float64 `parquet:"position.elbow"`
		Mixed *string  `parquet:"mixed"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	if r := rows[0]; *r.ID != "a" || *r.Time != 1767225600000000001 || *r.N != 3 || *r.Elbow != 0.5 || *r.Mixed != "1" {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; *r.ID != "b" || *r.N != 4 || r.Elbow != nil || *r.Mixed != "x" {
		t.Errorf("%+v", r)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Root().Column("TIME").Type().String(); got != "TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)" {
		t.Errorf("times are %s", got)
	}
}
