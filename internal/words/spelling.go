package words

// Nearest returns the word that differs least from written. It returns "" if even that word
// differs in more than half of its letters.
func Nearest(written string, words []string) string {
	nearest, most := "", (len(written)+1)/2
	for _, word := range words {
		if d := distance(written, word); d <= most {
			nearest, most = word, d-1
		}
	}
	return nearest
}

// distance is how many letters must be added, removed or changed to turn a into b
// (Levenshtein's distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
