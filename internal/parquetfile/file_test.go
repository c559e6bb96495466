package parquetfile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/parquetfile"
)

// What a reader makes of a file by its schema is what was added, in the order of the columns.
func TestRoundTrip(t *testing.T) {
	var b bytes.Buffer
	w, err := parquetfile.New(&b, []parquetfile.Column{
		{Name: "z.name", Kind: parquetfile.String}, {Name: "a", Kind: parquetfile.Int64}, {Name: "on", Kind: parquetfile.Bool}, {Name: "at", Kind: parquetfile.Time},
		{Name: "list", Kind: parquetfile.Float32, Lists: 1}, {Name: "deep", Kind: parquetfile.Float64, Lists: 3}, {Name: "f", Kind: parquetfile.Float64},
	}, map[string]string{"who": "me"})
	if err != nil {
		t.Fatal(err)
	}
	deep := []any{[]any{[]float64{1, 2}, []float64{3}}, []any{[]float64{}}}
	rows := [][]any{
		{"x", int64(1), true, engram.Time(1767225600000000001), []float32{1.5, -2}, deep, 0.25},
		{nil, nil, nil, nil, nil, nil, nil},
		{"", int64(-5), false, engram.Time(0), []float32{}, []any{}, nil},
	}
	for _, r := range rows {
		if err := w.Add(r...); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.EndGroup(), w.Add(rows[0]...), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Root().Columns() {
		names = append(names, c.Name())
	}
	if want := []string{"z.name", "a", "on", "at", "list", "deep", "f"}; !slices.Equal(names, want) {
		t.Errorf("the columns are %q, want %q", names, want)
	}
	if v, _ := f.Lookup("who"); v != "me" || len(f.RowGroups()) != 2 || f.NumRows() != 4 {
		t.Errorf("metadata %q, %d groups, %d rows", v, len(f.RowGroups()), f.NumRows())
	}
	type read struct {
		Name *string        `parquet:"z.name"`
		A    *int64         `parquet:"a"`
		On   *bool          `parquet:"on"`
		At   *int64         `parquet:"at,timestamp(nanosecond)"`
		List []*float32     `parquet:"list,list,optional"`
		Deep [][][]*float64 `parquet:"-"`
		F    *float64       `parquet:"f"`
	}
	r := parquet.NewGenericReader[read](bytes.NewReader(b.Bytes()))
	got := make([]read, 5)
	if n, err := r.Read(got); n != 4 || err != nil && err != io.EOF {
		t.Fatal(n, err)
	}
	for _, i := range []int{0, 3} {
		if g := got[i]; *g.Name != "x" || *g.A != 1 || !*g.On || *g.At != 1767225600000000001 || *g.F != 0.25 || len(g.List) != 2 || *g.List[1] != -2 {
			t.Errorf("row %d is %+v", i, g)
		}
	}
	if g := got[1]; g.Name != nil || g.A != nil || g.At != nil || len(g.List) > 0 || g.F != nil {
		t.Errorf("row 1 is %+v", g)
	}
	if g := got[2]; *g.Name != "" || *g.A != -5 || *g.On || *g.At != 0 || len(g.List) > 0 || g.F != nil {
		t.Errorf("row 2 is %+v", g)
	}
	// Levels of nested lists: of 3 numbers and an empty list.
	var levels [][2]int
	pages := f.RowGroups()[0].ColumnChunks()[5].Pages()
	defer pages.Close()
	page, err := pages.ReadPage()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]parquet.Value, page.NumValues())
	if _, err := page.Values().ReadValues(values); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	for _, v := range values {
		levels = append(levels, [2]int{v.RepetitionLevel(), v.DefinitionLevel()})
	}
	if want := [][2]int{{0, 7}, {3, 7}, {2, 7}, {1, 5}, {0, 0}, {0, 1}}; !slices.Equal(levels, want) {
		t.Errorf("the levels are %v, want %v", levels, want)
	}
}

func TestRefuses(t *testing.T) {
	if _, err := parquetfile.New(io.Discard, []parquetfile.Column{{Name: "a"}, {Name: "a"}}, nil); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("two columns of one name: %v", err)
	}
	w, err := parquetfile.New(io.Discard, []parquetfile.Column{{Name: "a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{1}, {}, {"a", "b"}} {
		if err := w.Add(row...); engram.CodeOf(err) != engram.Internal {
			t.Errorf("%v: %v", row, err)
		}
	}
}
