package idf

import (
	"strconv"
	"strings"
)

// names is the member whose texts say what the elements of the lists beside it are about.
const names = "name"

// ElementLabels returns for each of some paths, as [Found.Path] has them, what the element of a list is about that stands
// there: element i of a list beside a list "name" of as many texts is about text i, as the values of joints are. It is ""
// where there is no such list. text returns the text at paths[i]; it is asked for elements of lists "name" only.
func ElementLabels(paths []string, text func(i int) string) []string {
	texts, lengths := map[string][]string{}, map[string]int{} // by the path of what has the list, and of the list
	for i, path := range paths {
		list, _, isItem := cutIndex(path)
		if of, base := cutMember(list); isItem && base == names {
			texts[of] = append(texts[of], text(i))
		} else if isItem {
			lengths[list]++
		}
	}
	labels := make([]string, len(paths))
	for i, path := range paths {
		list, at, isItem := cutIndex(path)
		of, base := cutMember(list)
		if isItem && base != "" && base != names && at < len(texts[of]) && len(texts[of]) == lengths[list] {
			labels[i] = texts[of][at]
		}
	}
	return labels
}

// cutIndex cuts the index off the path of a list's element.
func cutIndex(path string) (list string, i int, isItem bool) {
	at := strings.LastIndexByte(path, '[')
	if at < 0 || !strings.HasSuffix(path, "]") {
		return path, 0, false
	}
	if i, err := strconv.Atoi(path[at+1 : len(path)-1]); err == nil {
		return path[:at], i, true
	}
	return path, 0, false
}

// cutMember cuts a path before its last member, or key; base is "" if it ends in an index.
func cutMember(path string) (of, base string) {
	if key, isKey := strings.CutSuffix(path, `"]`); isKey {
		if at := strings.LastIndex(key, `["`); at >= 0 {
			return key[:at], key[at+2:]
		}
	}
	at := strings.LastIndexByte(path, '.') + 1
	if of, base = path[:at], path[at:]; strings.ContainsAny(base, `[]"`) {
		return path, ""
	}
	return of, base
}
