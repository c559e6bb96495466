package spelling

// levels is how many names an entity's ID has.
const levels = 4

// SplitNames cuts the text of an ID or pattern after its four names, at unescaped slashes: behind them stand a time, and
// maybe an index.
func SplitNames(text string) (names, rest string) {
	slashes := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '/':
			if slashes++; slashes == levels {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}
