// Package spelling finds the name that was probably meant by a misspelled one.
package spelling

// Distance returns the number of letters that must be added, removed or changed to turn one word into
// the other (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Limit returns the distance up to which another name is similar to a name.
func Limit(name string) int { return 1 + len(name)/4 }

// Nearest returns the name that is most similar to a given one, or "" if none is similar.
func Nearest(name string, names []string) string {
	nearest, smallest := "", Limit(name)+1
	for _, other := range names {
		if distance := Distance(name, other); distance < smallest {
			nearest, smallest = other, distance
		}
	}
	return nearest
}
