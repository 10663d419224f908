// Package library holds kro's own CEL functions: random.*, hash.*, json.*, merge, deepMerge, lists.*AtIndex, omit, defer and runtime.*.
//
// Functions gives them as environment options. All are pure: the same arguments give the same result on every machine and for ever, since the results
// end up in names and fields of live objects. Costs says what they cost, for the cost limit.
package library
