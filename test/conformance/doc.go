// Package conformance holds kro to how it behaves at its API. A case in cases/
// is a YAML file of steps against a cluster with a running controller; it knows
// nothing of the code. The format is that of the shared acceptance cases, so a
// file may move between the two:
//
//	why: text                     # the behaviour, in one sentence
//	steps:
//	- apply: [objects]            # server-side, forced
//	- refuse: object              # the API server must refuse it
//	- patch: {get: ..., merge: json, subresource: status}
//	- delete: [{apiVersion, kind, metadata}]
//	- expect: [{get: "Kind.version.group/name", path: "{.status.state}", is: text | has: text | matches: regexp | not: text}]
//	  within: 20s
//	- stays: [checks]             # they hold the whole time
//	  for: 5s
//	- absent: ["Kind.version.group/name"]
//
// $C stands for the name of the case. It names its namespace, its definitions and
// its API group, so that cases run beside each other. A name of an object may be
// preceded by a namespace, as in ConfigMap.v1/elsewhere/name.
//
// `go test ./test/conformance -run 'TestCases/def-scan'` runs some of them.
package conformance
