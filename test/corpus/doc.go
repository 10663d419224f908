// Package corpus compiles all definitions that upstream publishes as examples, and compares what comes of each with outcomes.yaml. The examples are no
// part of this repository: CORPUS_DIR names their folder, and the test is skipped without it (make corpus sets it).
//
// Besides the kinds of Kubernetes there are those of the CRDs in the corpus and those that the examples generate themselves; a definition that needs another
// one's kind is compiled after it. All other kinds are missing, as they are on a cluster on which nobody has installed them.
//
// `go test ./test/corpus -update` writes outcomes.yaml anew. Each line of it that is not `compiles` is a refusal to agree with before it is committed.
package corpus
