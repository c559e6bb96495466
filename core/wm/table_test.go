package wm

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestTable compares the table with a map.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tab table[int]
		model := map[string]int{}
		name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 60).Draw(t, "name")) })
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				n := name.Draw(t, "add")
				if _, ok := model[n]; !ok {
					model[n] = len(model)
					tab.add(n, model[n])
				}
			},
			"remove": func(t *rapid.T) {
				n := name.Draw(t, "remove")
				delete(model, n)
				tab.remove(n)
			},
			"get": func(t *rapid.T) {
				n := name.Draw(t, "get")
				got, ok := tab.Get(n)
				if want, there := model[n]; ok != there || got != want {
					t.Fatalf("get(%s) = %d, %v; want %d, %v", n, got, ok, want, there)
				}
			},
			"sorted": func(t *rapid.T) {
				var got []string
				for _, e := range tab.sorted() {
					got = append(got, e.name)
					if model[e.name] != e.value {
						t.Fatalf("%s is %d, want %d", e.name, e.value, model[e.name])
					}
				}
				if want := slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) {
					t.Fatalf("sorted gives %v, want %v", got, want)
				}
			},
			"": func(t *rapid.T) {
				if tab.len != len(model) {
					t.Fatalf("len %d, want %d", tab.len, len(model))
				}
				if _, ok := tab.Get(""); ok {
					t.Fatal("the empty name is there")
				}
			},
		})
	})
}

// TestTableChurn adds and removes names forever: the table does not grow with what
// was removed.
func TestTableChurn(t *testing.T) {
	var tab table[int]
	for i := range 10_000 {
		tab.add(fmt.Sprint(i), i)
		if i >= 10 {
			tab.remove(fmt.Sprint(i - 10))
		}
	}
	if n := len(tab.slots.Load().slots); n > 128 {
		t.Errorf("%d slots for %d names", n, tab.len)
	}
}

// TestTableReaders reads while a writer adds and removes: what was there before the
// reader began and stays is always found.
func TestTableReaders(t *testing.T) {
	var tab table[int]
	const kept = 50
	for i := range kept {
		tab.add(fmt.Sprint("kept ", i), i)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if v, ok := tab.Get(fmt.Sprint("kept ", i%kept)); !ok || v != i%kept {
					t.Errorf("kept %d is %d, %v", i%kept, v, ok)
					return
				}
				if i%100 != 0 {
					continue
				}
				order := tab.sorted()
				found := 0
				for j, e := range order {
					if j > 0 && order[j-1].name >= e.name {
						t.Errorf("%q follows %q", e.name, order[j-1].name)
						return
					}
					if e.name[0] == 'k' {
						found++
					}
				}
				if found != kept {
					t.Errorf("sorted finds %d of %d", found, kept)
					return
				}
			}
		})
	}
	for i := range 5000 {
		tab.add(fmt.Sprint(i), i)
		if i%3 == 0 {
			tab.remove(fmt.Sprint(i / 2))
		}
	}
	close(done)
	readers.Wait()
}
