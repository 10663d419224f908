package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Most wrong names are misspelt right ones.

// didYouMean returns a hint that names the candidate closest to a name, or "" when none is close.
func didYouMean(name string, candidates []string) string {
	best, bestDistance := "", 1+len(name)/3
	for _, candidate := range candidates {
		if strings.EqualFold(candidate, name) {
			return fmt.Sprintf("did you mean %s?", candidate)
		}
		d := editDistance(name, candidate, bestDistance)
		if d >= len(candidate) {
			continue // nothing of it is in the name
		}
		if d < bestDistance || d == bestDistance && best == "" {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
}

// fewFields is how many fields a hint lists.
const fewFields = 12

// yamlBooleans are the words that YAML 1.1, which Kubernetes reads, takes for booleans. In a key nobody means one.
var yamlBooleans = map[string]string{"y": "true", "yes": "true", "on": "true", "n": "false", "no": "false", "off": "false"}

// fieldHint names the field that was probably meant, or else those that there are, if they are few.
func fieldHint(name string, known []string) string {
	if read := yamlBooleans[strings.ToLower(name)]; read != "" && slices.Contains(known, read) {
		return fmt.Sprintf("YAML reads the key %s as %s; put it in quotes where the field is declared", name, read)
	}
	if hint := didYouMean(name, known); hint != "" {
		return hint
	}
	if len(known) > fewFields {
		return ""
	}
	return "its fields are " + strings.Join(known, ", ")
}

// editDistance counts the letters to insert, delete or replace to turn a into b; more than limit is limit+1.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := diagonal
			if a[i-1] != b[j-1] {
				replace++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, replace)
		}
	}
	return min(row[len(b)], limit+1)
}
