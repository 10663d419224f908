package apply

// Contains tells whether every field of desired stands in observed, so that a server-side apply of desired, forced and with no field given up since
// the last one, would change nothing. Both are JSON values (maps, lists, strings, numbers, booleans, nil).
//
//   - Numbers are compared by value: 1 and 1.0 are the same.
//   - Lists must have the same length and be contained position by position. A server merges some lists by key, and may then hold more elements than
//     were applied, or another order: that is answered with false.
//   - An empty map or list must be there. Built-in kinds drop some of them, but for others presence is the meaning (selfSigned: {}), and the
//     removal of such a field must be noticed.
//   - null is satisfied by null and by absence, which API servers do not distinguish.
//
// False may be wrong where the server normalises values ("1000m" becomes "1", stringData becomes data): it costs one apply that changes nothing.
// True is never wrong.
func Contains(observed, desired any) bool {
	switch desired := desired.(type) {
	case nil:
		return observed == nil
	case map[string]any:
		observed, ok := observed.(map[string]any)
		return ok && observed != nil && containsMap(observed, desired)
	case []any:
		observed, ok := observed.([]any)
		return ok && observed != nil && containsList(observed, desired)
	case string:
		observed, ok := observed.(string)
		return ok && observed == desired
	case bool:
		observed, ok := observed.(bool)
		return ok && observed == desired
	}
	wanted, ok := numberOf(desired)
	if !ok {
		return false
	}
	found, ok := numberOf(observed)
	return ok && wanted == found
}

func containsMap(observed, desired map[string]any) bool {
	for key, value := range desired {
		// An absent key reads as nil, which is what only null accepts.
		if !Contains(observed[key], value) {
			return false
		}
	}
	return true
}

func containsList(observed, desired []any) bool {
	if len(observed) != len(desired) {
		return false
	}
	for i := range desired {
		if !Contains(observed[i], desired[i]) {
			return false
		}
	}
	return true
}
